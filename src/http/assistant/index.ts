export type { ApiAccessOptions } from './api-access.ts';
export { Conversations, type SayOptions } from './conversations.ts';
export { type LoadedModel, ModelHolder } from './model-holder.ts';
export {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from './serve-assistant.ts';

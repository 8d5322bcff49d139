export { assistantAgent, type AssistantAgentOptions } from './a2a.ts';
export type { ApiAccessOptions } from './api-access.ts';
export { Conversations, type SayOptions } from './conversations.ts';
export { InactivityTimers, type InactivityTimersOptions } from './inactivity-timers.ts';
export { type LoadedModel, ModelHolder } from './model-holder.ts';
export {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from './serve-assistant.ts';

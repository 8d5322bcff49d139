export {
  type AssistantServing,
  serveAssistant,
  type ServeAssistantOptions,
} from './serve-assistant.ts';

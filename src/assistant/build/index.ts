export { buildAssistant, type BuildOptions } from './build-assistant.ts';

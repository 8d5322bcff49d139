export { actionsOf } from './actions.ts';
export { buildAssistant, type BuildOptions } from './build-assistant.ts';

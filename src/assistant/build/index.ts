export { actionsOf, checkActions } from './actions.ts';
export { buildAssistant, type BuildOptions } from './build-assistant.ts';

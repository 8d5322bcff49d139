export type { Call, CallHandler, CallOutcome, LeftCall } from './call-handler.ts';
export { type History } from './dialogue.ts';
export { isAtWork } from './agents.ts';

export type { Call, CallHandler, CallOutcome, LeftCall } from './call-handler.ts';
export { isAtWork } from './agents.ts';

export { anonymous, type Call, callerGone, isAuthenticated } from './call.ts';
export type { CommandOptions, ContextKey } from './commands.ts';
export { Engine, type SendOutcome } from './engine.ts';
export { EventStream, type StreamEvent } from './event-stream.ts';
export { readTaskAt } from './live-task.ts';
export type { EngineOptions, PushHooks } from './options.ts';
export { retentionOf } from './retention.ts';
export { type Scheduler, storeScheduler, systemScheduler, type Timer } from './scheduler.ts';
export { type StopCause, TurnStopped } from './turn-stopped.ts';

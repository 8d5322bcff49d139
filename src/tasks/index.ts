export { anonymous, type Call, callerGone } from './call.ts';
export type { ContextKey } from './commands.ts';
export { Engine, type SendOutcome } from './engine.ts';
export { EventStream, type StreamEvent } from './event-stream.ts';
export { readTaskAt } from './live-task.ts';
export { type EngineOptions, type PushHooks, retentionOf } from './options.ts';
export {
  retryWhileUnavailable,
  type Scheduler,
  storeScheduler,
  systemScheduler,
  type Timer,
} from './scheduler.ts';
export { TurnStopped } from './run-control.ts';
export {
  mcpEndpoint,
  type McpHandler,
  mcpHandler,
  type McpHandlerOptions,
  type McpServerOptions,
  serveMcpStdio,
} from './mcp/mcp-server.ts';
export {
  Invocation,
  type InvocationAnswer,
  type InvocationQuestion,
  type InvocationResult,
} from './runner/invocation.ts';
export {
  type InvocationInfo,
  Runner,
  type RunnerOptions,
  type RunRequest,
} from './runner/runner.ts';
export { type SessionInfo, type SessionKey, SessionStore } from './runner/sessions.ts';

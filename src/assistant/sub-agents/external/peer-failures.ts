import { toLegateError } from '../../../protocol/index.ts';
import type { AgentOutput } from '../model.ts';

/** Errors that may have gone by the next time. */
const passing = new Set([
  'PEER_UNREACHABLE',
  'UNAVAILABLE',
  'RATE_LIMITED',
  'REQUEST_TIMEOUT',
  // Whoever took this turn before us had sent it, and the agent is at work.
  'MESSAGE_IN_FLIGHT',
]);

export function isPassing(error: unknown): boolean {
  return passing.has(toLegateError(error).code);
}

/** What a call comes to that failed. */
export function failedOutput(id: string, error: unknown): AgentOutput {
  const status = isPassing(error) ? 'recoverable_error' : 'fatal_error';
  return { id, status, errorMessage: toLegateError(error).message.slice(0, 500) };
}

/** The task that a message was meant for has ended, or is forgotten. */
export function isTaskGone(error: unknown): boolean {
  const { code } = toLegateError(error);
  return code === 'TASK_NOT_FOUND' || code === 'UNSUPPORTED_OPERATION';
}

/** Another process goes on with the same turn, and so with the same task, when it is not given up. */
export function isGivenUp(signal: AbortSignal): boolean {
  const cause = (signal.reason as { readonly stopCause?: unknown } | undefined)?.stopCause;
  return signal.aborted && cause !== 'shutdown' && cause !== 'lost';
}

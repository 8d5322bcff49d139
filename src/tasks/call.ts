import type { Caller } from '../agents/index.ts';
import { LegateError } from '../protocol/index.ts';

/**
 * What a door knows about a request besides what it asks for.
 * @example
 * const call: Call = { caller: anonymous, version: '1.0', lastEventId: 12 };
 * await engine.subscribe({ id: 'task-17' }, call); // goes on with event 13
 */
export interface Call {
  readonly caller: Caller;
  /** The protocol version spoken. */
  readonly version: '0.3' | '1.0';
  /** Extension URIs that the caller named. @default [] */
  readonly extensions?: readonly string[];
  /** The caller's `Idempotency-Key`. */
  readonly idempotencyKey?: string;
  /** The number of the last event the caller has seen, to resume a subscription after it. */
  readonly lastEventId?: number;
  /** W3C trace context of the request. */
  readonly traceparent?: string;
  /** What the systems on the way have to say of that trace; it goes along. */
  readonly tracestate?: string;
  /**
   * A program on this machine called, and no proxy forwarded it: its webhooks may be on this machine
   * where the server is for this machine only. @default false
   */
  readonly isLocal?: boolean;
  /** The id of the task that the message begins. @default a new one */
  readonly newTaskId?: string;
  /** Told which task a message that is sent begins or continues, once it is let in. */
  readonly onAdmitted?: (ids: { readonly taskId: string; readonly contextId: string }) => void;
  /** The caller has gone. This ends waiting and streaming, never the turn. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A caller of whom nothing is known.
 * @example await engine.getTask({ id }, { caller: anonymous, version: '1.0' });
 */
export const anonymous: Caller = { tenant: '', subject: '', method: 'anonymous' };

/** Why a call's signal is aborted. A caller that leaves is no fault of ours, and not logged as one. */
export function callerGone(): LegateError {
  return new LegateError('REQUEST_TIMEOUT', 'the caller left before the answer');
}

/** Whether the caller proved who it is. */
export function isAuthenticated(caller: Caller): boolean {
  return caller.subject !== '';
}

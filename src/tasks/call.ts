import { hash } from 'node:crypto';
import type { Agent, Caller } from '../agents/index.ts';
import { invalidParams, LegateError, type Message } from '../protocol/index.ts';
import type { Dedupe } from '../store/index.ts';

/**
 * What a transport knows about a request besides its parameters.
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

/**
 * Under what a message is recognised when it comes again. A first message without a context has
 * only its id, which anonymous strangers might share: they must send an `Idempotency-Key`.
 */
export function dedupeOf(
  message: Message,
  contextId: string | undefined,
  call: Call,
  expiresAt: number,
): Dedupe | undefined {
  let key: string;
  if (contextId !== undefined) key = `c\n${contextId}\n${message.messageId}`;
  else if (call.idempotencyKey !== undefined) {
    key = `i\n${call.idempotencyKey}\n${message.messageId}`;
  } else if (isAuthenticated(call.caller)) key = `m\n${message.messageId}`;
  else return undefined;
  return { key, digest: hash('sha256', JSON.stringify(message), 'base64url'), expiresAt };
}

const defaultModes = ['text/plain', 'application/json'] as const;

/** Whether an agent takes parts of a media type; built once per agent. */
export function mediaTypeFilter(agent: Agent): (mediaType: string) => boolean {
  const modes = new Set<string>(agent.inputModes ?? defaultModes);
  for (const skill of agent.skills) for (const mode of skill.inputModes ?? []) modes.add(mode);
  if (modes.has('*/*') || modes.has('*')) return () => true;
  return (mediaType) => {
    const essence = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    return modes.has(essence) || modes.has(`${essence.split('/', 1)[0]}/*`);
  };
}

/** Refuses a part whose declared media type the agent does not take. */
export function checkMediaTypes(message: Message, accepts: (mediaType: string) => boolean): void {
  for (const part of message.parts) {
    if (part.mediaType !== undefined && part.mediaType !== '' && !accepts(part.mediaType)) {
      throw new LegateError(
        'CONTENT_TYPE_NOT_SUPPORTED',
        `message.parts[${message.parts.indexOf(part)}].mediaType: this agent does not take ${part.mediaType}`,
        { metadata: { mediaType: part.mediaType } },
      );
    }
  }
}

export function checkExtensions(required: readonly string[], call: Call): void {
  const missing = required.filter((uri) => call.extensions?.includes(uri) !== true);
  if (missing.length === 0) return;
  throw new LegateError(
    'EXTENSION_SUPPORT_REQUIRED',
    `this agent requires the extension ${missing.join(', ')}: name it in the A2A-Extensions header`,
    { metadata: { extensions: missing.join(',') } },
  );
}

export function contextMismatch(contextId: string): LegateError {
  return invalidParams({
    field: 'message.contextId',
    description: `does not match the context of the task; it is in ${contextId}`,
  });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../agents/index.ts';
import { isLocalRequest } from '../auth/index.ts';
import { LegateError, type Operation, operations } from '../protocol/index.ts';
import { type Call, callerGone } from '../tasks/index.ts';

/** Longest idempotency key that is taken, in characters. */
const maxKeyLength = 256;

/**
 * A key that may serve. One that is too long is refused and not cut: two keys of one beginning would
 * become the same, and the second message would be taken for a repeat of the first.
 */
export function idempotencyKeyOf(key: string): string {
  if (key.length <= maxKeyLength) return key;
  throw new LegateError(
    'INVALID_PARAMS',
    `the Idempotency-Key has ${key.length} characters; send at most ${maxKeyLength}`,
  );
}

/** The call that a request's headers describe. */
class HttpCall implements Call {
  readonly caller: Caller;
  readonly version: '0.3' | '1.0';
  readonly extensions: readonly string[];
  declare readonly idempotencyKey?: string;
  declare readonly lastEventId?: number;
  declare readonly traceparent?: string;
  declare readonly tracestate?: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #operation: Operation;
  #signal: AbortSignal | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    version: '0.3' | '1.0',
    operation: Operation,
  ) {
    const { headers } = request;
    const key = headers['idempotency-key'];
    const lastEventId = headers['last-event-id'];
    const { traceparent } = headers;
    this.caller = caller;
    this.version = version;
    this.extensions = extensionsOf(headers);
    if (typeof key === 'string' && key !== '') this.idempotencyKey = idempotencyKeyOf(key);
    if (typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId)) {
      this.lastEventId = Number(lastEventId);
    }
    if (typeof traceparent === 'string') {
      const { tracestate } = headers;
      this.traceparent = traceparent;
      if (typeof tracestate === 'string') this.tracestate = tracestate;
    }
    this.#request = request;
    this.#response = response;
    this.#operation = operation;
  }

  /** Found out on demand: only webhooks ask. */
  get isLocal(): boolean {
    return isLocalRequest(this.#request);
  }

  /** Made on demand: most operations never wait, and streams are closed by whoever sends them. */
  get signal(): AbortSignal | undefined {
    if (operations[this.#operation].streams) return undefined;
    this.#signal ??= closeSignal(this.#response);
    return this.#signal;
  }
}

const none: readonly string[] = [];

/** 0.3 writes the name with an X; clients of both versions send both. */
function extensionsOf(headers: IncomingMessage['headers']): readonly string[] {
  const plain = headers['a2a-extensions'];
  const legacy = headers['x-a2a-extensions'];
  if (plain === undefined && legacy === undefined) return none;
  return listOf([plain, legacy].filter((value) => value !== undefined).join(','));
}

export function callOf(
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  version: '0.3' | '1.0',
  operation: Operation,
): Call {
  return new HttpCall(request, response, caller, version, operation);
}

function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort(callerGone());
  else response.once('close', () => controller.abort(callerGone()));
  return controller.signal;
}

export function listOf(header: string): readonly string[] {
  return header
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

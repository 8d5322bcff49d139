import type { FileBytes, OptionNames } from '../protocol/index.ts';
import { sleep } from '../time/index.ts';
import type { ClientBinding } from './binding.ts';
import type { Auth } from './credentials.ts';
import type { OutgoingRequest } from './http.ts';

/**
 * How idempotent calls are retried.
 * @example const retry: RetryOptions = { attempts: 4, initialMs: 200 }; // pauses of up to 200, 400 and 800 ms
 */
export interface RetryOptions {
  /** Attempts in total, the first included. @default 3 */
  readonly attempts?: number;
  /** The first pause, in milliseconds; each next one doubles. @default 500 */
  readonly initialMs?: number;
  /** The longest pause, in milliseconds. @default 10_000 */
  readonly maximumMs?: number;
  /** The longest `Retry-After` that the client waits for, in milliseconds. @default 60_000 */
  readonly longestRetryAfterMs?: number;
}

/**
 * How a task is polled if the agent doesn't stream.
 * @example const poll: PollOptions = { initialMs: 400, maximumMs: 1_000 }; // after 400, 600, 900, 1000, ... ms
 */
export interface PollOptions {
  /** The first pause, in milliseconds; each next one is half as long again. @default 2_000 */
  readonly initialMs?: number;
  /** The longest pause, in milliseconds. @default 30_000 */
  readonly maximumMs?: number;
}

/**
 * Bindings that a client supports; GRPC requires the option `bindings`.
 * @example const binding: BindingName = 'HTTP+JSON'; // as `protocolBinding` in a card
 */
export type BindingName = 'JSONRPC' | 'HTTP+JSON' | 'GRPC';

/**
 * How a client calls an agent.
 * @example
 * const options: ClientOptions = {
 *   auth: { bearer: token },
 *   binding: 'HTTP+JSON',
 *   retry: { attempts: 5 },
 *   timeoutMs: 30_000,
 * };
 */
export interface ClientOptions {
  /** Credentials, sent only over TLS and to loopback hosts. */
  readonly auth?: Auth;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Extension URIs to request. @default [] */
  readonly extensions?: readonly string[];
  /** Extension URIs to request if the agent's card declares them. */
  readonly optionalExtensions?: readonly string[];
  /** The preferred binding if the card offers several. @default the first in the card's order */
  readonly binding?: BindingName;
  /**
   * Further bindings besides JSONRPC and HTTP+JSON. @default []
   * @example bindings: [grpcBinding()]
   */
  readonly bindings?: readonly ClientBinding[];
  /** The only protocol version to use. @default the newest that the card offers */
  readonly version?: '1.0' | '0.3';
  /**
   * How often the bytes of files are encoded in base64 over HTTP+JSON and gRPC of 0.3. `twice` is for
   * peers with a2a-sdk for Python 0.3, or with a2a-go 0.3 over gRPC. @default 'once'
   */
  readonly legacyFileBytes?: FileBytes;
  /** `false` disables retries. */
  readonly retry?: RetryOptions | false;
  /** How tasks without a stream are polled. */
  readonly poll?: PollOptions;
  /** Whether broken streams are resumed. @default true */
  readonly resume?: boolean;
  /**
   * The longest time for a call with all its retries, and for a stream to open, in milliseconds. 0 for no
   * limit. @default 300_000
   */
  readonly timeoutMs?: number;
  /**
   * The time without data after which the client resumes a stream, in milliseconds. 0 for no limit.
   * @default 120_000
   */
  readonly inactivityTimeoutMs?: number;
  /**
   * The time for a peer to close a stream after its last event, in milliseconds. A stream that the peer
   * closes leaves its connection for the next call. @default 1_000
   */
  readonly closingGraceMs?: number;
  /** The largest response, in bytes. @default 16 MiB */
  readonly maxBodySize?: number;
  /** The largest event of a stream, in bytes. @default 16 MiB */
  readonly maxEventSize?: number;
  /** Called for every request before credentials are added; can set headers such as `traceparent`. */
  readonly onRequest?: (request: OutgoingRequest) => void | Promise<void>;

  /**
   * Verifies the raw JSON of a card before it is used: returns the trusted content, or rejects. Called
   * for every card, fetched or passed to `connect`, except the extended card, whose connection a verified
   * card selected. @default every card is trusted
   * @example verifyCard: async (card) => (await verifyCard(card, { trusted: [{ keys }] })).card
   */
  readonly verifyCard?: (card: unknown) => unknown;
  /**
   * Sends every HTTP request, including requests for cards. A guarded fetch enforces a URL policy.
   * @default globalThis.fetch
   * @example fetch: guardedFetch(publicPolicy)
   */
  readonly fetch?: typeof globalThis.fetch;
  /** The clock, for retries. @default Date */
  readonly clock?: { now(): number };
  /** Returns a number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
  /**
   * Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts.
   * @default timers
   */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Options of one call.
 * @example const options: CallOptions = { timeoutMs: 2_000, headers: { 'X-Request-Id': 'r-17' } };
 */
export interface CallOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal;
  /**
   * In milliseconds; on a stream, the time until its end.
   * @default the client's for calls, no limit for streams
   */
  readonly timeoutMs?: number;
  /** Additional headers of the request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * How a client follows a stream.
 * @example
 * const options: StreamOptions = { lastEventId: '41', inactivityTimeoutMs: 30_000 };
 * for await (const event of client.subscribeToTask('t-1', options)) console.log(event.id); // 42, ...
 */
export interface StreamOptions extends CallOptions {
  /** In milliseconds. @default the client's */
  readonly inactivityTimeoutMs?: number;
  /** The id of an event in an earlier stream of the same task; the stream continues after it. */
  readonly lastEventId?: string;
  /**
   * Cancels the task of a message when the signal aborts, or the timeout expires, before the peer has
   * named the task: the client finds and cancels it in the background. The caller cancels a task whose id
   * it has. @default the peer's task continues
   */
  readonly cancelOnAbort?: CancelOnAbortOptions;
}

/**
 * The conversation and task of a message that is given as text. A whole message has these ids itself.
 * @example
 * const first = await client.ask('A table for two');
 * await client.ask('Make it three', { contextId: first.task?.contextId });
 */
export interface SendOptions {
  /** The conversation to continue. @default a new one */
  readonly contextId?: string | undefined;
  /** The interrupted task to continue. @default a new one */
  readonly taskId?: string | undefined;
}

/**
 * How a client cancels the task of an aborted message when the peer hasn't named it yet.
 * @example
 * const cancelOnAbort: CancelOnAbortOptions = {
 *   shouldCancel: (reason) => reason instanceof DOMException && reason.name === 'TimeoutError',
 *   onFailure: (error) => console.warn('a task may still run', error),
 * };
 */
export interface CancelOnAbortOptions {
  /** Decides by the abort reason whether to cancel. @default every abort cancels */
  readonly shouldCancel?: (reason: unknown) => boolean;
  /** The time limit for finding and cancelling the task, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
  /** Called with the error if a task may still run. */
  readonly onFailure?: (error: unknown) => void;
}

/** The client's options with all defaults applied. */
export interface Settings extends Required<
  Omit<ClientOptions, OptionalSetting | 'retry' | 'poll'>
> {
  readonly auth: Auth | undefined;
  readonly binding: ClientOptions['binding'];
  readonly version: ClientOptions['version'];
  readonly onRequest: ClientOptions['onRequest'];
  readonly retry: Required<RetryOptions>;
  readonly poll: Required<PollOptions>;
}
type OptionalSetting = 'auth' | 'binding' | 'version' | 'onRequest';

const mebibyte = 1024 * 1024;

/** The names of the options of one call. */
export const callOptionNames: OptionNames<CallOptions> = {
  signal: 'object',
  timeoutMs: 'number',
  headers: 'object',
};
export const streamOptionNames: OptionNames<StreamOptions> = {
  ...callOptionNames,
  inactivityTimeoutMs: 'number',
  lastEventId: 'string',
  cancelOnAbort: 'object',
};
const sendOptionNames: OptionNames<SendOptions> = { contextId: 'string', taskId: 'string' };
export const sendCallNames: OptionNames<CallOptions & SendOptions> = {
  ...callOptionNames,
  ...sendOptionNames,
};
export const sendStreamNames: OptionNames<StreamOptions & SendOptions> = {
  ...streamOptionNames,
  ...sendOptionNames,
};

/** The names of the options of `connect`. */
export const connectOptionNames: OptionNames<ClientOptions> & { readonly signal: true } = {
  signal: true,
  auth: true,
  headers: true,
  extensions: true,
  optionalExtensions: 'list',
  binding: true,
  bindings: true,
  version: true,
  legacyFileBytes: true,
  retry: true,
  poll: true,
  resume: true,
  timeoutMs: true,
  inactivityTimeoutMs: true,
  closingGraceMs: true,
  maxBodySize: true,
  maxEventSize: true,
  onRequest: true,
  verifyCard: true,
  fetch: true,
  clock: true,
  random: true,
  sleep: true,
};

export function withDefaults(options: ClientOptions): Settings {
  return {
    auth: options.auth,
    headers: options.headers ?? {},
    extensions: options.extensions ?? [],
    optionalExtensions: options.optionalExtensions ?? [],
    binding: options.binding,
    bindings: options.bindings ?? [],
    version: options.version,
    legacyFileBytes: options.legacyFileBytes ?? 'once',
    retry: retryWithDefaults(options.retry),
    poll: {
      initialMs: options.poll?.initialMs ?? 2_000,
      maximumMs: options.poll?.maximumMs ?? 30_000,
    },
    resume: options.resume ?? true,
    timeoutMs: options.timeoutMs ?? 300_000,
    inactivityTimeoutMs: options.inactivityTimeoutMs ?? 120_000,
    closingGraceMs: options.closingGraceMs ?? 1_000,
    maxBodySize: options.maxBodySize ?? 16 * mebibyte,
    maxEventSize: options.maxEventSize ?? 16 * mebibyte,
    onRequest: options.onRequest,
    verifyCard: options.verifyCard ?? ((card) => card),
    // Browsers reject a fetch that is called without its window.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    clock: options.clock ?? Date,
    random: options.random ?? Math.random,
    sleep: options.sleep ?? sleep,
  };
}

function retryWithDefaults(given: ClientOptions['retry'] = {}): Required<RetryOptions> {
  const options: RetryOptions = given === false ? { attempts: 1 } : given;
  return {
    attempts: options.attempts ?? 3,
    initialMs: options.initialMs ?? 500,
    maximumMs: options.maximumMs ?? 10_000,
    longestRetryAfterMs: options.longestRetryAfterMs ?? 60_000,
  };
}

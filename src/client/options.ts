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
  /** A `Retry-After` longer than this is not waited for, in milliseconds. @default 60_000 */
  readonly longestRetryAfterMs?: number;
}

/**
 * How a task is polled if the agent doesn't stream.
 * @example const poll: PollOptions = { initialMs: 400, maximumMs: 1_000 }; // after 400, 600, 900, 1000, ... ms
 */
export interface PollOptions {
  /** The first pause, in milliseconds; each further one is half as long again. @default 2_000 */
  readonly initialMs?: number;
  /** The longest pause, in milliseconds. @default 30_000 */
  readonly maximumMs?: number;
}

/**
 * Bindings that a client may speak: GRPC where it was given.
 * @example const binding: BindingName = 'HTTP+JSON'; // as `protocolBinding` in a card
 */
export type BindingName = 'JSONRPC' | 'HTTP+JSON' | 'GRPC';

/**
 * How an agent is called.
 * @example
 * const options: ClientOptions = {
 *   auth: { bearer: token },
 *   binding: 'HTTP+JSON',
 *   retry: { attempts: 5 },
 *   timeoutMs: 30_000,
 * };
 */
export interface ClientOptions {
  /** Credentials, sent over TLS and to loopback hosts only. */
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
   * The longest a call may take with all its retries, and a stream until it opens, in
   * milliseconds. 0 for no limit. @default 300_000
   */
  readonly timeoutMs?: number;
  /**
   * Time without data after which a stream counts as broken, in milliseconds. 0 for no limit.
   * @default 120_000
   */
  readonly inactivityTimeoutMs?: number;
  /**
   * How long a peer may take to close a stream after its last event, in milliseconds; a stream that
   * closes by itself leaves its connection for the next call. @default 1_000
   */
  readonly closingGraceMs?: number;
  /** The most bytes of one answer. @default 16 MiB */
  readonly maxBodySize?: number;
  /** The most bytes of one event of a stream. @default 16 MiB */
  readonly maxEventSize?: number;
  /** Called for every request before credentials are added; may set headers such as `traceparent`. */
  readonly onRequest?: (request: OutgoingRequest) => void | Promise<void>;

  /**
   * Verifies the raw JSON of a card before it is used: returns the trusted part, or rejects. Called
   * for every card, fetched or passed to `connect`, except the extended card, which comes over a
   * connection that a verified card led to. @default every card is trusted
   * @example verifyCard: async (card) => (await verifyCard(card, { trusted: [{ keys }] })).card
   */
  readonly verifyCard?: (card: unknown) => unknown;
  /**
   * Sends every HTTP request, those for cards included; a guarded one enforces a URL policy.
   * @default globalThis.fetch
   * @example fetch: guardedFetch(publicPolicy)
   */
  readonly fetch?: typeof globalThis.fetch;
  /** The time, for retries. @default Date */
  readonly clock?: { now(): number };
  /** From 0 up to 1. @default Math.random */
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
  /** Milliseconds; on a stream, the time until its end. @default the client's, for calls; none for streams */
  readonly timeoutMs?: number;
  /** Sent with the request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * How a stream is followed.
 * @example
 * const options: StreamOptions = { lastEventId: '41', inactivityTimeoutMs: 30_000 };
 * for await (const event of client.subscribeToTask('t-1', options)) console.log(event.id); // 42, ...
 */
export interface StreamOptions extends CallOptions {
  /** Milliseconds. @default the client's */
  readonly inactivityTimeoutMs?: number;
  /** Continue after this event, seen in an earlier stream of the same task. */
  readonly lastEventId?: string;
  /**
   * Cancels the task of a message when the signal aborts, or the timeout expires, before the peer
   * has named the task: it is found and cancelled in the background. The caller cancels a task that
   * it knows. @default the peer's task continues
   */
  readonly cancelOnAbort?: CancelOnAbortOptions;
}

/**
 * Where a message belongs, for one that is given as text: a whole message says so itself.
 * @example
 * const first = await client.ask('A table for two');
 * await client.ask('Make it three', { contextId: first.task?.contextId });
 */
export interface SendOptions {
  /** The conversation to continue. @default a new one */
  readonly contextId?: string | undefined;
  /** The task to continue, which asked. @default a new one */
  readonly taskId?: string | undefined;
}

/**
 * How the task of an aborted message is cancelled when the peer hasn't named it yet.
 * @example
 * const cancelOnAbort: CancelOnAbortOptions = {
 *   shouldCancel: (reason) => reason instanceof DOMException && reason.name === 'TimeoutError',
 *   onFailure: (error) => console.warn('a task may still run', error),
 * };
 */
export interface CancelOnAbortOptions {
  /** Decides by the signal's reason. @default every abort cancels */
  readonly shouldCancel?: (reason: unknown) => boolean;
  /** How long finding and cancelling may take, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
  /** Gets the error where a task may still run. */
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

import type { Readable } from 'node:stream';
import type { ClientTls } from '../net/index.ts';
import { errorMessage, type Task, v03 } from '../protocol/index.ts';
import type { BodySigner } from './body-signature.ts';
import type { Resolver } from './guarded-agent.ts';
import {
  GuardedClient,
  type GuardedClientOptions,
  type OutboundRequest,
  outboundTimeouts,
} from './guarded-client.ts';
import { type UrlPolicy, UrlRefused } from './policy.ts';
import { traceOf } from './registration.ts';
import {
  type Delivery,
  type DeliveryOutcome,
  isStoreFailure,
  type LogEvent,
  type Store,
} from '../store/index.ts';
import { counter, histogram } from '../telemetry/index.ts';
import { backoff, Deadline, retryAfterMs } from '../time/index.ts';

/**
 * The delays between attempts.
 * @example
 * const backoff: BackoffOptions = { initialDelay: 500, factor: 2 }; // at most 0.5, 1, 2, 4 s
 */
export interface BackoffOptions {
  /** Milliseconds before the second attempt. @default 1_000 */
  readonly initialDelay?: number;
  /** The factor between two consecutive delays. @default 4 */
  readonly factor?: number;
  /** Milliseconds. @default 600_000 */
  readonly maxDelay?: number;
  /** Milliseconds: the upper limit for a `Retry-After`. @default 3_600_000 */
  readonly maxRetryAfter?: number;
}

export interface DeliverySenderOptions {
  readonly store: Pick<Store, 'readEvents'>;
  /** Allowed destinations. The default of `serve` is https to the public network, and this machine. */
  readonly policy: UrlPolicy;
  /** The task as of the event with that number, for 0.3 receivers. */
  readonly taskAt: (taskId: string, sequence: number) => Promise<Task | undefined>;
  readonly scheduler: {
    now(): number;
    after(delay: number, callback: () => void): { cancel(): void };
  };
  /** From 0 to 1. @default Math.random */
  readonly random?: () => number;
  /** Signs bodies, so that receivers can verify them. @default unsigned */
  readonly signer?: BodySigner;
  /** The `traceparent` to send with a delivery. */
  readonly traceparent?: (delivery: Delivery) => string | undefined;
  /** Looks up names. @default the system's */
  readonly resolver?: Resolver;
  /** Attempts at one delivery. @default 5 */
  readonly maxAttempts?: number;
  /** The delays between attempts. */
  readonly backoff?: BackoffOptions;
  /** Maximum concurrent calls to one host. @default 16 */
  readonly concurrencyPerHost?: number;
  /** Milliseconds for one call in total. @default 30_000 */
  readonly timeout?: number;
  /** Milliseconds for DNS. @default 5_000 */
  readonly dnsTimeout?: number;
  /** Milliseconds for TCP and TLS. @default 5_000 */
  readonly connectTimeout?: number;
  /** Certificate authorities and the client certificate. @default the authorities of Node, no certificate */
  readonly tls?: ClientTls;
  /** Replaces the network, for simulations. The transport must enforce the policy. */
  readonly transport?: DeliveryTransport;
}

/** Makes one attempt at a delivery and decides whether it is delivered, retried or dead. */
export class DeliverySender {
  /** Milliseconds for one call. */
  readonly timeout: number;
  readonly #options: DeliverySenderOptions;
  readonly #sources: DeliverySources;
  readonly #transport: DeliveryTransport;
  readonly #attempts = counter('legate.push.attempts');
  readonly #seconds = histogram('legate.push.duration');

  constructor(options: DeliverySenderOptions) {
    const { store, taskAt, signer, traceparent, concurrencyPerHost = 16 } = options;
    const { resolver, dnsTimeout, connectTimeout, tls } = options;
    this.timeout = options.timeout ?? outboundTimeouts.overall;
    this.#options = options;
    this.#sources = {
      readEvents: (taskId, after, limit) => store.readEvents(taskId, after, limit),
      taskAt,
      ...(signer !== undefined && { signer }),
      ...(traceparent !== undefined && { traceparent }),
    };
    this.#transport =
      options.transport ??
      guardedTransport({
        policy: options.policy,
        maxSocketsPerHost: concurrencyPerHost,
        ...(resolver !== undefined && { resolver }),
        ...(dnsTimeout !== undefined && { dnsTimeout }),
        ...(connectTimeout !== undefined && { connectTimeout }),
        ...(tls !== undefined && { tls }),
      });
  }

  /**
   * Undefined when `stop` aborted the call, which is then not counted in the metrics. Rejects only with
   * `STORE_FAILED`, before the call: the event could not be read.
   */
  async send(delivery: Delivery, stop: AbortSignal): Promise<DeliveryOutcome | undefined> {
    const { scheduler } = this.#options;
    const startedAt = scheduler.now();
    const outcome = await this.#attempt(delivery, stop);
    if (outcome !== undefined) {
      const labels = { outcome: outcome.kind };
      this.#attempts.add(1, labels);
      this.#seconds.record((scheduler.now() - startedAt) / 1000, labels);
    }
    return outcome;
  }

  async #attempt(delivery: Delivery, stop: AbortSignal): Promise<DeliveryOutcome | undefined> {
    if (delivery.unreadable !== undefined) return { kind: 'dead', error: delivery.unreadable };
    using deadline = new Deadline({
      signal: stop,
      milliseconds: this.timeout,
      timers: this.#options.scheduler,
      reason: () => new Error(`no answer within ${this.timeout} ms`),
    });
    try {
      const now = this.#options.scheduler.now();
      const request = await buildDeliveryRequest(delivery, this.#sources, now);
      if (request === undefined) return { kind: 'dead', error: 'the task no longer exists' };
      const { status, retryAfter } = await this.#transport.send(delivery.push.config.url, {
        method: 'POST',
        ...request,
        isRepeatable: true,
        signal: deadline.signal,
      });
      if (status >= 200 && status < 300) return { kind: 'delivered' };
      const error = `answered ${status}${status < 400 ? '; redirects are not followed' : ''}`;
      return status === 410 ? { kind: 'dead', error } : this.#retry(delivery, error, retryAfter);
    } catch (error) {
      if (stop.aborted) return undefined;
      // Not a failure of the receiver, so it uses up no attempt.
      if (isStoreFailure(error)) throw error;
      if (error instanceof UrlRefused) return { kind: 'dead', error: error.message };
      return this.#retry(delivery, errorMessage(error));
    }
  }

  close(): void {
    this.#transport.close();
  }

  #retry(delivery: Delivery, error: string, retryAfter?: string): DeliveryOutcome {
    const { maxAttempts = 5, random = Math.random, scheduler } = this.#options;
    const attempts = delivery.attempts + 1;
    if (attempts >= maxAttempts) return { kind: 'dead', error };
    const { initialDelay: initialMs = 1_000, factor = 4, ...longest } = this.#options.backoff ?? {};
    const { maxDelay: maximumMs = 600_000, maxRetryAfter = 3_600_000 } = longest;
    const asked = Math.min(retryAfterMs(retryAfter, scheduler.now()) ?? 0, maxRetryAfter);
    const afterMs = Math.max(backoff(attempts, { initialMs, factor, maximumMs, random }), asked);
    return { kind: 'retry', afterMs, error };
  }
}

interface DeliverySources {
  /** Events with a number greater than `after`, in order. */
  readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]>;
  /** The task as of the event with that number. */
  taskAt(taskId: string, sequence: number): Promise<Task | undefined>;
  readonly signer?: BodySigner;
  /** The `traceparent` of a delivery, instead of that of its registration. */
  readonly traceparent?: (delivery: Delivery) => string | undefined;
}

interface DeliveryRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The request of one delivery: the event as a StreamResponse for 1.x, the whole task for 0.3. Undefined
 * if the task no longer exists.
 */
async function buildDeliveryRequest(
  delivery: Delivery,
  sources: DeliverySources,
  now: number,
): Promise<DeliveryRequest | undefined> {
  const { config, wireVersion } = delivery.push;
  const body = await readBody(delivery, sources);
  if (body === undefined) return undefined;
  const id = deliveryId(delivery);
  const headers: Record<string, string> = {
    'content-type': wireVersion === '0.3' ? 'application/json' : 'application/a2a+json',
    'user-agent': 'legate',
    'a2a-version': wireVersion,
    // The receiver may have processed the call although its response was lost: retries have the same
    // key.
    'idempotency-key': id,
  };
  const { token, authentication } = config;
  if (token !== undefined && token !== '') headers['x-a2a-notification-token'] = token;
  if (authentication?.credentials !== undefined && authentication.credentials !== '') {
    headers['authorization'] = `${authentication.scheme} ${authentication.credentials}`;
  }
  const traceparent = sources.traceparent?.(delivery);
  Object.assign(headers, traceparent === undefined ? traceOf(config) : { traceparent });
  if (sources.signer !== undefined) {
    const facts = { audience: config.url, id, now };
    headers['x-a2a-signature'] = await sources.signer.sign(body, facts);
  }
  return { headers, body };
}

/** Identifies a delivery: all attempts have the same id. */
function deliveryId({ taskId, sequence, push }: Delivery): string {
  return `${encodeURIComponent(taskId)}/${encodeURIComponent(push.config.id)}/${sequence}`;
}

async function readBody(delivery: Delivery, sources: DeliverySources): Promise<string | undefined> {
  const { taskId, sequence, push } = delivery;
  if (push.wireVersion === '0.3') {
    const task = await sources.taskAt(taskId, sequence);
    return task === undefined ? undefined : JSON.stringify(v03.task.encode(task));
  }
  const [event] = await sources.readEvents(taskId, sequence - 1, 1);
  // The log has the format of the 1.x wire.
  return event?.sequence === sequence ? event.body.text : undefined;
}

/**
 * Sends webhook calls. The dispatcher retries after any rejection other than `UrlRefused`.
 * @example
 * const answer = { status: 200, retryAfter: undefined };
 * const transport: DeliveryTransport = { send: async () => answer, close() {} };
 */
export interface DeliveryTransport {
  send(url: string, request: OutboundRequest): Promise<DeliveryAnswer>;
  close(): void;
}

/**
 * The response of a receiver.
 * @example
 * const busy: DeliveryAnswer = { status: 503, retryAfter: '120' }; // in seconds, or a date
 */
export interface DeliveryAnswer {
  readonly status: number;
  /** Its `Retry-After`. */
  readonly retryAfter: string | undefined;
}

const maxBodyBytes = 65_536;

/** HTTP calls to destinations that the policy allows. */
function guardedTransport(options: GuardedClientOptions): DeliveryTransport {
  const client = new GuardedClient(options);
  return {
    async send(url, request) {
      const answer = await client.send(url, request);
      await discardBody(answer, maxBodyBytes);
      return { status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] };
    },
    close: () => client.close(),
  };
}

/**
 * Reads and discards a body, so that the connection can be reused. A body beyond the limit closes the
 * connection instead. Never rejects: the caller has the status already.
 */
export async function discardBody(body: Readable, maxBytes: number): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } catch {
    // The body was cut off; the status has arrived already.
    body.destroy();
  }
}

import type { Task } from '../protocol/index.ts';
import type { Delivery, DeliveryOutcome, Store } from '../store/index.ts';
import { backoff, Deadline, retryAfterMs } from '../time/index.ts';
import { counter, histogram } from '../telemetry/index.ts';
import type { BodySigner } from './body-signature.ts';
import { buildDeliveryRequest, type DeliverySources } from './delivery-request.ts';
import { type DeliveryTransport, guardedTransport } from './delivery-transport.ts';
import { outboundTimeouts } from './guarded-client.ts';
import { type UrlPolicy, UrlRefused } from './policy.ts';
import type { Resolver } from './resolver.ts';

/**
 * How long to wait before another attempt.
 * @example
 * const backoff: BackoffOptions = { initialDelay: 500, factor: 2 }; // at most 0.5, 1, 2, 4 s
 */
export interface BackoffOptions {
  /** Milliseconds before the second attempt. @default 1_000 */
  readonly initialDelay?: number;
  /** How much longer each wait is than the one before. @default 4 */
  readonly factor?: number;
  /** Milliseconds. @default 600_000 */
  readonly maxDelay?: number;
  /** Milliseconds: a `Retry-After` beyond this is cut. @default 3_600_000 */
  readonly maxRetryAfter?: number;
}

export interface DeliverySenderOptions {
  readonly store: Pick<Store, 'readEvents'>;
  /** Where calls may go; `serve` takes https to the public network, and this machine, unless told. */
  readonly policy: UrlPolicy;
  /** The task as it was when the event of that number was the last, for 0.3 receivers. */
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
  /** The pauses between attempts. */
  readonly backoff?: BackoffOptions;
  /** Calls under way at once to one host. @default 16 */
  readonly concurrencyPerHost?: number;
  /** Milliseconds for one call, all in all. @default 30_000 */
  readonly timeout?: number;
  /** Milliseconds for DNS. @default 5_000 */
  readonly dnsTimeout?: number;
  /** Milliseconds for TCP and TLS. @default 5_000 */
  readonly connectTimeout?: number;
  /** Certificates of authorities to trust instead of the system's, PEM. */
  readonly certificateAuthority?: string;
  /** Another network than the real one, for simulations; it answers for the policy. */
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
    const { resolver, dnsTimeout, connectTimeout, certificateAuthority } = options;
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
        ...(certificateAuthority !== undefined && { certificateAuthority }),
      });
  }

  /** Never rejects. Undefined when `stop` aborted the call, which is then not counted in the metrics. */
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
      if (error instanceof UrlRefused) return { kind: 'dead', error: error.message };
      return this.#retry(delivery, error instanceof Error ? error.message : 'unknown error');
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

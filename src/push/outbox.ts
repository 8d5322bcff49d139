import { errorMessage, type TaskPushNotificationConfig } from '../protocol/index.ts';
import type { Delivery, DeliveryOutcome, Store } from '../store/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { KeyedQueue } from '../time/index.ts';
import { DeliverySender, type DeliverySenderOptions } from './delivery-sender.ts';
import type { UrlPolicy } from './policy.ts';
import { checkPushAddress, redactPushConfig, validatePushConfig } from './registration.ts';

/**
 * Destinations, limits and retries of webhook deliveries.
 * @example
 * const options: PushDispatcherOptions = {
 *   store, taskAt, replica: crypto.randomUUID(), policy: httpsOrLoopbackPolicy,
 *   maxAttempts: 8, backoff: { maxDelay: 3_600_000 }, concurrencyPerHost: 4,
 * };
 */
export interface PushDispatcherOptions extends Omit<DeliverySenderOptions, 'scheduler'> {
  readonly store: Pick<Store, 'push' | 'readEvents' | 'health'>;
  /** The process that claims deliveries. Its claims end when it retires from the store. */
  readonly replica: string;
  /** @default the system's clock and timers */
  readonly scheduler?: PushScheduler;
  readonly logger?: Logger;
  /**
   * Resolves the host of a new configuration at registration, in addition to each connect. @default
   * false
   */
  readonly resolveAtRegistration?: boolean;
  /** Maximum concurrent calls. @default 64 */
  readonly concurrency?: number;
  /** Milliseconds between polls for deliveries without a wake-up. @default 10_000 */
  readonly pollInterval?: number;
  /**
   * The number of calls that the next round can start without slowing the process's own callers. Called
   * once per round. @default unlimited
   */
  readonly allowance?: () => number;
  /** Called after every delivery attempt, for observers. It must not throw. */
  readonly onAttempt?: (attempt: PushAttempt) => void;
}

/**
 * One call to a webhook, and its outcome.
 * @example
 * const onAttempt = ({ delivery, outcome }: PushAttempt) => {
 *   if (outcome.kind === 'dead') console.warn(delivery.taskId, outcome.error);
 * };
 */
export interface PushAttempt {
  readonly delivery: Delivery;
  readonly outcome: DeliveryOutcome;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * The dispatcher's clock and timers. The engine's scheduler implements it.
 * @example
 * // A day ahead: every delivery that waits for its next attempt is due.
 * const tomorrow: PushScheduler = { ...systemScheduler, now: () => Date.now() + 86_400_000 };
 */
export interface PushScheduler {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs `callback` once after `delay` milliseconds. */
  after(delay: number, callback: () => void): { cancel(): void };
  /** Runs `callback` after the current work. */
  defer(callback: () => void): void;
}

interface Claim {
  readonly delivery: Delivery;
  readonly host: string;
  /** Milliseconds since 1970. A call that starts later could outlast the claim. */
  readonly startBy: number;
}

/** A finished call, with its log fields. */
interface Ended {
  readonly id: number;
  readonly outcome: DeliveryOutcome;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Milliseconds by which a claim outlasts the longest call: the time to settle it. */
const leaseMargin = 10_000;

/** Milliseconds between two rounds while the allowance limits the calls. */
const busyPause = 40;

/**
 * Sends deliveries from the outbox to their webhooks: at least once each, in order per configuration,
 * in parallel across configurations.
 *
 * The dispatcher is `idle`, then `running` after `start()`, `stopping` after `stop()` until the calls
 * in flight have ended, and `stopped`.
 *
 * The states of a delivery:
 * - *pending*: in the store.
 * - *claimed*: leased by this process. Only the oldest delivery of a configuration can be claimed,
 *   which keeps the order.
 * - *in flight*: a call is running. `concurrency` and `concurrencyPerHost` limit the calls.
 * - *delivered* on any 2xx, *pending* again until its next attempt, or *dead* after the last attempt.
 *
 * A failure that a retry can't fix makes a delivery dead at once: an address that the policy refuses,
 * 410 Gone, a task that no longer exists, a configuration that can't be decoded. A dead delivery is
 * kept, no longer blocks the deliveries behind it, and can be revived.
 *
 * If a process dies, its claims expire with their lease, and another replica repeats the calls with the
 * same `Idempotency-Key`. A claim that waits too long for its call is dropped, and also expires with
 * its lease.
 *
 * The pump looks for work on `wake()` (after deliveries were written), when a call ends, when the next
 * delivery is due, and every `pollInterval` in case a wake-up was lost. Only one pump runs at a time.
 * Each round settles the finished calls and claims the next deliveries together, so that the store
 * groups their writes. While the process is busy with its callers, rounds are smaller and less
 * frequent: webhooks are delayed instead of callers.
 * @example const dispatcher = new PushDispatcher({ store, replica, policy, taskAt }); dispatcher.start();
 */
export class PushDispatcher {
  readonly #options: PushDispatcherOptions;
  readonly #scheduler: PushScheduler;
  readonly #logger: Logger;
  readonly #sender: DeliverySender;
  /** Calls by host, so that a slow host does not use up all concurrent calls. */
  readonly #calls: KeyedQueue;
  readonly #maxClaims: number;
  readonly #abort = new AbortController();
  #state: 'idle' | 'running' | 'stopping' | 'stopped' = 'idle';
  /** Set while the pump runs. */
  #pumping: Promise<void> | undefined;
  /** Whether `wake` was called while the pump ran. */
  #isWoken = false;
  #timer: { cancel(): void } | undefined;
  /** Calls that ended since the last round. */
  #ended: Ended[] = [];
  /** The number of calls that can start in this round. */
  #allowance = Infinity;
  #endPause: (() => void) | undefined;

  constructor(options: PushDispatcherOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#logger = options.logger ?? silentLogger;
    const { concurrency = 64, concurrencyPerHost = 16 } = options;
    this.#calls = new KeyedQueue({ perKey: concurrencyPerHost, total: concurrency });
    // Leaves capacity for claims that wait behind a slow host, so that other hosts can still be
    // claimed.
    this.#maxClaims = concurrency * 4;
    this.#sender = new DeliverySender({ ...options, scheduler: this.#scheduler });
  }

  /** Rejects an invalid configuration with `INVALID_PARAMS`. */
  validate(config: TaskPushNotificationConfig): Promise<void> {
    return this.validateBy(this.#options.policy, config);
  }

  /** Validates with a narrower policy than that of deliveries, for one caller. */
  async validateBy(policy: UrlPolicy, config: TaskPushNotificationConfig): Promise<void> {
    validatePushConfig(config, policy);
    if (this.#options.resolveAtRegistration !== true) return;
    await checkPushAddress(config, { ...this.#options, policy });
  }

  /** A configuration for display, without its secrets. */
  redact(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
    return redactPushConfig(config);
  }

  /** Starts delivering, including deliveries of earlier processes. */
  start(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    this.wake();
  }

  /** Signals that deliveries were written. Cheap while the pump runs. */
  wake(): void {
    if (this.#state !== 'running') return;
    if (this.#pumping === undefined) this.#pumping = this.#pump();
    else this.#isWoken = true;
  }

  /**
   * Makes a dead delivery pending again, with new attempts. Returns false if no dead delivery has that
   * id.
   */
  async revive(deliveryId: number): Promise<boolean> {
    const { push } = this.#options.store;
    const isRevived = await push.revive(deliveryId);
    if (isRevived) this.wake();
    return isRevived;
  }

  /**
   * Stops claiming and waits for the calls in flight. Calls that outlast `drainTimeout` milliseconds
   * are aborted; the replica that claims them next repeats them.
   */
  async stop(options: { readonly drainTimeout?: number } = {}): Promise<void> {
    if (this.#state === 'stopping' || this.#state === 'stopped') return;
    this.#state = 'stopping';
    this.#timer?.cancel();
    this.#endPause?.();
    await this.#pumping;
    const { drainTimeout = 10_000 } = options;
    const deadline = this.#scheduler.after(drainTimeout, () => this.#abort.abort());
    await this.#calls.idle();
    deadline.cancel();
    await this.#settle();
    this.#state = 'stopped';
    this.#sender.close();
  }

  async #pump(): Promise<void> {
    try {
      do {
        await this.#pause();
        this.#isWoken = false;
        const settling = this.#settle();
        try {
          await this.#claim();
        } finally {
          await settling;
        }
      } while (this.#isWoken);
    } catch (error) {
      const fields = { error: errorMessage(error) };
      // An outage of the store is logged once, not with every poll.
      const isReported = this.#options.store.health.outage !== undefined;
      if (isReported) this.#logger.debug(fields, 'push.claim_failed');
      else this.#logger.error(fields, 'push.claim_failed');
      this.#wakeIn(1_000);
    } finally {
      this.#pumping = undefined;
    }
  }

  /** Calls that end in the same event loop iteration share a round. A busy process has fewer rounds. */
  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => this.#scheduler.defer(resolve));
    this.#allowance = this.#options.allowance?.() ?? Infinity;
    if (this.#allowance === Infinity || this.#state !== 'running') return;
    await new Promise<void>((resolve) => {
      this.#endPause = resolve;
      this.#scheduler.after(busyPause, resolve);
    });
  }

  /**
   * Never rejects. Sends all settlements to the store before it awaits any, so that the store groups
   * them.
   */
  async #settle(): Promise<void> {
    const { push } = this.#options.store;
    await Promise.all(
      this.#ended.splice(0).map(async ({ id, outcome, fields }) => {
        try {
          await push.settle(id, outcome);
        } catch (error) {
          // The claim expires with its lease, and a replica repeats the call.
          this.#logger.error({ ...fields, error: errorMessage(error) }, 'push.settle_failed');
        }
      }),
    );
  }

  async #claim(): Promise<void> {
    const room = this.#maxClaims - this.#calls.size;
    // At least one, so that no delivery starves.
    const limit = Math.min(room, Math.max(1, Math.floor(this.#allowance)));
    if (this.#state !== 'running' || limit <= 0) return;
    const leaseMs = this.#sender.timeout * 2 + leaseMargin;
    // A lower bound: the lease starts later, when the store records the claim.
    const startBy = this.#scheduler.now() + leaseMs - this.#sender.timeout - leaseMargin;
    const { push } = this.#options.store;
    const claimed = await push.claim({ replica: this.#options.replica, leaseMs, limit });
    if (this.#state !== 'running') return;
    for (const delivery of claimed) {
      const host = hostOf(delivery);
      void this.#calls
        .run(host, () => this.#call({ delivery, host, startBy }))
        .finally(() => this.wake());
    }
    if (claimed.length === limit) return;
    const due = await push.nextDueMs();
    const interval = this.#options.pollInterval ?? 10_000;
    // At least 50 ms: another replica may have claimed a due delivery meanwhile.
    const wait = due === undefined ? interval : Math.max(due, 50);
    this.#wakeIn(Math.min(wait, interval));
  }

  #wakeIn(milliseconds: number): void {
    this.#timer?.cancel();
    if (this.#state !== 'running') return;
    this.#timer = this.#scheduler.after(milliseconds, () => this.wake());
  }

  async #call({ delivery, host, startBy }: Claim): Promise<void> {
    if (this.#state !== 'running' || this.#scheduler.now() > startBy) return;
    const of = {
      taskId: delivery.taskId,
      configId: delivery.push.config.id,
      sequence: delivery.sequence,
      attempt: delivery.attempts + 1,
      host,
    };
    let outcome: DeliveryOutcome | undefined;
    try {
      outcome = await this.#sender.send(delivery, this.#abort.signal);
    } catch (error) {
      // The claim expires with its lease, and a replica tries again.
      this.#logger.error({ ...of, error: errorMessage(error) }, 'push.read_failed');
      return;
    }
    if (outcome === undefined) return;
    const fields = outcome.kind === 'delivered' ? of : { ...of, error: outcome.error };
    if (outcome.kind === 'delivered') this.#logger.debug(fields, 'push.delivered');
    else this.#logger.warn(fields, outcome.kind === 'dead' ? 'push.dead' : 'push.retry');
    this.#ended.push({ id: delivery.id, outcome, fields });
    this.#options.onAttempt?.({ delivery, outcome, at: this.#scheduler.now() });
  }
}

const systemScheduler: PushScheduler = {
  now: () => Date.now(),
  after(delay, callback) {
    const timer = setTimeout(callback, delay).unref();
    return { cancel: () => clearTimeout(timer) };
  },
  defer: (callback) => void setImmediate(callback),
};

function hostOf(delivery: Delivery): string {
  return URL.parse(delivery.push.config.url)?.host ?? '';
}

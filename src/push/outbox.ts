import { errorMessage, type TaskPushNotificationConfig } from '../protocol/index.ts';
import type { Delivery, DeliveryOutcome, Store } from '../store/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { KeyedQueue } from '../time/index.ts';
import { DeliverySender, type DeliverySenderOptions } from './delivery-sender.ts';
import type { UrlPolicy } from './policy.ts';
import { checkPushAddress, redactPushConfig, validatePushConfig } from './registration.ts';

/**
 * What is delivered, where to, and with which retries.
 * @example
 * const options: PushDispatcherOptions = {
 *   store, taskAt, replica: crypto.randomUUID(), policy: httpsOrLoopbackPolicy,
 *   maxAttempts: 8, backoff: { maxDelay: 3_600_000 }, concurrencyPerHost: 4,
 * };
 */
export interface PushDispatcherOptions extends Omit<DeliverySenderOptions, 'scheduler'> {
  readonly store: Pick<Store, 'push' | 'readEvents' | 'health'>;
  /** The process that claims deliveries: its claims end when the store learns of its end. */
  readonly replica: string;
  /** @default the system's clock and timers */
  readonly scheduler?: PushScheduler;
  readonly logger?: Logger;
  /** Looks up the host of a new configuration at once, besides when connecting. @default false */
  readonly resolveAtRegistration?: boolean;
  /** Maximum concurrent calls. @default 64 */
  readonly concurrency?: number;
  /** Milliseconds between looks for deliveries without a wake-up. @default 10_000 */
  readonly pollInterval?: number;
  /**
   * Calls that may start in the next round without callers of the process noticing; asked once a
   * round. @default as many as there are
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
 * Time as the dispatcher sees it; the engine's scheduler fits.
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
  /** Milliseconds since 1970: started later, the call could outlast the claim. */
  readonly startBy: number;
}

/** A call that has come to its end, and what the log says of it. */
interface Ended {
  readonly id: number;
  readonly outcome: DeliveryOutcome;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Milliseconds that a claim outlasts the longest call, for settling it. */
const leaseMargin = 10_000;

/** Milliseconds between two rounds while not every call may start. */
const busyPause = 40;

/**
 * Takes deliveries from the outbox to their webhooks: at least once each, in order per
 * configuration, in parallel across configurations.
 *
 * The dispatcher is `idle`, then `running` after `start()`, `stopping` after `stop()` until calls
 * in flight have ended, and `stopped`.
 *
 * A delivery is *pending* in the store; *claimed* by this process for the length of a lease (only
 * the oldest of its configuration can be, which keeps the order); *under way*, at most so many at
 * once and so many per host; and then settled: *delivered* on any 2xx, *pending* again until its
 * next attempt, or *dead* after the last one. What a retry can't fix is dead at once: an address
 * that the policy refuses, 410 Gone, a task that no longer exists, a configuration that can't be
 * decoded. A dead delivery is kept, no longer holds up those behind it, and can be revived.
 *
 * A process that dies settles nothing: its claims end with their lease, and the calls are made
 * again under the same `Idempotency-Key`. A claim that waits too long for its turn is dropped here
 * and comes back the same way.
 *
 * The pump looks for work on `wake()` (after deliveries were written), when a call ends, when the
 * next delivery falls due, and now and then in case a wake-up was lost. Only one pump runs at a time. In one
 * round it settles the calls that have ended and claims the next ones, in one go, since a store
 * writes once what comes at once. Where the process is busy with its callers, rounds are further
 * apart and smaller: webhooks are late then, and callers are not.
 * @example const dispatcher = new PushDispatcher({ store, replica, policy, taskAt }); dispatcher.start();
 */
export class PushDispatcher {
  readonly #options: PushDispatcherOptions;
  readonly #scheduler: PushScheduler;
  readonly #logger: Logger;
  readonly #sender: DeliverySender;
  /** Calls by host: one that answers slowly holds up its own deliveries only. */
  readonly #calls: KeyedQueue;
  readonly #maxClaims: number;
  readonly #abort = new AbortController();
  #state: 'idle' | 'running' | 'stopping' | 'stopped' = 'idle';
  /** Set while the pump runs. */
  #pumping: Promise<void> | undefined;
  /** Something happened while the pump ran. */
  #isWoken = false;
  #timer: { cancel(): void } | undefined;
  /** Calls that ended since the last round. */
  #ended: Ended[] = [];
  /** Calls that may start in this round. */
  #allowance = Infinity;
  #endPause: (() => void) | undefined;

  constructor(options: PushDispatcherOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#logger = options.logger ?? silentLogger;
    const { concurrency = 64, concurrencyPerHost = 16 } = options;
    this.#calls = new KeyedQueue({ perKey: concurrencyPerHost, total: concurrency });
    // Room for claims that wait behind a slow host, so that claims for other hosts still get in.
    this.#maxClaims = concurrency * 4;
    this.#sender = new DeliverySender({ ...options, scheduler: this.#scheduler });
  }

  /** Rejects with `INVALID_PARAMS` for a configuration that must not be registered. */
  validate(config: TaskPushNotificationConfig): Promise<void> {
    return this.validateBy(this.#options.policy, config);
  }

  /** The same by a narrower policy than that of deliveries, for one caller. */
  async validateBy(policy: UrlPolicy, config: TaskPushNotificationConfig): Promise<void> {
    validatePushConfig(config, policy);
    if (this.#options.resolveAtRegistration !== true) return;
    await checkPushAddress(config, { ...this.#options, policy });
  }

  /** A configuration as it is shown, without its secrets. */
  redact(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
    return redactPushConfig(config);
  }

  /** Starts with what earlier processes left behind. */
  start(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    this.wake();
  }

  /** Says that deliveries were written. Costs next to nothing while the pump runs. */
  wake(): void {
    if (this.#state !== 'running') return;
    if (this.#pumping === undefined) this.#pumping = this.#pump();
    else this.#isWoken = true;
  }

  /** Gives a dead delivery another round of attempts. False when there is none of that id. */
  async revive(deliveryId: number): Promise<boolean> {
    const { push } = this.#options.store;
    const isRevived = await push.revive(deliveryId);
    if (isRevived) this.wake();
    return isRevived;
  }

  /**
   * Claims nothing more and waits for the calls under way; those that outlast `drainTimeout`
   * milliseconds are aborted and repeated by the replica that claims them next.
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
      // An outage of the store is reported once, and not with every look for deliveries.
      const isReported = this.#options.store.health.outage !== undefined;
      if (isReported) this.#logger.debug(fields, 'push.claim_failed');
      else this.#logger.error(fields, 'push.claim_failed');
      this.#wakeIn(1_000);
    } finally {
      this.#pumping = undefined;
    }
  }

  /** Calls that end in the same turn of the event loop share a round; a busy process has fewer. */
  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => this.#scheduler.defer(resolve));
    this.#allowance = this.#options.allowance?.() ?? Infinity;
    if (this.#allowance === Infinity || this.#state !== 'running') return;
    await new Promise<void>((resolve) => {
      this.#endPause = resolve;
      this.#scheduler.after(busyPause, resolve);
    });
  }

  /** Never rejects. All of it is asked of the store before anything is waited for. */
  async #settle(): Promise<void> {
    const { push } = this.#options.store;
    await Promise.all(
      this.#ended.splice(0).map(async ({ id, outcome, fields }) => {
        try {
          await push.settle(id, outcome);
        } catch (error) {
          // The claim ends with its lease, and the call is made again.
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
    // The lease starts later, when the store has the claim: to start by then is on the safe side.
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
    // At least a moment: a delivery can be due and yet belong to another replica by now.
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
    const outcome = await this.#sender.send(delivery, this.#abort.signal);
    if (outcome === undefined) return;
    const fields = {
      taskId: delivery.taskId,
      configId: delivery.push.config.id,
      sequence: delivery.sequence,
      attempt: delivery.attempts + 1,
      host,
      ...(outcome.kind === 'delivered' ? {} : { error: outcome.error }),
    };
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

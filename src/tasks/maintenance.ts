import { type Reporting, smallSkewMs } from '../store/index.ts';
import { observeGauge } from '../telemetry/index.ts';
import type { Hub } from './hub.ts';
import type { EngineSettings } from './options.ts';
import { reportedOutage } from './store-retry.ts';
import type { Timer } from './scheduler.ts';
import type { Turns } from './turns.ts';

/** Turns taken over at once, and things of each kind swept at once. */
const batch = 100;

/**
 * What a replica does beside its requests: shows that it lives, takes over turns that nobody runs,
 * looks for events and cancel requests of which no notice came, and deletes what is over.
 */
export class Maintenance {
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #turns: Turns;
  readonly #replica: string;
  readonly #timers = new Set<Timer>();
  #lastHeartbeat: number | undefined;
  /** Until then nobody else is taken for dead. */
  #patientUntil = 0;
  /** Whether this is the engine that reports on the store, among those that share it. */
  readonly #reporting: Reporting;
  readonly #unobserve: () => void;
  #isSkewed = false;
  #isStopped = false;

  constructor(settings: EngineSettings, hub: Hub, turns: Turns, replica: string) {
    this.#settings = settings;
    this.#hub = hub;
    this.#turns = turns;
    this.#replica = replica;
    const { store, logger } = settings;
    this.#reporting = store.health.report({
      started: ({ error }) => logger.error({ driver: store.driver, error }, 'store.outage.started'),
      ended: ({ failedWrites }, milliseconds) =>
        logger.warn({ driver: store.driver, failedWrites, milliseconds }, 'store.outage.ended'),
    });
    this.#unobserve = observeGauge('legate.store.clock_skew', (result) =>
      result.observe(store.clock.skewMs() / 1000),
    );
  }

  async start(): Promise<void> {
    const { store, leaseMs, pollIntervalMs, sweepIntervalMs } = this.#settings;
    await this.#heartbeat();
    await this.#takeOver();
    this.#every(leaseMs / 3, () => this.#takeOver());
    if (store.shared) {
      this.#every(leaseMs / 3, () => this.#heartbeat());
      this.#every(pollIntervalMs, () => this.#lookAgain());
    }
    this.#every(sweepIntervalMs, () => this.#sweep());
  }

  stop(): void {
    this.#isStopped = true;
    this.#reporting.end();
    this.#unobserve();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  async #heartbeat(): Promise<void> {
    const { store, scheduler, leaseMs } = this.#settings;
    // Where nobody else could take over, life needs no proof.
    await store.heartbeat(this.#replica, store.shared ? leaseMs : Infinity);
    this.#checkClock();
    // When our own signs of life did not get through, those of others did not either: they have yet
    // to show that they live.
    const now = scheduler.now();
    const wasCutOff = now - (this.#lastHeartbeat ?? now) > leaseMs;
    this.#lastHeartbeat = now;
    if (!wasCutOff) return;
    this.#patientUntil = now + leaseMs;
    void this.#turns.probe();
  }

  /** Says once that the wall clock is wrong, and once that it is right again. */
  #checkClock(): void {
    const { store, logger } = this.#settings;
    const skewMs = store.clock.skewMs();
    const isSkewed = Math.abs(skewMs) > smallSkewMs;
    if (isSkewed === this.#isSkewed) return;
    this.#isSkewed = isSkewed;
    if (!this.#reporting.isActive) return;
    if (isSkewed) logger.warn({ skewMs }, 'store.clock_skew');
    else logger.info({ skewMs }, 'store.clock_skew.over');
  }

  /** Notices were lost. */
  lookAgain(): void {
    this.#lookAgain().catch((error: unknown) => this.#failed(error));
  }

  /** Looks for what notices would have told. */
  async #lookAgain(): Promise<void> {
    this.#hub.nudgeAll();
    if (this.#turns.size === 0) return;
    const canceled = await this.#settings.store.cancelRequests(this.#replica);
    for (const taskId of canceled) this.#turns.stop(taskId, 'cancel');
  }

  async #takeOver(): Promise<void> {
    const { store, scheduler, leaseMs } = this.#settings;
    // What cannot be written to its end is not begun: the first look after the outage finds it.
    if (store.health.outage !== undefined) return;
    for (;;) {
      const now = scheduler.now();
      const isCutOff = store.shared && now - (this.#lastHeartbeat ?? now) > leaseMs;
      const sparesExpired = isCutOff || now < this.#patientUntil;
      const taken = await this.#turns.takeOver(batch, { sparesExpired });
      if (taken < batch || this.#isStopped) return;
    }
  }

  async #sweep(): Promise<void> {
    const { store, retentionMs, contextRetentionMs } = this.#settings;
    const query = {
      ...(retentionMs > 0 && { retentionMs }),
      ...(contextRetentionMs > 0 && { contextRetentionMs }),
      limit: batch,
    };
    for (;;) {
      const { tasks, contexts, messages, records } = await store.sweep(query);
      if (Math.max(tasks, contexts, messages, records) < batch || this.#isStopped) return;
    }
  }

  /** Repeats `work` with a pause of `interval` in between; a failure is logged and tried again. */
  #every(interval: number, work: () => Promise<void>): void {
    const { scheduler } = this.#settings;
    const run = (): void => {
      work()
        .catch((error: unknown) => this.#failed(error))
        .finally(() => {
          if (!this.#isStopped) schedule();
        });
    };
    const schedule = (): void => {
      const timer = scheduler.after(interval, () => {
        this.#timers.delete(timer);
        run();
      });
      this.#timers.add(timer);
    };
    schedule();
  }

  #failed(error: unknown): void {
    const { store, logger } = this.#settings;
    const outage = reportedOutage(store, error);
    if (outage !== undefined) logger.debug(outage, 'tasks.maintenance.failed');
    else logger.error({ error }, 'tasks.maintenance.failed');
  }
}

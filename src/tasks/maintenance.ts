import { type Replica, reportedOutage, type Reporting, smallSkewMs } from '../store/index.ts';
import { observeGauge } from '../telemetry/index.ts';
import { repeat } from '../time/index.ts';
import type { Hub } from './log-reader.ts';
import type { EngineSettings } from './options.ts';
import type { Turns } from './turns.ts';

/** Turns taken over, and expired rows of each kind deleted, per query. */
const batch = 100;

/**
 * The periodic work of an engine: takes over turns of dead replicas, polls for events and cancellation
 * requests whose notifications were lost, and deletes expired data.
 */
export class Maintenance {
  readonly #settings: EngineSettings;
  readonly #hub: Hub;
  readonly #turns: Turns;
  readonly #replica: Replica;
  #repeated: readonly { stop(): void }[] = [];
  #leave: (() => Promise<void>) | undefined;
  /** Decides which of the engines that share a store reports its outages. */
  readonly #reporting: Reporting;
  readonly #unobserve: () => void;
  #isSkewed = false;
  #isStopped = false;

  constructor(settings: EngineSettings, hub: Hub, turns: Turns) {
    this.#settings = settings;
    this.#hub = hub;
    this.#turns = turns;
    this.#replica = settings.replica;
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
    const { store, pollIntervalMs, sweepIntervalMs } = this.#settings;
    this.#leave = await this.#replica.join({
      takeOver: () => this.#takeOver(),
      onRenewed: (isLate) => {
        this.#checkClock();
        if (isLate) void this.#turns.probe();
      },
    });
    this.#repeated = [
      this.#every(sweepIntervalMs, () => this.#sweep()),
      ...(store.shared ? [this.#every(pollIntervalMs, () => this.#poll())] : []),
    ];
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#reporting.end();
    this.#unobserve();
    for (const each of this.#repeated) each.stop();
    await this.#leave?.();
  }

  /** Logs once when the wall clock becomes wrong, and once when it is right again. */
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

  /** Polls at once, after notifications were lost. */
  poll(): void {
    this.#poll().catch((error: unknown) => this.#failed(error));
  }

  /** Wakes readers and stops cancelled turns, in case notifications were lost. */
  async #poll(): Promise<void> {
    this.#hub.wakeAll();
    this.#hub.askAgain((taskId) => this.#turns.find(taskId) !== undefined);
    if (this.#turns.size === 0) return;
    const canceled = await this.#settings.store.cancelRequests(this.#replica.id);
    for (const taskId of canceled) this.#turns.stop(taskId, 'cancel');
  }

  async #takeOver(): Promise<void> {
    const { store } = this.#settings;
    for (;;) {
      // During an outage no turn could be stored. The first takeover after the outage finds these turns.
      if (store.health.outage !== undefined) return;
      const { sparesExpired } = this.#replica;
      const taken = await this.#turns.takeOver(batch, { sparesExpired });
      if (taken < batch || this.#isStopped) break;
    }
    await this.#turns.releaseHeld();
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

  #every(interval: number, work: () => Promise<void>): { stop(): void } {
    const { scheduler } = this.#settings;
    return repeat(interval, work, { timers: scheduler, onError: (error) => this.#failed(error) });
  }

  #failed(error: unknown): void {
    const { store, logger } = this.#settings;
    const outage = reportedOutage(store, error);
    if (outage !== undefined) logger.debug(outage, 'tasks.maintenance.failed');
    else logger.error({ error }, 'tasks.maintenance.failed');
  }
}

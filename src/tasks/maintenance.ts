import type { Hub } from './hub.ts';
import type { EngineSettings } from './options.ts';
import type { Timer } from './scheduler.ts';
import type { Turns } from './turns.ts';

/** Turns taken over at once, and tasks swept at once. */
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
  #isStopped = false;

  constructor(settings: EngineSettings, hub: Hub, turns: Turns, replica: string) {
    this.#settings = settings;
    this.#hub = hub;
    this.#turns = turns;
    this.#replica = replica;
  }

  async start(): Promise<void> {
    const { store, leaseMs, pollIntervalMs, sweepIntervalMs, retentionMs } = this.#settings;
    await this.#heartbeat();
    await this.#takeOver();
    if (store.shared) {
      this.#every(leaseMs / 3, () => this.#heartbeat());
      this.#every(leaseMs / 3, () => this.#takeOver());
      this.#every(pollIntervalMs, async () => this.#hub.nudgeAll());
    }
    if (retentionMs > 0) this.#every(sweepIntervalMs, () => this.#sweep());
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  async #heartbeat(): Promise<void> {
    const { store, scheduler, leaseMs } = this.#settings;
    // Where nobody else could take over, life needs no proof.
    const expiresAt = store.shared ? scheduler.now() + leaseMs : Number.MAX_SAFE_INTEGER;
    await store.heartbeat(this.#replica, expiresAt);
  }

  async #takeOver(): Promise<void> {
    const { store, scheduler, agent, logger } = this.#settings;
    for (;;) {
      const turns = await store.takeOver({
        agent: agent.name,
        replica: this.#replica,
        now: scheduler.now(),
        limit: batch,
      });
      for (const turn of turns) {
        this.#turns.resume(turn).catch((error: unknown) => {
          logger.error({ taskId: turn.taskId, error }, 'tasks.turn.not_started');
        });
      }
      if (turns.length < batch) return;
    }
  }

  async #sweep(): Promise<void> {
    const { store, scheduler, retentionMs } = this.#settings;
    const now = scheduler.now();
    for (;;) {
      const { tasks } = await store.sweep({ now, terminalBefore: now - retentionMs, limit: batch });
      if (tasks < batch || this.#isStopped) return;
    }
  }

  /** Repeats `work` with a pause of `interval` in between; a failure is logged and tried again. */
  #every(interval: number, work: () => Promise<void>): void {
    const { scheduler, logger } = this.#settings;
    const run = (): void => {
      work()
        .catch((error: unknown) => logger.error({ error }, 'tasks.maintenance.failed'))
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
}

import { type Logger, silentLogger } from '../telemetry/index.ts';
import { repeat } from '../time/index.ts';
import type { Store } from './contract.ts';
import { reportedOutage } from './store-health.ts';

/**
 * Under what name a process holds its lease, and for how long.
 * @example const options: ReplicaOptions = { store, id: crypto.randomUUID(), scheduler };
 */
export interface ReplicaOptions {
  readonly store: Pick<Store, 'heartbeat' | 'retire' | 'deadReplicas' | 'shared' | 'health'>;
  /** No two processes may have the same. */
  readonly id: string;
  readonly scheduler: {
    /** Milliseconds since 1970, by the clock of the store. */
    now(): number;
    after(delay: number, callback: () => void): { cancel(): void };
  };
  /** How long a replica counts as alive after it renewed its lease, in milliseconds. @default 15_000 */
  readonly leaseMs?: number;
  /** @default silent */
  readonly logger?: Logger;
}

/** A part of the process that works under its lease: the task engine, calls to peers. */
export interface ReplicaMember {
  /** Takes over what dead replicas left. Called when the member joins, and three times per lease. */
  takeOver(): Promise<void>;
  /** The lease was renewed; `isLate`: others may have taken over from this replica meanwhile. */
  onRenewed?(isLate: boolean): void;
}

/**
 * The lease of one process. It is renewed while the process has members, so that other replicas
 * leave alone what they work on, and ends when the last one leaves.
 * @example
 * const leave = await replica.join({ takeOver: () => takeover.takeOver() });
 * await leave();
 */
export class Replica {
  readonly id: string;
  readonly #options: Required<ReplicaOptions>;
  readonly #members = new Set<ReplicaMember>();
  #renewing: { stop(): void } | undefined;
  #renewedAt: number | undefined;
  /** Until then no replica counts as dead: no replica could renew its lease for a while. */
  #toleratedUntil = 0;

  constructor(options: ReplicaOptions) {
    this.#options = { leaseMs: 15_000, logger: silentLogger, ...options };
    this.id = options.id;
  }

  /**
   * Whether replicas whose lease has expired count as alive: when this one could not reach the store,
   * others could not either, and have yet to show that they live.
   */
  get sparesExpired(): boolean {
    const now = this.#options.scheduler.now();
    return this.#isLate(now) || now < this.#toleratedUntil;
  }

  /** Resolves after the first takeover; the returned function ends the membership. */
  async join(member: ReplicaMember): Promise<() => Promise<void>> {
    this.#members.add(member);
    try {
      await this.#renew();
      if (this.#options.store.shared)
        this.#renewing ??= this.#repeat('renewal', () => this.#renew());
      await member.takeOver();
    } catch (error) {
      this.#leave(member);
      throw error;
    }
    const takingOver = this.#repeat('takeover', () => member.takeOver());
    return async () => {
      takingOver.stop();
      if (this.#leave(member)) await this.#options.store.retire(this.id);
    };
  }

  /** Those of the given replicas that are dead; never this one. */
  async dead(replicas: readonly string[]): Promise<ReadonlySet<string>> {
    const others = replicas.filter((each) => each !== this.id);
    if (others.length === 0) return new Set();
    const { sparesExpired } = this;
    return new Set(await this.#options.store.deadReplicas(others, { sparesExpired }));
  }

  /** Says whether that was the last member. */
  #leave(member: ReplicaMember): boolean {
    const wasMember = this.#members.delete(member);
    if (!wasMember || this.#members.size > 0) return false;
    this.#renewing?.stop();
    this.#renewing = undefined;
    this.#renewedAt = undefined;
    return true;
  }

  async #renew(): Promise<void> {
    const { store, scheduler, leaseMs } = this.#options;
    // Where no other replica could take over, the lease needs no end.
    await store.heartbeat(this.id, store.shared ? leaseMs : Infinity);
    const now = scheduler.now();
    const isLate = this.#isLate(now);
    this.#renewedAt = now;
    if (isLate) this.#toleratedUntil = now + leaseMs;
    for (const member of this.#members) member.onRenewed?.(isLate);
  }

  #isLate(now: number): boolean {
    const { store, leaseMs } = this.#options;
    return store.shared && now - (this.#renewedAt ?? now) > leaseMs;
  }

  #repeat(what: 'renewal' | 'takeover', work: () => Promise<void>): { stop(): void } {
    const { store, scheduler, leaseMs, logger } = this.#options;
    return repeat(leaseMs / 3, work, {
      timers: scheduler,
      onError(error) {
        const outage = reportedOutage(store, error);
        if (outage !== undefined) logger.debug({ what, ...outage }, 'lease.failed');
        else logger.error({ what, error }, 'lease.failed');
      },
    });
  }
}

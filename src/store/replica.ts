import { type Logger, silentLogger } from '../telemetry/index.ts';
import { repeat } from '../time/index.ts';
import type { Store } from './contract.ts';
import { reportedOutage } from './store-health.ts';

/**
 * The id, store and duration of a lease.
 * @example const options: ReplicaOptions = { store, id: crypto.randomUUID(), scheduler };
 */
export interface ReplicaOptions {
  readonly store: Pick<Store, 'heartbeat' | 'retire' | 'deadReplicas' | 'shared' | 'health'>;
  /** Unique for each process. */
  readonly id: string;
  readonly scheduler: {
    /** Milliseconds since 1970, by the clock of the store. */
    now(): number;
    after(delay: number, callback: () => void): { cancel(): void };
  };
  /** Milliseconds that a replica counts as alive after it renewed its lease. @default 15_000 */
  readonly leaseMs?: number;
  /** @default silent */
  readonly logger?: Logger;
}

/** A part of the process that uses its lease: the task engine, calls to peers. */
export interface ReplicaMember {
  /** Takes over the work of dead replicas. Called when the member joins, and three times per lease. */
  takeOver(): Promise<void>;
  /**
   * Called after each renewal. `isLate`: other replicas may have taken over work of this replica
   * meanwhile.
   */
  onRenewed?(isLate: boolean): void;
}

/**
 * The lease of one process. It is renewed while the process has members, so that other replicas do not
 * take over their work, and ends when the last member leaves.
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
  /**
   * Until this time no replica counts as dead, because replicas could not renew their leases during an
   * outage.
   */
  #toleratedUntil = 0;

  constructor(options: ReplicaOptions) {
    this.#options = { leaseMs: 15_000, logger: silentLogger, ...options };
    this.id = options.id;
  }

  /**
   * Whether replicas whose lease has expired count as alive. If this replica could not reach the store,
   * the others could not either, and need time to renew their leases.
   */
  get sparesExpired(): boolean {
    const now = this.#options.scheduler.now();
    return this.#isLate(now) || now < this.#toleratedUntil;
  }

  /** Resolves after the first takeover. The returned function ends the membership. */
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

  /** Returns the dead ones of the given replicas; never this replica. */
  async dead(replicas: readonly string[]): Promise<ReadonlySet<string>> {
    const others = replicas.filter((each) => each !== this.id);
    if (others.length === 0) return new Set();
    const { sparesExpired } = this;
    return new Set(await this.#options.store.deadReplicas(others, { sparesExpired }));
  }

  /** Returns whether that was the last member. */
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
    // Without other replicas, nothing can take over, so the lease needs no expiry.
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

import type { Cluster } from '../replicas/cluster.ts';
import type { Postgres } from '../support/postgres.ts';
import type { Random } from './random.ts';

export type Fault = 'kill' | 'stop' | 'freeze' | 'restart' | 'crash';

/** Replicas are disturbed more often than their database. */
const faults: readonly Fault[] = [
  'kill',
  'kill',
  'kill',
  'stop',
  'stop',
  'freeze',
  'freeze',
  'restart',
  'crash',
];

/**
 * Kills, stops and freezes replicas, and restarts and crashes their database, one after the other,
 * at times and in an order that the random numbers decide. There are always as many replicas as at
 * the start.
 */
export class Disturbance {
  readonly counts: Record<Fault, number> = { kill: 0, stop: 0, freeze: 0, restart: 0, crash: 0 };
  readonly #cluster: Cluster;
  readonly #database: Postgres;
  readonly #random: Random;
  readonly #leaseMs: number;
  readonly #work: Promise<void>;
  #isOver = false;

  constructor(options: { cluster: Cluster; database: Postgres; random: Random; leaseMs: number }) {
    this.#cluster = options.cluster;
    this.#database = options.database;
    this.#random = options.random;
    this.#leaseMs = options.leaseMs;
    this.#work = this.#disturb();
  }

  /** Resolves once everything is back. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #disturb(): Promise<void> {
    while (!this.#isOver) {
      await pause(this.#random.between(300, 1_500));
      const fault = this.#random.pick(faults);
      this.counts[fault] += 1;
      await this.#cause(fault);
    }
  }

  async #cause(fault: Fault): Promise<void> {
    const replica = this.#random.pick(this.#cluster.alive);
    switch (fault) {
      case 'kill':
        await replica.kill();
        await this.#cluster.add();
        return;
      case 'stop':
        await Promise.all([replica.stop(), this.#cluster.add()]);
        return;
      case 'freeze': {
        // Sometimes long enough to be taken for dead.
        const thaw = replica.freeze();
        await pause(this.#random.between(200, this.#leaseMs * 2));
        thaw();
        return;
      }
      case 'restart':
      case 'crash':
        await this.#database.restart({ kill: fault === 'crash' });
    }
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

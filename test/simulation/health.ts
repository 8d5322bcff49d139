import type { Fault } from './plan.ts';

/** Milliseconds after a fault until a process has caught up with the world again. */
const recovery = 1_500;

/** Which places nothing stands in the way of: there, everything must happen in time. */
export class Health {
  readonly #now: () => number;
  readonly #troubleUntil: number[];

  constructor(replicas: number, now: () => number) {
    this.#now = now;
    this.#troubleUntil = Array.from({ length: replicas }, () => 0);
  }

  /** Wrong clocks (within bounds), bad notices and orderly restarts are no excuse for anything. */
  strike(fault: Fault): void {
    const until = this.#now() + fault.for + recovery;
    switch (fault.kind) {
      case 'crash':
      case 'pause':
      case 'slow-store':
        this.#trouble(fault.replica, until);
        return;
      case 'outage':
        for (const index of this.#troubleUntil.keys()) {
          if (fault.replica === undefined || fault.replica === index) this.#trouble(index, until);
        }
        return;
      default:
        return;
    }
  }

  isWell(index: number): boolean {
    return this.#now() > (this.#troubleUntil[index] ?? 0);
  }

  #trouble(index: number, until: number): void {
    this.#troubleUntil[index] = Math.max(this.#troubleUntil[index] ?? 0, until);
  }
}

/** The place of a process, from its name. */
export function placeOf(replica: string): number {
  return Number.parseInt(replica.slice(1), 10) - 1;
}

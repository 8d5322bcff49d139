/**
 * Work that waits its turn, one lane per host, so that a host that answers slowly holds up its own
 * work and not everybody's. An item is waiting, then active, then gone.
 */
export class Lanes<T> {
  readonly #maxActive: number;
  readonly #maxActivePerLane: number;
  readonly #lanes = new Map<string, { active: number; readonly waiting: T[] }>();
  #active = 0;
  #waiting = 0;

  constructor(options: { readonly maxActive: number; readonly maxActivePerLane: number }) {
    this.#maxActive = options.maxActive;
    this.#maxActivePerLane = options.maxActivePerLane;
  }

  /** Waiting and active items. */
  get size(): number {
    return this.#active + this.#waiting;
  }

  get active(): number {
    return this.#active;
  }

  add(name: string, item: T): void {
    const lane = this.#lanes.get(name) ?? { active: 0, waiting: [] };
    this.#lanes.set(name, lane);
    lane.waiting.push(item);
    this.#waiting += 1;
  }

  /** The next item that may start, now active; lanes take turns. */
  next(): T | undefined {
    if (this.#active >= this.#maxActive || this.#waiting === 0) return undefined;
    for (const [name, lane] of this.#lanes) {
      if (lane.active >= this.#maxActivePerLane) continue;
      const item = lane.waiting.shift();
      if (item === undefined) continue;
      lane.active += 1;
      this.#active += 1;
      this.#waiting -= 1;
      // To the back of the line.
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      return item;
    }
    return undefined;
  }

  /** An active item of this lane has ended. */
  done(name: string): void {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return;
    lane.active -= 1;
    this.#active -= 1;
    if (lane.active === 0 && lane.waiting.length === 0) this.#lanes.delete(name);
  }

  /** Forgets everything that waits. */
  clear(): void {
    for (const [name, lane] of this.#lanes) {
      lane.waiting.length = 0;
      if (lane.active === 0) this.#lanes.delete(name);
    }
    this.#waiting = 0;
  }
}

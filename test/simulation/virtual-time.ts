import type { Scheduler, Timer } from '../../src/tasks/index.ts';
import type { Random } from './random.ts';

/** What the clocks of a world show when it begins, in milliseconds since 1970. */
const epoch = 1_700_000_000_000;
/** Steps between yields to the real event loop, which prints progress. */
const stepsPerBreath = 20_000;

/**
 * Time that passes only when everything there is to do has been done. Callbacks run one at a time in
 * the order of their times; between two of them every promise that can settle does.
 *
 * The wait for promises needs no macrotask: a tick that is asked for by a microtask runs once no
 * microtask is left.
 */
export class VirtualTime {
  /** Milliseconds since the world began. */
  now = 0;
  /** Callbacks run so far. */
  steps = 0;
  readonly #random: Random;
  readonly #heap: Entry[] = [];
  #order = 0;
  #ids = 0;
  #isHalted = false;

  constructor(random: Random) {
    this.#random = random;
  }

  lane(): Lane {
    return new Lane(this);
  }

  /** Ends `run` after the present step. */
  halt(): void {
    this.#isHalted = true;
  }

  /** Runs until `isDone`, until that time has come, or until nothing is left to do. */
  run(isDone: () => boolean, until: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const drained = (): void => process.nextTick(step);
      const step = (): void => {
        const entry = this.#isHalted || isDone() ? undefined : this.#take(until);
        if (entry === undefined) return resolve();
        this.steps += 1;
        try {
          entry.fire();
        } catch (error) {
          return reject(error);
        }
        if (this.steps % stepsPerBreath === 0) setImmediate(step);
        else queueMicrotask(drained);
      };
      queueMicrotask(drained);
    });
  }

  add(entry: Entry, delay: number): void {
    entry.time = this.now + delay;
    entry.due = entry.time;
    this.#push(entry);
  }

  /** A moment too short to count, and yet others may get in between. */
  moment(): number {
    return this.#random.next() * 0.1;
  }

  nextId(): string {
    this.#ids += 1;
    return this.#ids.toString(36).padStart(7, '0');
  }

  /** The next entry that may run, with the time moved on to it. */
  #take(until: number): Entry | undefined {
    for (;;) {
      const entry = this.#heap[0];
      if (entry === undefined || entry.time > until) return undefined;
      this.#pop();
      entry.isQueued = false;
      if (!entry.isPending || entry.lane.isDead) continue;
      // A restarted timer falls due later, a paused lane does everything once it continues.
      const due = Math.max(entry.due, entry.lane.pausedUntil);
      if (due > entry.time) {
        entry.time = due;
        this.#push(entry);
        continue;
      }
      this.now = entry.time;
      return entry;
    }
  }

  #push(entry: Entry): void {
    this.#order += 1;
    entry.order = this.#order;
    entry.isQueued = true;
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      let below = heap[child];
      if (below === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, below)) {
        child += 1;
        below = right;
      }
      if (!isBefore(below, last)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}

/**
 * The time of one process. It *runs*; it is *paused* until some time, and then does at once, in
 * order, what it missed; or it is *dead*, and whatever it still had to do never happens. Its clock
 * may be wrong by `skew` milliseconds, its timers are not.
 */
export class Lane implements Scheduler {
  skew = 0;
  pausedUntil = 0;
  isDead = false;
  /** Timers that have not fired. */
  pending = 0;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  now(): number {
    return epoch + Math.floor(this.#time.now + this.skew);
  }

  after(delay: number, callback: () => void): Timer {
    const entry = new Entry(this, this.#time, delay, callback);
    this.#time.add(entry, delay);
    return entry;
  }

  defer(callback: () => void): void {
    this.after(this.#time.moment(), callback);
  }

  uuid(): string {
    return this.#time.nextId();
  }

  sleep(delay: number): Promise<void> {
    return new Promise((resolve) => void this.after(delay, resolve));
  }

  pause(duration: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, this.#time.now + duration);
  }

  kill(): void {
    this.isDead = true;
  }
}

class Entry implements Timer {
  readonly lane: Lane;
  isPending = true;
  isQueued = false;
  /** Where it stands in the queue. */
  time = 0;
  order = 0;
  /** When it is to run, which may be later. */
  due = 0;
  readonly #world: VirtualTime;
  readonly #delay: number;
  readonly #callback: () => void;

  constructor(lane: Lane, world: VirtualTime, delay: number, callback: () => void) {
    this.lane = lane;
    this.#world = world;
    this.#delay = delay;
    this.#callback = callback;
    lane.pending += 1;
  }

  fire(): void {
    this.#settle();
    this.#callback();
  }

  cancel(): void {
    if (this.isPending) this.#settle();
  }

  restart(): void {
    if (!this.isPending) {
      this.isPending = true;
      this.lane.pending += 1;
    }
    // One that still stands in the queue is moved when its former time comes.
    if (this.isQueued) this.due = this.#world.now + this.#delay;
    else this.#world.add(this, this.#delay);
  }

  #settle(): void {
    this.isPending = false;
    this.lane.pending -= 1;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

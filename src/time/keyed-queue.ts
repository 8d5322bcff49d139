import { until } from './until.ts';

export interface KeyedQueueOptions {
  /** Work of one key at once. @default 1 */
  readonly perKey?: number;
  /** Work of all keys at once. @default Infinity */
  readonly total?: number;
}

export interface QueuedOptions {
  /** Ends the wait; work that has started continues. */
  readonly signal?: AbortSignal | undefined;
}

interface Key {
  readonly name: string;
  active: number;
  readonly waiting: Set<() => void>;
}

/**
 * Runs work of the same key in order and at most so much at once. Keys take turns, so that a slow
 * one holds up its own work and not that of others.
 * @example
 * const queue = new KeyedQueue();
 * void queue.run('task 1', first);
 * await queue.run('task 1', second); // starts when the first is over
 */
export class KeyedQueue {
  readonly #perKey: number;
  readonly #total: number;
  readonly #keys = new Map<string, Key>();
  /** Keys with work that only waits for `total`; the first is the next to start. */
  readonly #ready = new Set<Key>();
  #active = 0;
  #size = 0;
  readonly #idle = new Set<() => void>();

  constructor({ perKey = 1, total = Infinity }: KeyedQueueOptions = {}) {
    this.#perKey = perKey;
    this.#total = total;
  }

  /** Work that waits or runs. */
  get size(): number {
    return this.#size;
  }

  /** Rejects as the work does, or with the signal's reason where that aborts before the start. */
  async run<T>(key: string, work: () => Promise<T>, options?: QueuedOptions): Promise<T> {
    const release = await this.enter(key, options);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Waits like `run`, for work that is not a function; the returned function, called once, ends it. */
  async enter(name: string, { signal }: QueuedOptions = {}): Promise<() => void> {
    signal?.throwIfAborted();
    const key = this.#keys.get(name) ?? { name, active: 0, waiting: new Set() };
    this.#keys.set(name, key);
    this.#size += 1;
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    key.waiting.add(start);
    this.#look(key);
    try {
      await until(started, signal);
    } catch (error) {
      // Started and aborted in the same moment: the place is taken and has to be released.
      if (key.waiting.delete(start)) this.#leave(key);
      else this.#release(key);
      throw error;
    }
    return () => this.#release(key);
  }

  /** Resolves when nothing waits or runs. */
  async idle(): Promise<void> {
    while (this.#size > 0) await new Promise<void>((resolve) => void this.#idle.add(resolve));
  }

  #release(key: Key): void {
    key.active -= 1;
    this.#active -= 1;
    this.#leave(key);
  }

  #leave(key: Key): void {
    this.#size -= 1;
    if (key.active === 0 && key.waiting.size === 0) this.#keys.delete(key.name);
    this.#look(key);
    if (this.#size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  /** Starts what may start, after the work of a key changed. */
  #look(changed: Key): void {
    const isReady = changed.waiting.size > 0 && changed.active < this.#perKey;
    if (isReady) this.#ready.add(changed);
    else this.#ready.delete(changed);
    for (const key of this.#ready) {
      if (this.#active >= this.#total) return;
      const [start] = key.waiting;
      if (start === undefined) continue;
      key.waiting.delete(start);
      key.active += 1;
      this.#active += 1;
      // To the back of the line, unless it has nothing more to start.
      this.#ready.delete(key);
      if (key.waiting.size > 0 && key.active < this.#perKey) this.#ready.add(key);
      start();
    }
  }
}

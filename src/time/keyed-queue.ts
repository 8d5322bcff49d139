import { until } from './until.ts';

export interface KeyedQueueOptions {
  /** Maximum concurrency per key. @default 1 */
  readonly perKey?: number;
  /** Maximum concurrency over all keys. @default Infinity */
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
 * Runs the work of each key in order, with limited concurrency. Keys take turns, so slow work delays
 * only the work of its own key.
 * @example
 * const queue = new KeyedQueue();
 * void queue.run('task 1', first);
 * await queue.run('task 1', second); // starts when the first has ended
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

  /** Number of queued and running pieces of work. */
  get size(): number {
    return this.#size;
  }

  /**
   * Runs work in the queue of its key. Rejects with the error of the work, or with the signal's reason if
   * the signal aborts before the work starts.
   */
  async run<T>(key: string, work: () => Promise<T>, options?: QueuedOptions): Promise<T> {
    const release = await this.enter(key, options);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * Waits like `run`, for work that is not a function. The caller calls the returned function once, when
   * the work has ended.
   */
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
      // The work started and the signal aborted at once: the slot is taken and has to be released.
      if (key.waiting.delete(start)) this.#leave(key);
      else this.#release(key);
      throw error;
    }
    return () => this.#release(key);
  }

  /** Resolves when no work is queued or running. */
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

  /** Starts the work that the limits allow, after the work of a key changed. */
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
      // The key moves to the back of the line if it has more work to start.
      this.#ready.delete(key);
      if (key.waiting.size > 0 && key.active < this.#perKey) this.#ready.add(key);
      start();
    }
  }
}

import { performance } from 'node:perf_hooks';

/** Shorter spans tell nothing, in milliseconds. */
const spanMs = 20;

export interface LoadOptions {
  /** Milliseconds. @default the process's own */
  readonly now?: () => number;
  /** The part of the time since the last call in which the process was at work, from 0 to 1. */
  readonly utilization?: () => number;
}

/**
 * How busy the process is with requests, for work that can wait. A process that is busy without any
 * has nobody to make way for.
 */
export class Load {
  readonly #now: () => number;
  readonly #utilization: () => number;
  #requests = 0;
  #known = 0;
  #readAt: number;

  constructor(options: LoadOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#utilization = options.utilization ?? ofEventLoop();
    this.#readAt = this.#now();
  }

  /** A request came. */
  note(): void {
    this.#requests += 1;
  }

  /** From 0 to 1, since the last look. */
  read(): number {
    const now = this.#now();
    if (now - this.#readAt < spanMs) return this.#known;
    const utilization = this.#utilization();
    this.#known = this.#requests === 0 ? 0 : utilization;
    this.#readAt = now;
    this.#requests = 0;
    return this.#known;
  }
}

function ofEventLoop(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const current = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(current, before);
    before = current;
    return utilization;
  };
}

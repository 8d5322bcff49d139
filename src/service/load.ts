import { performance } from 'node:perf_hooks';

/** Shorter spans tell nothing, in milliseconds. */
const spanMs = 20;
/** From this part of the time on, the process is busy. */
const busyFrom = 0.5;
/** Requests that are worth one piece of work which can wait: a tenth of their effort or so. */
const requestsPerPiece = 20;

export interface LoadOptions {
  /** Milliseconds. @default the process's own */
  readonly now?: () => number;
  /** The part of the time since the last call in which the process was busy, from 0 to 1. */
  readonly utilization?: () => number;
}

/**
 * How much work that can wait may be done beside the requests of callers. A process that is busy
 * without any has no other caller to make way for.
 */
export class Load {
  readonly #now: () => number;
  readonly #utilization: () => number;
  #requests = 0;
  #isBusy = false;
  #lookedAt: number;

  constructor(options: LoadOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#utilization = options.utilization ?? ofEventLoop();
    this.#lookedAt = this.#now();
  }

  /** A request came. */
  note(): void {
    this.#requests += 1;
  }

  /**
   * Pieces of work that may start now; `Infinity` while the process is not busy. What was allowed and
   * not used does not add up.
   */
  allowance(): number {
    const now = this.#now();
    if (now - this.#lookedAt >= spanMs) {
      this.#isBusy = this.#utilization() >= busyFrom && this.#requests > 0;
      this.#lookedAt = now;
    }
    if (!this.#isBusy) {
      this.#requests = 0;
      return Infinity;
    }
    const pieces = Math.floor(this.#requests / requestsPerPiece);
    this.#requests -= pieces * requestsPerPiece;
    return pieces;
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

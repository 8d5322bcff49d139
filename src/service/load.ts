import { performance } from 'node:perf_hooks';

/** Shortest interval whose utilization is meaningful, in milliseconds. */
const spanMs = 20;
/** Utilization from which on the process counts as busy. */
const busyFrom = 0.5;
/** Requests for each deferrable piece of work, which costs about a tenth of them. */
const requestsPerPiece = 20;

export interface LoadOptions {
  /** Milliseconds. @default the process's own */
  readonly now?: () => number;
  /** The fraction of the time since the last call in which the process was busy, from 0 to 1. */
  readonly utilization?: () => number;
}

/**
 * Limits deferrable work while a busy process handles requests. A process that is busy without requests
 * has no limit: the work delays no caller.
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

  /** Counts a request. */
  note(): void {
    this.#requests += 1;
  }

  /**
   * Pieces of work that can start now; `Infinity` while the process is not busy. Unused allowance does
   * not accumulate.
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

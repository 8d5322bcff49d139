import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../telemetry/index.ts';
import type { AgentOutput } from './model.ts';

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export const pause: Sleep = async (milliseconds, signal) => {
  await delay(milliseconds, undefined, { signal });
};

const firstWaitMs = 500;
const longestWaitMs = 8_000;

/** Calls an agent again after errors that may pass, with growing waits; after the last it is fatal. */
export async function withRetries(
  attempt: () => Promise<AgentOutput>,
  options: {
    readonly agent: string;
    readonly retries: number;
    readonly sleep: Sleep;
    readonly signal: AbortSignal;
    readonly logger: Logger;
  },
): Promise<AgentOutput> {
  const { agent, retries, sleep, signal, logger } = options;
  for (let count = 0; ; count += 1) {
    const output = await attempt();
    if (output.status !== 'recoverable_error') return output;
    if (count >= retries) return { ...output, status: 'fatal_error' };
    const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** count);
    logger.warn(
      { agent, attempt: count + 1, waitMs, error: output.errorMessage },
      'sub_agent.retry',
    );
    await sleep(waitMs, signal);
  }
}

/** Work within a time of its own; `isOver` tells that it was the time that ended it. */
export class TimeLimit implements Disposable {
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  /** Seconds; undefined for no limit. */
  constructor(seconds: number | undefined, outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#own.signal]);
    if (seconds === undefined || seconds <= 0) return;
    this.#timer = setTimeout(
      () => this.#own.abort(new Error(`took longer than ${seconds} s`)),
      Math.min(seconds * 1000, 2 ** 31 - 1),
    );
  }

  get isOver(): boolean {
    return this.#own.signal.aborted;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Work that may not heed its signal: whoever waits for it does. */
export async function untilAborted<T>(work: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export { afterDelay, Deadline, sleep, type TimeLimit, until, waitAtMost, within } from './until.ts';
export { KeyedQueue } from './keyed-queue.ts';
export { backoff, repeat, retry, retryAfterMs } from './retry.ts';

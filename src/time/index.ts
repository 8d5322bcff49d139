export { Deadline, type DeadlineOptions, type TimeLimit } from './deadline.ts';
export { KeyedQueue } from './keyed-queue.ts';
export { repeat } from './repeat.ts';
export { backoff, retry, retryAfterMs } from './retry.ts';
export { sleep, until, waitAtMost, within } from './until.ts';

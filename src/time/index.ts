export { Deadline, type DeadlineOptions } from './deadline.ts';
export { sleep, until, within } from './until.ts';

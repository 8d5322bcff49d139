export { Deadline, type DeadlineOptions, type TimeLimit, type Timers } from './deadline.ts';
export { sleep, until, within } from './until.ts';

import { LegateError } from '../../protocol/index.ts';

/** Entries that one log can hold. Numbers of tasks and contexts up to 2^31 stay exact integers. */
const span = 2 ** 22;

/** The key of entry `sequence` (from 1) in the log of a task or context. */
export function entryKey(number: number, sequence: number): number {
  if (sequence >= span) {
    throw new LegateError(
      'INTERNAL',
      `a log is full: it cannot hold more than ${span - 1} entries; begin a new task or context`,
    );
  }
  return number * span + sequence;
}

/** Greater than every key of the log. */
export function lastKey(number: number): number {
  return (number + 1) * span - 1;
}

export function sequenceOf(key: number): number {
  return key % span;
}

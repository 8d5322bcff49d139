import { z } from 'zod';
import { isTerminal, type TaskState, taskStates } from '../protocol/index.ts';
import type { TaskQuery } from './contract.ts';

/**
 * The owner of everything that belongs to one caller of one agent. The encoding is unambiguous. ASCII
 * escapes replace characters that a database can't store (lone surrogates, NUL).
 * @example ownerKey({ agent: 'hello', tenant: '', subject: 'alice' }) // '["hello","","alice"]'
 */
export function ownerKey(parts: {
  readonly agent: string;
  readonly tenant: string;
  readonly subject: string;
}): string {
  return JSON.stringify([parts.agent, parts.tenant, parts.subject]);
}

const ownerParts = z.tuple([z.string(), z.string(), z.string()]);

/** Decodes an `ownerKey`. */
export function readOwnerKey(owner: string): Parameters<typeof ownerKey>[0] {
  const [agent, tenant, subject] = ownerParts.parse(JSON.parse(owner));
  return { agent, tenant, subject };
}

/** Combines an owner and a name into one unambiguous key. */
export function scoped(owner: string, name: string): string {
  return `${owner.length}:${owner}${name}`;
}

/** Orders text by code points, like databases that compare UTF-8 bytes; `<` orders by UTF-16 units. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates encode code points above every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * The first text, in the order of `compareText`, after all texts that start with `prefix`; undefined
 * for no bound.
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point < 0x10ffff) {
      const next = point + 1 === 0xd800 ? 0xe000 : point + 1;
      return points.join('') + String.fromCodePoint(next);
    }
  }
  return undefined;
}

/** The position of the first item, from `from`, for which `isBefore` is false in an ordered list. */
export function lowerBound<T>(
  ordered: readonly T[],
  isBefore: (item: T) => boolean,
  from = 0,
): number {
  let low = from;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = ordered[middle];
    if (item !== undefined && isBefore(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Task states in SQL are numbers, the same in every database. The table `task_states` maps them to
 * names. A test compares that table with this file.
 */
export function stateNumber(state: TaskState): number {
  return taskStates.indexOf(state);
}

export function stateOf(number: unknown): TaskState {
  if (number === SUPERSEDED) return 'TASK_STATE_INPUT_REQUIRED';
  return taskStates[Number(number)] ?? 'TASK_STATE_UNSPECIFIED';
}

/** The state number of a superseded task, which callers see as input-required. */
export const SUPERSEDED = 9;

/** The state number in the row of a task. */
export function rowState(task: {
  readonly state: TaskState;
  readonly isSuperseded: boolean;
}): number {
  return task.isSuperseded ? SUPERSEDED : stateNumber(task.state);
}

/** The state numbers that a list query matches. */
export function listedStates({ state, isOpen }: Pick<TaskQuery, 'state' | 'isOpen'>): number[] {
  const numbers = state === undefined ? taskStates.map((_, index) => index) : [stateNumber(state)];
  const asks = state === undefined || state === 'TASK_STATE_INPUT_REQUIRED';
  return asks && isOpen !== true ? [...numbers, SUPERSEDED] : numbers;
}

/** Counting the matches of a list stops here, which bounds the cost of a page. */
export const totalLimit = 10_000;

/** Whether a task counts as unfinished for the limit of contexts and for retention. */
export function isUnfinished(task: {
  readonly state: TaskState;
  readonly isSuperseded: boolean;
}): boolean {
  return !isTerminal(task.state) && !task.isSuperseded;
}

/** The rows of the table `task_states`. */
export const taskStateRows = [
  ...taskStates.map((name, number) => ({
    number,
    name,
    isTerminal: isTerminal(name),
  })),
  { number: SUPERSEDED, name: 'TASK_STATE_INPUT_REQUIRED, superseded', isTerminal: false },
];

/** For `state IN (...)`. */
export const terminalStates = taskStateRows
  .flatMap((row) => (row.isTerminal ? [row.number] : []))
  .join(', ');

/** For `state IN (...)`: tasks that count as ended for limits and retention. */
export const endedStates = `${terminalStates}, ${SUPERSEDED}`;

/** Whether a number of `task_states` is among `endedStates`. */
export function isEndedState(number: number): boolean {
  return number === SUPERSEDED || taskStateRows[number]?.isTerminal === true;
}

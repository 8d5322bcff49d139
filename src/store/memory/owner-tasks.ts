import { isTerminal, type TaskState } from '../../protocol/index.ts';
import type { TaskPage, TaskQuery } from '../contract.ts';
import { type TaskEntry, toRecord } from './task-entry.ts';

/** The tasks of one owner in one context that has several. */
class ContextTasks {
  readonly tasks: TaskEntry[];
  unfinished: number;

  constructor(first: TaskEntry) {
    this.tasks = [first];
    this.unfinished = isTerminal(first.state) ? 0 : 1;
  }
}

/**
 * The tasks of one owner, ordered by status time and id.
 *
 * A change of status appends a mention and leaves the former one behind as stale, so it costs the
 * same however many tasks there are. A list first sorts what was appended since the last list; time
 * goes forward, so that is a short piece at the end. Stale mentions are cleared out once they
 * outnumber the live ones.
 *
 * Tasks are many and live long, so that there are few objects beside them for the collector to visit:
 * a mention is a task and, at the same index, the time it was made for.
 */
export class OwnerTasks {
  #order: TaskEntry[] = [];
  #times: number[] = [];
  /** The mentions before this index are sorted. */
  #sorted = 0;
  #size = 0;
  readonly #states = new Map<TaskState, number>();
  /** Most contexts have one task. */
  readonly #contexts = new Map<string, TaskEntry | ContextTasks>();

  get size(): number {
    return this.#size;
  }

  /** True when the context had no unfinished task before. */
  add(task: TaskEntry): boolean {
    this.#size += 1;
    this.#count(task.state, 1);
    this.#mention(task);
    const unfinished = isTerminal(task.state) ? 0 : 1;
    const known = this.#contexts.get(task.contextId);
    if (known === undefined) {
      this.#contexts.set(task.contextId, task);
      return unfinished === 1;
    }
    const context = known instanceof ContextTasks ? known : new ContextTasks(known);
    this.#contexts.set(task.contextId, context);
    context.tasks.push(task);
    context.unfinished += unfinished;
    return unfinished === 1 && context.unfinished === 1;
  }

  /** True when the context thereby lost its last unfinished task. */
  setStatus(task: TaskEntry, state: TaskState, statusTime: number): boolean {
    const ends = isTerminal(state) && !isTerminal(task.state);
    if (state !== task.state) {
      this.#count(task.state, -1);
      this.#count(state, 1);
      task.state = state;
    }
    if (statusTime !== task.statusTime) {
      task.statusTime = statusTime;
      this.#mention(task);
    }
    return ends && this.#finish(task);
  }

  /** True when the context thereby lost its last unfinished task. */
  remove(task: TaskEntry): boolean {
    this.#size -= 1;
    this.#count(task.state, -1);
    task.position = -1;
    this.#clear();
    const freed = !isTerminal(task.state) && this.#finish(task);
    const context = this.#contexts.get(task.contextId);
    if (context instanceof ContextTasks && context.tasks.length > 1) {
      context.tasks.splice(context.tasks.indexOf(task), 1);
    } else this.#contexts.delete(task.contextId);
    return freed;
  }

  hasUnfinished(contextId: string): boolean {
    const context = this.#contexts.get(contextId);
    if (context === undefined) return false;
    return context instanceof ContextTasks ? context.unfinished > 0 : !isTerminal(context.state);
  }

  page(query: TaskQuery): TaskPage {
    const { contextId, limit } = query;
    if (contextId !== undefined) {
      const context = this.#contexts.get(contextId);
      const tasks =
        context instanceof ContextTasks ? context.tasks.toSorted(compare).reverse() : [context];
      return this.#collect(
        tasks.filter((task) => task !== undefined),
        query,
        undefined,
        limit,
      );
    }
    this.#sort();
    // Without a time the counters know the total, and the walk ends with the page.
    const total =
      query.statusTimeFrom !== undefined
        ? undefined
        : query.state === undefined
          ? this.#size
          : (this.#states.get(query.state) ?? 0);
    return this.#collect(
      this.#newestFirst(total === undefined ? undefined : query),
      query,
      total,
      limit,
    );
  }

  #collect(
    tasks: Iterable<TaskEntry>,
    query: TaskQuery,
    knownTotal: number | undefined,
    limit: number,
  ): TaskPage {
    const found: TaskEntry[] = [];
    let matches = 0;
    let more = false;
    for (const task of tasks) {
      // Newest first: whatever follows is older still.
      if (query.statusTimeFrom !== undefined && task.statusTime < query.statusTimeFrom) break;
      if (query.state !== undefined && task.state !== query.state) continue;
      matches += 1;
      if (query.after !== undefined && !isBefore(task, query.after)) continue;
      if (found.length < limit) found.push(task);
      else more = true;
      if (more && knownTotal !== undefined) break;
    }
    return { records: found.map(toRecord), total: knownTotal ?? matches, more };
  }

  /** Begins near the cursor, where one is given. */
  *#newestFirst(query: TaskQuery | undefined): Generator<TaskEntry> {
    let index = this.#order.length - 1;
    if (query?.after !== undefined) {
      let low = 0;
      let high = this.#order.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((this.#times[middle] ?? 0) <= query.after.statusTime) low = middle + 1;
        else high = middle;
      }
      index = low - 1;
    }
    for (; index >= 0; index -= 1) {
      const task = this.#order[index];
      if (task?.position === index) yield task;
    }
  }

  #mention(task: TaskEntry): void {
    this.#append(task);
    this.#clear();
  }

  #append(task: TaskEntry): void {
    task.position = this.#order.length;
    this.#order.push(task);
    this.#times.push(task.statusTime);
  }

  #finish(task: TaskEntry): boolean {
    const context = this.#contexts.get(task.contextId);
    if (!(context instanceof ContextTasks)) return context !== undefined;
    context.unfinished -= 1;
    return context.unfinished === 0;
  }

  #sort(): void {
    let from = this.#sorted;
    const order = this.#order;
    const times = this.#times;
    if (from === order.length) return;
    let earliest = Infinity;
    for (let index = from; index < order.length; index += 1) {
      earliest = Math.min(earliest, times[index] ?? Infinity);
    }
    while (from > 0 && (times[from - 1] ?? 0) >= earliest) from -= 1;
    const tail = order.slice(from).filter((task, index) => task.position === from + index);
    tail.sort(compare);
    order.length = from;
    times.length = from;
    for (const task of tail) this.#append(task);
    this.#sorted = order.length;
  }

  #clear(): void {
    if (this.#order.length < 64 || this.#order.length < this.#size * 2) return;
    const live = this.#order.filter((task, index) => task.position === index);
    let sorted = 0;
    for (const [index, task] of live.entries()) {
      if (task.position < this.#sorted) sorted = index + 1;
      task.position = index;
    }
    this.#order = live;
    this.#times = live.map(({ statusTime }) => statusTime);
    this.#sorted = sorted;
  }

  #count(state: TaskState, by: number): void {
    this.#states.set(state, (this.#states.get(state) ?? 0) + by);
  }
}

/** Oldest first. */
export function compare(a: TaskEntry, b: TaskEntry): number {
  return a.statusTime - b.statusTime || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** Whether a list, which begins with the newest, shows the task after the cursor. */
export function isBefore(task: TaskEntry, cursor: { statusTime: number; id: string }): boolean {
  return (
    task.statusTime < cursor.statusTime ||
    (task.statusTime === cursor.statusTime && task.id < cursor.id)
  );
}

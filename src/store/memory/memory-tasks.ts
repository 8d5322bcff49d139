import { isTerminal, LegateError, type TaskState } from '../../protocol/index.ts';
import type { Admission, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import type { OpenContexts } from '../open-contexts.ts';
import type { TaskRow } from '../tables.ts';
import type { MemoryEvents } from './memory-tables.ts';

/** Where a task stands in a list. */
type Place = Pick<TaskRow, 'statusTime' | 'id'>;

/** Tasks by id, and those of each owner in the order of a list: oldest first, so that new ones come last. */
export class MemoryTasks {
  readonly #tasks = new Map<string, TaskRow>();
  readonly #owners = new Map<string, TaskRow[]>();
  readonly #events: MemoryEvents;
  readonly #openContexts: OpenContexts;
  readonly #hasPending: (task: TaskRow) => boolean;
  #last = 0;

  constructor(options: {
    readonly events: MemoryEvents;
    readonly openContexts: OpenContexts;
    /** Whether something is owed to the webhooks of a task. */
    readonly hasPending: (task: TaskRow) => boolean;
  }) {
    this.#events = options.events;
    this.#openContexts = options.openContexts;
    this.#hasPending = options.hasPending;
  }

  unfinished(): Iterable<TaskRow> {
    return this.#tasks.values().filter(({ state }) => !isTerminal(state));
  }

  find(id: string): TaskRow | undefined {
    return this.#tasks.get(id);
  }

  insert({ taskId, agent, owner, contextId, now }: Admission, state: TaskState): TaskRow {
    if (this.#tasks.has(taskId)) {
      throw new LegateError('INTERNAL', `task ${taskId} exists already`);
    }
    const row: TaskRow = {
      number: (this.#last += 1),
      id: taskId,
      agent,
      owner,
      contextId,
      state,
      statusTime: now,
      version: 1,
      cancelRequested: false,
      pushConfigs: 0,
    };
    this.#tasks.set(taskId, row);
    this.#place(row);
    if (!isTerminal(state)) this.#openContexts.add(row);
    return row;
  }

  advance(row: TaskRow, version: number, state: TaskState, statusTime: number): void {
    if (isTerminal(state) && !isTerminal(row.state)) this.#openContexts.remove(row);
    row.version = version;
    row.state = state;
    if (statusTime === row.statusTime) return;
    this.#displace(row);
    row.statusTime = statusTime;
    this.#place(row);
  }

  requestCancel(row: TaskRow): void {
    row.cancelRequested = true;
  }

  delete(row: TaskRow): void {
    this.#tasks.delete(row.id);
    this.#displace(row);
    if (!isTerminal(row.state)) this.#openContexts.remove(row);
  }

  over(before: number, limit: number): TaskRow[] {
    const isOver = (row: TaskRow): boolean =>
      isTerminal(row.state) && row.statusTime < before && !this.#hasPending(row);
    return this.#tasks.values().filter(isOver).take(limit).toArray();
  }

  load(taskId: string): TaskRecord | undefined {
    const row = this.#tasks.get(taskId);
    return row && this.#toRecord(row);
  }

  page(query: TaskQuery): TaskPage {
    const { owner, contextId, state, statusTimeFrom = -Infinity, after, limit } = query;
    const ordered =
      owner === undefined
        ? [...this.#tasks.values()].sort(compare)
        : (this.#owners.get(owner) ?? []);
    const matches = ordered.filter(
      (row) =>
        row.statusTime >= statusTimeFrom &&
        (contextId === undefined || row.contextId === contextId) &&
        (state === undefined || row.state === state),
    );
    const end = after === undefined ? matches.length : indexOf(matches, after);
    const rows = matches.slice(Math.max(0, end - limit), end).reverse();
    return {
      records: rows.map((row) => this.#toRecord(row)),
      total: matches.length,
      more: end > limit,
    };
  }

  #toRecord(row: TaskRow): TaskRecord {
    const { number, agent: _, pushConfigs, ...fields } = row;
    const snapshot = this.#events.snapshotOf(number);
    const tail = row.version - snapshot.version;
    return {
      ...fields,
      hasPush: pushConfigs > 0,
      snapshot,
      tail: tail === 0 ? [] : this.#events.read(number, snapshot.version, tail),
    };
  }

  #place(row: TaskRow): void {
    const order = this.#owners.get(row.owner);
    if (order === undefined) this.#owners.set(row.owner, [row]);
    else order.splice(indexOf(order, row), 0, row);
  }

  #displace(row: TaskRow): void {
    const order = this.#owners.get(row.owner) ?? [];
    order.splice(indexOf(order, row), 1);
    if (order.length === 0) this.#owners.delete(row.owner);
  }
}

/** The index of the first task that is not before a place. */
function indexOf(order: readonly TaskRow[], place: Place): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = order[middle];
    if (row !== undefined && compare(row, place) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: Place, b: Place): number {
  return a.statusTime - b.statusTime || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

import { LegateError, type TaskState } from '../../protocol/index.ts';
import type { Admission, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { isUnfinished, lowerBound } from '../encoding.ts';
import type { OpenContexts } from '../open-contexts.ts';
import { newTaskRow, type TaskRow } from '../tables.ts';
import type { MemoryEvents, MemoryTask, OwnedTasks } from './memory-task.ts';

/** The position of a task in a list. */
type Cursor = Pick<TaskRow, 'statusTime' | 'id'>;

/**
 * Tasks by id, and in list order: oldest first, so that new tasks are appended. A page costs a binary
 * search and its own length, unless `page` has to filter.
 */
export class MemoryTasks {
  readonly #tasks = new Map<string, MemoryTask>();
  readonly #all: MemoryTask[] = [];
  readonly #owners = new Map<string, OwnedTasks>();
  readonly #events: MemoryEvents;
  readonly #openContexts: OpenContexts;
  readonly #hasPending: (task: MemoryTask) => boolean;
  #last = 0;

  constructor(options: {
    readonly events: MemoryEvents;
    readonly openContexts: OpenContexts;
    /** Whether a delivery of a task is pending. */
    readonly hasPending: (task: MemoryTask) => boolean;
  }) {
    this.#events = options.events;
    this.#openContexts = options.openContexts;
    this.#hasPending = options.hasPending;
  }

  unfinished(): Iterable<MemoryTask> {
    return this.#tasks.values().filter(isUnfinished);
  }

  find(id: string): MemoryTask | undefined {
    return this.#tasks.get(id);
  }

  insert(admission: Admission, state: TaskState): MemoryTask {
    const { taskId, owner, contextId } = admission;
    if (this.#tasks.has(taskId)) {
      throw new LegateError('INTERNAL', `task ${taskId} exists already`);
    }
    const owned = this.#ownedBy(owner);
    const row: MemoryTask = {
      ...newTaskRow((this.#last += 1), admission, state),
      owned,
      siblings: listIn(owned.byContext, contextId),
      log: [],
      snapshot: '',
      snapshotVersion: 0,
    };
    this.#tasks.set(taskId, row);
    this.#list(row);
    if (isUnfinished(row)) this.#openContexts.add(row);
    return row;
  }

  advance(
    row: MemoryTask,
    to: Pick<TaskRow, 'version' | 'state' | 'statusTime' | 'isSuperseded'>,
  ): void {
    const { version, state, statusTime, isSuperseded } = to;
    const wasUnfinished = isUnfinished(row);
    const isMoved = statusTime !== row.statusTime || state !== row.state;
    if (isMoved) this.#unlist(row);
    row.version = version;
    row.state = state;
    row.statusTime = statusTime;
    row.isSuperseded = isSuperseded;
    if (isMoved) this.#list(row);
    if (wasUnfinished !== isUnfinished(row)) {
      if (wasUnfinished) this.#openContexts.remove(row);
      else this.#openContexts.add(row);
    }
  }

  requestCancel(row: MemoryTask): void {
    row.cancelRequested = true;
  }

  delete(row: MemoryTask): void {
    const { owned, siblings } = row;
    this.#tasks.delete(row.id);
    this.#unlist(row);
    if (siblings.length === 0) owned.byContext.delete(row.contextId);
    if (owned.all.length === 0) this.#owners.delete(row.owner);
    if (isUnfinished(row)) this.#openContexts.remove(row);
  }

  expired(before: number, limit: number): MemoryTask[] {
    const isOver = (row: MemoryTask): boolean =>
      !isUnfinished(row) && row.statusTime < before && !this.#hasPending(row);
    return this.#tasks.values().filter(isOver).take(limit).toArray();
  }

  load(taskId: string): TaskRecord | undefined {
    const row = this.#tasks.get(taskId);
    return row && this.#toRecord(row);
  }

  page(query: TaskQuery): TaskPage {
    const { statusTimeFrom, after, limit } = query;
    const { index, filter } = this.#indexFor(query);
    const start =
      statusTimeFrom === undefined ? 0 : search(index, { statusTime: statusTimeFrom, id: '' });
    const matches = filter === undefined ? index : index.slice(start).filter(filter);
    const first = filter === undefined ? start : 0;
    const end = after === undefined ? matches.length : search(matches, after);
    const rows = matches.slice(Math.max(first, end - limit), Math.max(first, end)).reverse();
    return {
      records: rows.map((row) => this.#toRecord(row)),
      total: matches.length - first,
      more: end - first > limit,
    };
  }

  /** The narrowest list for a query, and a filter for the remaining conditions. */
  #indexFor({ owner, contextId, state, isOpen }: TaskQuery): {
    readonly index: readonly MemoryTask[];
    readonly filter?: (row: MemoryTask) => boolean;
  } {
    const isListed = (row: MemoryTask): boolean =>
      (contextId ?? row.contextId) === row.contextId &&
      (state ?? row.state) === row.state &&
      (isOpen !== true || !row.isSuperseded);
    if (owner === undefined) {
      if (contextId === undefined && state === undefined && isOpen !== true) {
        return { index: this.#all };
      }
      return { index: this.#all, filter: isListed };
    }
    const owned = this.#owners.get(owner);
    if (owned === undefined) return { index: [] };
    if (contextId === undefined) {
      const index = state === undefined ? owned.all : (owned.byState.get(state) ?? []);
      return { index, ...(isOpen === true && { filter: isListed }) };
    }
    // A context has few tasks.
    return {
      index: owned.byContext.get(contextId) ?? [],
      ...((state !== undefined || isOpen === true) && { filter: isListed }),
    };
  }

  #toRecord(row: MemoryTask): TaskRecord {
    const { id, owner, contextId, state, statusTime, version } = row;
    const { cancelRequested, isSuperseded, pushConfigs } = row;
    const snapshot = this.#events.snapshotOf(row);
    const tail = version - snapshot.version;
    return {
      id,
      owner,
      contextId,
      state,
      statusTime,
      version,
      cancelRequested,
      isSuperseded,
      hasPush: pushConfigs > 0,
      snapshot,
      tail: tail === 0 ? [] : this.#events.read(row, snapshot.version, tail),
    };
  }

  #ownedBy(owner: string): OwnedTasks {
    let owned = this.#owners.get(owner);
    if (owned === undefined) {
      owned = { all: [], byState: new Map(), byContext: new Map() };
      this.#owners.set(owner, owned);
    }
    return owned;
  }

  #list(row: MemoryTask): void {
    insertInOrder(this.#all, row);
    insertInOrder(row.owned.all, row);
    insertInOrder(listIn(row.owned.byState, row.state), row);
    insertInOrder(row.siblings, row);
  }

  /** Keeps empty lists, because callers usually list the task again. */
  #unlist(row: MemoryTask): void {
    removeInOrder(this.#all, row);
    removeInOrder(row.owned.all, row);
    removeInOrder(listIn(row.owned.byState, row.state), row);
    removeInOrder(row.siblings, row);
  }
}

function listIn<K>(lists: Map<K, MemoryTask[]>, key: K): MemoryTask[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}

function insertInOrder(list: MemoryTask[], row: MemoryTask): void {
  const last = list.at(-1);
  // A task that changes now is the latest, so almost every row is appended.
  if (last === undefined || isBefore(last, row)) list.push(row);
  else list.splice(search(list, row), 0, row);
}

function removeInOrder(list: MemoryTask[], row: MemoryTask): void {
  list.splice(search(list, row), 1);
}

/**
 * The position of the first task that is not before a cursor. Searches from the end, because the latest
 * tasks change most.
 */
function search(index: readonly MemoryTask[], cursor: Cursor): number {
  let span = 1;
  for (let row = index.at(-1); row !== undefined && !isBefore(row, cursor); row = index.at(-span)) {
    span *= 2;
  }
  return lowerBound(index, (row) => isBefore(row, cursor), Math.max(0, index.length - span));
}

function isBefore({ statusTime, id }: Cursor, other: Cursor): boolean {
  return statusTime === other.statusTime ? id < other.id : statusTime < other.statusTime;
}

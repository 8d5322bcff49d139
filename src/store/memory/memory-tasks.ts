import { LegateError, type TaskState } from '../../protocol/index.ts';
import type { Admission, TaskPage, TaskQuery, TaskRecord } from '../contract.ts';
import { isUnfinished, lowerBound } from '../encoding.ts';
import type { OpenContexts } from '../open-contexts.ts';
import { newTaskRow, type TaskRow } from '../tables.ts';
import type { MemoryEvents } from './memory-tables.ts';

/** The position of a task in a list. */
type Cursor = Pick<TaskRow, 'statusTime' | 'id'>;

/** The tasks of one owner, each list in the order of `list`, but oldest first. */
interface OwnedTasks {
  readonly all: TaskRow[];
  /**
   * Emptied lists stay: a key that leaves and enters a Map again and again lengthens its chain in
   * there until the whole Map is copied.
   */
  readonly byState: Map<TaskState, TaskRow[]>;
  readonly byContext: Map<string, TaskRow[]>;
}

/**
 * Tasks by id, and in the order of lists: oldest first, so that new tasks are appended. A page costs
 * a binary search and its own length, except where `page` has to filter.
 */
export class MemoryTasks {
  readonly #tasks = new Map<string, TaskRow>();
  readonly #all: TaskRow[] = [];
  readonly #owners = new Map<string, OwnedTasks>();
  readonly #events: MemoryEvents;
  readonly #openContexts: OpenContexts;
  readonly #hasPending: (task: TaskRow) => boolean;
  #last = 0;

  constructor(options: {
    readonly events: MemoryEvents;
    readonly openContexts: OpenContexts;
    /** Whether a delivery of a task is pending. */
    readonly hasPending: (task: TaskRow) => boolean;
  }) {
    this.#events = options.events;
    this.#openContexts = options.openContexts;
    this.#hasPending = options.hasPending;
  }

  unfinished(): Iterable<TaskRow> {
    return this.#tasks.values().filter(isUnfinished);
  }

  find(id: string): TaskRow | undefined {
    return this.#tasks.get(id);
  }

  insert(admission: Admission, state: TaskState): TaskRow {
    const { taskId } = admission;
    if (this.#tasks.has(taskId)) {
      throw new LegateError('INTERNAL', `task ${taskId} exists already`);
    }
    const row = newTaskRow((this.#last += 1), admission, state);
    this.#tasks.set(taskId, row);
    this.#addToIndexes(row);
    if (isUnfinished(row)) this.#openContexts.add(row);
    return row;
  }

  advance(
    row: TaskRow,
    to: Pick<TaskRow, 'version' | 'state' | 'statusTime' | 'isSuperseded'>,
  ): void {
    const { state, statusTime } = to;
    const wasUnfinished = isUnfinished(row);
    const isMoved = statusTime !== row.statusTime || state !== row.state;
    if (isMoved) this.#removeFromIndexes(row);
    Object.assign(row, to);
    if (isMoved) this.#addToIndexes(row);
    if (wasUnfinished !== isUnfinished(row)) {
      if (wasUnfinished) this.#openContexts.remove(row);
      else this.#openContexts.add(row);
    }
  }

  requestCancel(row: TaskRow): void {
    row.cancelRequested = true;
  }

  delete(row: TaskRow): void {
    this.#tasks.delete(row.id);
    this.#removeFromIndexes(row);
    if (isUnfinished(row)) this.#openContexts.remove(row);
  }

  expired(before: number, limit: number): TaskRow[] {
    const isOver = (row: TaskRow): boolean =>
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

  /** The narrowest list for a query, and what it doesn't cover. */
  #indexFor({ owner, contextId, state, isOpen }: TaskQuery): {
    readonly index: readonly TaskRow[];
    readonly filter?: (row: TaskRow) => boolean;
  } {
    const isListed = (row: TaskRow): boolean =>
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

  #toRecord(row: TaskRow): TaskRecord {
    const { number: _number, agent: _agent, pushConfigs, ...fields } = row;
    const snapshot = this.#events.snapshotOf(row);
    const tail = row.version - snapshot.version;
    return {
      ...fields,
      hasPush: pushConfigs > 0,
      snapshot,
      tail: tail === 0 ? [] : this.#events.read(row, snapshot.version, tail),
    };
  }

  #addToIndexes(row: TaskRow): void {
    let owned = this.#owners.get(row.owner);
    if (owned === undefined) {
      owned = { all: [], byState: new Map(), byContext: new Map() };
      this.#owners.set(row.owner, owned);
    }
    insertInOrder(this.#all, row);
    insertInOrder(owned.all, row);
    insertInOrder(listIn(owned.byState, row.state), row);
    insertInOrder(listIn(owned.byContext, row.contextId), row);
  }

  #removeFromIndexes(row: TaskRow): void {
    removeInOrder(this.#all, row);
    const owned = this.#owners.get(row.owner);
    if (owned === undefined) return;
    removeInOrder(owned.all, row);
    removeInOrder(owned.byState.get(row.state), row);
    const ofContext = owned.byContext.get(row.contextId);
    removeInOrder(ofContext, row);
    if (ofContext?.length === 0) owned.byContext.delete(row.contextId);
    if (owned.all.length === 0) this.#owners.delete(row.owner);
  }
}

function listIn<K>(lists: Map<K, TaskRow[]>, key: K): TaskRow[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}

function insertInOrder(list: TaskRow[], row: TaskRow): void {
  const last = list.at(-1);
  // A task that changes now is the latest: almost every row is appended.
  if (last === undefined || isBefore(last, row)) list.push(row);
  else list.splice(search(list, row), 0, row);
}

function removeInOrder(list: TaskRow[] | undefined, row: TaskRow): void {
  list?.splice(search(list, row), 1);
}

/** The position of the first task that is not before a cursor. */
function search(index: readonly TaskRow[], cursor: Cursor): number {
  return lowerBound(index, (row) => isBefore(row, cursor));
}

function isBefore({ statusTime, id }: Cursor, other: Cursor): boolean {
  return statusTime === other.statusTime ? id < other.id : statusTime < other.statusTime;
}

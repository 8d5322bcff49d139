import type { Store } from './contract.ts';
import type { Leases } from './local-store.ts';

type TakeOver = Parameters<Store['takeOver']>[0];

/** A turn that has not ended. */
export interface OpenTurn {
  readonly id: number;
  readonly agent: string;
  readonly key: string;
  readonly taskId: string;
  attempt: number;
  /** The replica that runs the turn; undefined while it is queued. */
  replica: string | undefined;
}

/**
 * The open turns of a store, by id, by key and by task.
 *
 * - **queued**: waits behind the turns of its key that were admitted before it.
 * - **running**: has a replica. Only the first turn of a key ever runs, so a key is idle exactly
 *   when its first turn is queued.
 * - **ended**: removed.
 */
export class TurnQueue<T extends OpenTurn = OpenTurn> {
  readonly #turns = new Map<number, T>();
  readonly #byKey = new Map<string, T[]>();
  readonly #byTask = new Map<string, T[]>();

  get(id: number): T | undefined {
    return this.#turns.get(id);
  }

  /** Turns must be added in the order of their ids. */
  add(turn: T): void {
    this.#turns.set(turn.id, turn);
    push(this.#byKey, turn.key, turn);
    push(this.#byTask, turn.taskId, turn);
  }

  isBusy(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** The turn of a key that runs or runs next. */
  head(key: string): T | undefined {
    return this.#byKey.get(key)?.[0];
  }

  ofKey(key: string): readonly T[] {
    return this.#byKey.get(key) ?? [];
  }

  ofTask(taskId: string): readonly T[] {
    return this.#byTask.get(taskId) ?? [];
  }

  end(turn: T): void {
    this.#turns.delete(turn.id);
    remove(this.#byKey, turn.key, turn);
    remove(this.#byTask, turn.taskId, turn);
  }

  /** The first turn of each key that no live replica runs. */
  abandoned(query: TakeOver, leases: Leases): T[] {
    const inFlight = query.inFlight && new Set(query.inFlight);
    const isAbandoned = ({ replica, key }: T): boolean => {
      if (replica === undefined) return true;
      if (replica === query.replica) return inFlight?.has(key) === false;
      return !leases.isAlive(replica, query.sparesExpired);
    };
    const found: T[] = [];
    for (const [turn] of this.#byKey.values()) {
      if (turn?.agent === query.agent && isAbandoned(turn)) found.push(turn);
    }
    return found.sort((a, b) => a.id - b.id).slice(0, query.limit);
  }

  /** The number of queued turns of an agent. */
  queuedOf(agent: string): number {
    let count = 0;
    for (const turn of this.#turns.values()) {
      if (turn.agent === agent && turn.replica === undefined) count += 1;
    }
    return count;
  }

  /** The tasks with a turn that runs under a replica. */
  tasksOf(replica: string): ReadonlySet<string> {
    const found = new Set<string>();
    for (const turn of this.#turns.values()) if (turn.replica === replica) found.add(turn.taskId);
    return found;
  }
}

/** The attempt of a turn that a replica takes over: an attempt on another replica has failed. */
export function attemptOf(turn: OpenTurn, replica: string): number {
  const ranElsewhere = turn.replica !== undefined && turn.replica !== replica;
  return ranElsewhere ? turn.attempt + 1 : turn.attempt;
}

function push<T>(map: Map<string, T[]>, key: string, item: T): void {
  const items = map.get(key);
  if (items === undefined) map.set(key, [item]);
  else items.push(item);
}

function remove<T>(map: Map<string, T[]>, key: string, item: T): void {
  const items = map.get(key);
  if (items === undefined) return;
  if (items.length === 1) map.delete(key);
  else items.splice(items.indexOf(item), 1);
}

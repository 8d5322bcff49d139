import { Json, type JsonValue, type Message } from '../../protocol/index.ts';
import type {
  ContextPosition,
  ContextQuery,
  ContextRecord,
  ContextWrite,
  Dedupe,
  ListedContext,
  StoreClock,
  TurnRecord,
} from '../contract.ts';
import { OpenContexts, retentionBucket } from '../open-contexts.ts';
import { scoped } from '../encoding.ts';
import type { KnownMessage, Tables, TaskRow } from '../tables.ts';
import { type OpenTurn, TurnQueue } from '../turn-queue.ts';
import { MemoryPush } from './memory-push.ts';
import { MemoryRecords } from './memory-records.ts';
import { MemoryEvents, type MemoryTask } from './memory-task.ts';
import { MemoryTasks } from './memory-tasks.ts';
import { MemoryVectors } from './memory-vectors.ts';

/** The tables of memory stores. Every operation is synchronous, which makes it a transaction. */
export class MemoryTables implements Tables {
  readonly events = new MemoryEvents();
  readonly turns = new MemoryTurns();
  readonly messages = new MemoryMessages(this.turns.open);
  readonly records: MemoryRecords;
  readonly vectors = new MemoryVectors();
  readonly openContexts = new OpenContexts(() => this.tasks.unfinished());
  readonly contexts = new MemoryContexts(this.openContexts);
  readonly push: MemoryPush;
  readonly tasks: MemoryTasks;
  readonly list: MemoryTasks;

  constructor(clock: StoreClock) {
    const { events, openContexts } = this;
    this.records = new MemoryRecords(clock);
    const hasPending = (task: TaskRow): boolean => this.push.hasPending(task);
    this.tasks = new MemoryTasks({ events, openContexts, hasPending });
    this.list = this.tasks;
    this.push = new MemoryPush(this.tasks, clock);
  }

  remove(task: MemoryTask): void {
    this.push.forget(task);
    this.tasks.delete(task);
  }
}

interface MemoryTurn extends OpenTurn {
  readonly request: Json<JsonValue>;
}

class MemoryTurns {
  readonly open = new TurnQueue<MemoryTurn>();
  #last = 0;

  nextId(): number {
    return (this.#last += 1);
  }

  insert(turn: OpenTurn, request: Json<JsonValue>): void {
    this.open.add({ ...turn, request });
  }

  run(turn: MemoryTurn, replica: string, attempt: number): TurnRecord {
    turn.replica = replica;
    turn.attempt = attempt;
    const { id, key, taskId, request } = turn;
    return { id, key, taskId, attempt, request };
  }

  release(turn: OpenTurn, attempt: number): void {
    turn.replica = undefined;
    turn.attempt = attempt;
  }

  end(turn: MemoryTurn): void {
    this.open.end(turn);
  }
}

/** Messages by owner and key, and by the turn they started. */
class MemoryMessages {
  readonly #turns: TurnQueue;
  readonly #byName = new Map<string, KnownMessage>();
  readonly #byTurn = new Map<number, { readonly name: string; message: KnownMessage }>();

  constructor(turns: TurnQueue) {
    this.#turns = turns;
  }

  find(owner: string, key: string): KnownMessage | undefined {
    return this.#byName.get(scoped(owner, key));
  }

  ofTurn(turnId: number): KnownMessage | undefined {
    return this.#byTurn.get(turnId)?.message;
  }

  insert(turnId: number, owner: string, dedupe: Dedupe, taskId: string): void {
    const { key, digest, expiresAt } = dedupe;
    this.#set(scoped(owner, key), { turnId, digest, expiresAt, taskId, reply: undefined });
  }

  setReply(turnId: number, reply: Json<Message>): void {
    const known = this.#byTurn.get(turnId);
    if (known !== undefined) this.#set(known.name, { ...known.message, reply });
  }

  delete(turnId: number): void {
    const known = this.#byTurn.get(turnId);
    if (known === undefined) return;
    this.#byName.delete(known.name);
    this.#byTurn.delete(turnId);
  }

  sweep(now: number, limit: number): number {
    const over = this.#byName
      .values()
      .filter(({ expiresAt, turnId }) => expiresAt <= now && this.#turns.get(turnId) === undefined)
      .take(limit)
      .toArray();
    for (const { turnId } of over) this.delete(turnId);
    return over.length;
  }

  #set(name: string, message: KnownMessage): void {
    this.#byName.set(name, message);
    this.#byTurn.set(message.turnId, { name, message });
  }
}

interface ContextEntry {
  readonly owner: string;
  readonly contextId: string;
  value: Json<JsonValue> | undefined;
  readonly log: Json<JsonValue>[];
  retentionBucket: number;
  readonly number: number;
}

/** The context states of agents. */
class MemoryContexts {
  readonly #contexts = new Map<string, ContextEntry>();
  readonly #open: OpenContexts;
  #count = 0;

  constructor(open: OpenContexts) {
    this.#open = open;
  }

  read(owner: string, contextId: string): ContextRecord | undefined {
    const entry = this.#contexts.get(scoped(owner, contextId));
    return entry && { value: entry.value, logLength: entry.log.length };
  }

  readLog(owner: string, contextId: string, last?: number): readonly Json<JsonValue>[] {
    const log = this.#contexts.get(scoped(owner, contextId))?.log ?? [];
    return log.slice(last === undefined ? 0 : Math.max(0, log.length - last));
  }

  list({ contextId: wanted, after, limit }: ContextQuery): readonly ListedContext[] {
    return this.#contexts
      .values()
      .flatMap(({ owner, contextId, number, retentionBucket }) =>
        wanted === undefined || contextId === wanted
          ? [{ owner, contextId, number, retentionBucket }]
          : [],
      )
      .filter((listed) => after === undefined || latestFirst(after, listed) < 0)
      .toArray()
      .sort(latestFirst)
      .slice(0, limit);
  }

  write({ owner, contextId, value, log = [] }: ContextWrite, now: number): void {
    const name = scoped(owner, contextId);
    let entry = this.#contexts.get(name);
    if (entry === undefined) {
      this.#count += 1;
      const number = this.#count;
      entry = { owner, contextId, value: undefined, log: [], retentionBucket: 0, number };
      this.#contexts.set(name, entry);
    }
    entry.value = value ?? entry.value;
    for (const item of log) entry.log.push(item);
    entry.retentionBucket = retentionBucket(now);
  }

  delete(owner: string, contextId: string): boolean {
    return this.#contexts.delete(scoped(owner, contextId));
  }

  sweep(before: number, limit: number): number {
    const over = this.#contexts
      .values()
      .filter(({ retentionBucket: until }) => until <= before)
      .filter(({ owner, contextId }) => !this.#open.has(owner, contextId))
      .toArray()
      .sort((a, b) => a.retentionBucket - b.retentionBucket)
      .slice(0, limit);
    for (const { owner, contextId } of over) this.delete(owner, contextId);
    return over.length;
  }
}

function latestFirst(one: ContextPosition, other: ContextPosition): number {
  return other.retentionBucket - one.retentionBucket || other.number - one.number;
}

import {
  isTerminal,
  Json,
  type JsonValue,
  LegateError,
  type Message,
} from '../../protocol/index.ts';
import { checkAppend } from '../append-check.ts';
import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  CommandEnd,
  CommandStore,
  ContextWrite,
  Store,
  StoreClock,
  Swept,
  TaskPage,
  TaskQuery,
  TurnRecord,
} from '../contract.ts';
import { scoped } from '../scoped.ts';
import { attemptOf, type OpenTurn, TurnQueue } from '../turn-queue.ts';
import { writtenUntil } from '../written-until.ts';
import { pageOfAll } from './all-tasks.ts';
import { MemoryPush } from './memory-push.ts';
import { Leases } from '../leases.ts';
import { MemoryRecords } from './memory-records.ts';
import { type KnownMessage, Messages } from './messages.ts';
import { OwnerTasks } from './owner-tasks.ts';
import type { TaskEntry } from './task-entry.ts';

interface MemoryTurn extends OpenTurn {
  readonly request: Json<JsonValue>;
}

interface ContextEntry {
  readonly owner: string;
  readonly contextId: string;
  writtenUntil: number | undefined;
  value: Json<JsonValue> | undefined;
  readonly log: Json<JsonValue>[];
}

/**
 * All that memory stores keep. Nothing is copied or serialised: values are immutable by agreement,
 * and every method runs to its end before another begins, which makes each a transaction.
 */
export class MemoryState {
  readonly tasks = new Map<string, TaskEntry>();
  readonly turns = new TurnQueue<MemoryTurn>();
  readonly messages = new Messages();
  readonly contexts = new Map<string, ContextEntry>();
  readonly push: MemoryPush;
  readonly records = new MemoryRecords();
  readonly leases: Leases;
  readonly clock: StoreClock;
  readonly #owners = new Map<string, OwnerTasks>();
  /** How many contexts of an agent have unfinished tasks. */
  readonly #openContexts = new Map<string, number>();
  #lastTurn = 0;

  constructor(clock: StoreClock) {
    this.clock = clock;
    this.leases = new Leases(clock);
    this.push = new MemoryPush(this.tasks, clock);
  }

  admit(admission: Admission): AdmitOutcome {
    const { owner, dedupe, task, taskId, now } = admission;
    const known = dedupe && this.messages.find(owner, dedupe.key);
    if (dedupe !== undefined && known !== undefined && this.#isRemembered(known, now)) {
      if (known.digest !== dedupe.digest) return { kind: 'reused' };
      return {
        kind: 'duplicate',
        taskId: known.taskId,
        ended: this.turns.get(known.turnId) === undefined,
        ...(known.reply !== undefined && { reply: known.reply }),
      };
    }
    const isFull = task !== undefined && this.#isFull(admission);
    // Before anything is changed: what fails leaves everything as it was.
    if (task !== undefined && !isFull && this.tasks.has(taskId)) {
      throw new LegateError('INTERNAL', `task ${taskId} exists already`);
    }
    if (known !== undefined) this.messages.forget(known);
    if (isFull) return { kind: 'context-limit' };
    if (task === undefined) {
      const existing = this.tasks.get(taskId);
      if (existing?.owner !== owner) return { kind: 'task-not-found' };
      if (isTerminal(existing.state)) return { kind: 'task-ended' };
    } else this.#create(admission, task);
    const { key, replica, request } = admission;
    const running = !this.turns.isBusy(key);
    const id = ++this.#lastTurn;
    const turn = {
      id,
      agent: admission.agent,
      key,
      taskId,
      attempt: 1,
      replica: running ? replica : undefined,
      request,
    };
    this.turns.add(turn);
    if (dedupe !== undefined) this.messages.add(owner, dedupe, taskId, id);
    return { kind: 'admitted', turn: { id, key, taskId, attempt: 1, request }, running };
  }

  append(append: Append): AppendOutcome {
    checkAppend(append);
    const { events, state, reply, snapshot, records, now } = append;
    const turn = append.turn && this.turns.get(append.turn.id);
    if (
      append.turn !== undefined &&
      (turn?.replica !== append.turn.replica || turn.taskId !== append.taskId)
    ) {
      return { kind: 'fenced' };
    }
    const task = this.tasks.get(append.taskId);
    if (task?.version !== append.version || isTerminal(task.state)) {
      return { kind: 'version-conflict' };
    }
    if (records !== undefined) {
      if (!this.records.holds(records, now)) return { kind: 'version-conflict' };
      this.records.apply(records, now);
    }
    if (append.context !== undefined) this.writeContext({ ...append.context, now });

    let deliveries = false;
    let ended: readonly MemoryTurn[] = [];
    if (reply !== undefined && turn !== undefined) {
      const message = this.messages.ofTurn(turn.id);
      if (message !== undefined) message.reply = reply;
      ended = [...this.turns.ofTask(task.id)];
      this.remove(task);
    } else {
      for (const event of events) {
        task.log.push(event);
        if (task.push !== undefined && this.push.owe(task, event, now)) deliveries = true;
      }
      task.version += events.length;
      if (snapshot !== undefined) task.snapshot = snapshot;
      if (this.#owner(task.owner).setStatus(task, state, append.statusTime))
        this.#countContexts(task.agent, -1);
      if (isTerminal(state)) {
        ended = [...this.turns.ofTask(task.id)];
      } else if (append.endsTurn === true && turn !== undefined) ended = [turn];
    }
    for (const each of ended) this.turns.end(each);
    const key = (turn !== undefined && ended.includes(turn) ? turn : ended[0])?.key;
    const next = key === undefined ? undefined : this.#startNext(key, append.replica);
    const { cancelRequested } = task;
    return { kind: 'appended', cancelRequested, deliveries, ...(next !== undefined && { next }) };
  }

  queueCommand(command: Parameters<CommandStore['queue']>[0]): {
    turn: TurnRecord;
    running: boolean;
  } {
    const { id: taskId, agent, key, replica, request } = command;
    const running = !this.turns.isBusy(key);
    const id = ++this.#lastTurn;
    const turn = { id, agent, key, taskId, attempt: 1, request };
    this.turns.add({ ...turn, replica: running ? replica : undefined });
    return { turn: toTurnRecord(turn), running };
  }

  endCommand(end: Parameters<CommandStore['end']>[0]): CommandEnd {
    const { replica, context, records, now } = end;
    const turn = this.turns.get(end.turn.id);
    if (turn?.replica !== replica) return { kind: 'fenced' };
    if (records !== undefined) {
      if (!this.records.holds(records, now)) return { kind: 'version-conflict' };
      this.records.apply(records, now);
    }
    if (context !== undefined) this.writeContext({ ...context, now });
    this.turns.end(turn);
    const next = this.#startNext(turn.key, replica);
    return { kind: 'ended', ...(next !== undefined && { next }) };
  }

  dropCommands(key: string, replica: string): { ids: string[]; next?: TurnRecord } {
    const dropped = this.turns.ofKey(key).filter(({ taskId }) => !this.tasks.has(taskId));
    for (const turn of dropped) this.turns.end(turn);
    const next = this.#startNext(key, replica);
    return { ids: dropped.map(({ taskId }) => taskId), ...(next !== undefined && { next }) };
  }

  list(query: TaskQuery): TaskPage {
    if (query.owner === undefined) return pageOfAll(this.tasks.values(), query);
    const owner = this.#owners.get(query.owner);
    return owner?.page(query) ?? { records: [], total: 0, more: false };
  }

  /** The task, now marked as to be cancelled; undefined when there is none that could be. */
  requestCancel(taskId: string): TaskEntry | undefined {
    const task = this.tasks.get(taskId);
    if (task === undefined || isTerminal(task.state)) return undefined;
    task.cancelRequested = true;
    return task;
  }

  loadTurn(turnId: number): { ended: boolean; reply?: Json<Message> } | undefined {
    if (this.turns.get(turnId) !== undefined) return { ended: false };
    const message = this.messages.ofTurn(turnId);
    if (message === undefined) return undefined;
    return { ended: true, ...(message.reply !== undefined && { reply: message.reply }) };
  }

  writeContext(write: ContextWrite): void {
    const name = scoped(write.owner, write.contextId);
    let entry = this.contexts.get(name);
    if (entry === undefined) {
      const { owner, contextId } = write;
      entry = { owner, contextId, value: undefined, log: [], writtenUntil: undefined };
      this.contexts.set(name, entry);
    }
    if (write.value !== undefined) entry.value = write.value;
    for (const item of write.log ?? []) entry.log.push(item);
    entry.writtenUntil = writtenUntil(write.now) ?? entry.writtenUntil;
  }

  takeOver(query: Parameters<Store['takeOver']>[0]): TurnRecord[] {
    return this.turns.abandoned(query, this.leases).map((turn) => {
      turn.attempt = attemptOf(turn, query.replica);
      turn.replica = query.replica;
      return toTurnRecord(turn);
    });
  }

  cancelRequests(replica: string): string[] {
    return [...this.turns.tasksOf(replica)].filter(
      (taskId) => this.tasks.get(taskId)?.cancelRequested === true,
    );
  }

  sweep(query: Parameters<Store['sweep']>[0]): Swept {
    const { retentionMs = Infinity, contextRetentionMs = Infinity, limit } = query;
    const now = this.clock.now();
    let tasks = 0;
    for (const task of this.tasks.values()) {
      if (tasks === limit) break;
      if (!isTerminal(task.state) || task.statusTime >= now - retentionMs) continue;
      if (this.push.hasPending(task)) continue;
      this.remove(task);
      tasks += 1;
    }
    const messages = this.messages.sweep(
      ({ expiresAt, turnId }) => expiresAt <= now && this.turns.get(turnId) === undefined,
      limit,
    );
    const records = this.records.sweep(now, limit);
    const contexts = this.#sweepContexts(now - contextRetentionMs, limit);
    return { tasks, contexts, messages, records };
  }

  #sweepContexts(before: number, limit: number): number {
    const over = [];
    for (const [name, { owner, contextId, writtenUntil: until = Infinity }] of this.contexts) {
      if (until > before || this.#owners.get(owner)?.hasUnfinished(contextId) === true) continue;
      over.push({ name, until });
    }
    const swept = over.sort((a, b) => a.until - b.until).slice(0, limit);
    for (const { name } of swept) this.contexts.delete(name);
    return swept.length;
  }

  remove(task: TaskEntry): void {
    this.tasks.delete(task.id);
    this.push.forget(task);
    const owner = this.#owner(task.owner);
    if (owner.remove(task)) this.#countContexts(task.agent, -1);
    if (owner.size === 0) this.#owners.delete(task.owner);
  }

  #create(admission: Admission, body: NonNullable<Admission['task']>): void {
    const { taskId, agent, owner, contextId, now } = admission;
    const { state } = body.value.status;
    const first = { sequence: 1, body: Json.ofTask(body) };
    const task: TaskEntry = {
      id: taskId,
      agent,
      owner,
      contextId,
      state,
      version: 1,
      statusTime: now,
      cancelRequested: false,
      snapshot: { version: 1, body },
      log: [first],
      push: undefined,
      position: -1,
    };
    this.tasks.set(taskId, task);
    if (this.#owner(owner).add(task)) this.#countContexts(agent, 1);
    if (admission.push !== undefined) {
      this.push.register(task, admission.push);
      this.push.owe(task, first, now);
    }
  }

  #startNext(key: string, replica: string): TurnRecord | undefined {
    const turn = this.turns.head(key);
    if (turn === undefined || turn.replica !== undefined) return undefined;
    turn.replica = replica;
    return toTurnRecord(turn);
  }

  #isRemembered(message: KnownMessage, now: number): boolean {
    if (this.turns.get(message.turnId) !== undefined) return true;
    if (message.expiresAt <= now) return false;
    return message.reply !== undefined || this.tasks.has(message.taskId);
  }

  #countContexts(agent: string, by: number): void {
    this.#openContexts.set(agent, (this.#openContexts.get(agent) ?? 0) + by);
  }

  #isFull({ agent, owner, contextId, maxContexts }: Admission): boolean {
    if (maxContexts === 0 || (this.#openContexts.get(agent) ?? 0) < maxContexts) return false;
    return this.#owners.get(owner)?.hasUnfinished(contextId) !== true;
  }

  #owner(name: string): OwnerTasks {
    let owner = this.#owners.get(name);
    if (owner === undefined) this.#owners.set(name, (owner = new OwnerTasks()));
    return owner;
  }
}

function toTurnRecord({
  id,
  key,
  taskId,
  attempt,
  request,
}: Omit<MemoryTurn, 'replica'>): TurnRecord {
  return { id, key, taskId, attempt, request };
}

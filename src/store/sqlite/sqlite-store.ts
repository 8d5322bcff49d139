import type { DatabaseSync } from 'node:sqlite';
import { isTerminal, type Json, type JsonValue, LegateError } from '../../protocol/index.ts';
import { checkAppend } from '../append-check.ts';
import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  ContextRecord,
  ContextWrite,
  Dedupe,
  LogEvent,
  Store,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TurnRecord,
} from '../contract.ts';
import type { OpenTurn } from '../turn-queue.ts';
import { ContextTable } from './context-table.ts';
import { EventTable } from './event-table.ts';
import { isConstraint } from './failure.ts';
import { GroupCommit } from './group-commit.ts';
import { type KnownMessage, MessageTable } from './message-table.ts';
import { OpenContexts } from './open-contexts.ts';
import { PushTable } from './push-table.ts';
import { RecordTable } from './record-table.ts';
import { TaskCounts } from './task-counts.ts';
import { TaskList } from './task-list.ts';
import { type TaskRow, TaskTable } from './task-table.ts';
import { TurnTable } from './turn-table.ts';

/**
 * The store in one SQLite file. Writes go through the group commit; reads run at once and see what
 * is committed. Whatever the tables keep in memory (open turns, rows of tasks at work, contexts in
 * use) can be read again from the file and is, after a rollback or a write by another process.
 */
export class SqliteStore implements Store {
  readonly driver = 'sqlite';
  readonly shared = false;
  readonly push: PushTable;
  readonly records: RecordTable;
  readonly #database: DatabaseSync;
  readonly #onClose: () => void;
  readonly #commits: GroupCommit;
  readonly #counts: TaskCounts;
  readonly #openContexts: OpenContexts;
  readonly #tasks: TaskTable;
  readonly #events: EventTable;
  readonly #turns: TurnTable;
  readonly #messages: MessageTable;
  readonly #contexts: ContextTable;
  readonly #list: TaskList;
  /** One process owns the file: replicas that are not in here died with their process. */
  readonly #replicas = new Map<string, number>();

  constructor(database: DatabaseSync, path: string, onClose: () => void) {
    this.#database = database;
    this.#onClose = onClose;
    this.#counts = new TaskCounts(database);
    this.#openContexts = new OpenContexts(database);
    this.#tasks = new TaskTable(database, this.#counts, this.#openContexts);
    this.#events = new EventTable(database);
    this.#turns = new TurnTable(database);
    this.#messages = new MessageTable(database);
    this.#contexts = new ContextTable(database);
    this.#list = new TaskList(database, this.#events, this.#counts);
    this.#commits = new GroupCommit(database, path, {
      onForeignWrite: () => this.#invalidate(),
      beforeCommit: () => this.#counts.write(),
      onRollback: () => {
        this.#counts.discard();
        this.#invalidate();
      },
    });
    this.push = new PushTable(database, this.#commits, this.#tasks);
    this.records = new RecordTable(database, this.#commits);
  }

  admit(admission: Admission): Promise<AdmitOutcome> {
    return this.#commits.write(() => this.#admit(admission));
  }

  append(append: Append): Promise<AppendOutcome> {
    return this.#commits.write(() => this.#append(append));
  }

  load(taskId: string, owner?: string): Promise<TaskRecord | undefined> {
    return this.#commits.read(() => {
      const record = this.#list.load(taskId);
      return owner === undefined || record?.owner === owner ? record : undefined;
    });
  }

  readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]> {
    return this.#commits.read(() => {
      const task = this.#tasks.find(taskId);
      return task === undefined ? [] : this.#events.read(task.number, after, limit);
    });
  }

  list(query: TaskQuery): Promise<TaskPage> {
    return this.#commits.read(() => this.#list.page(query));
  }

  requestCancel(taskId: string): ReturnType<Store['requestCancel']> {
    return this.#commits.write(() => {
      const task = this.#tasks.find(taskId);
      if (task === undefined || isTerminal(task.state)) return undefined;
      this.#tasks.requestCancel(task);
      const turns = this.#turns.open.ofTask(taskId);
      return {
        running: turns.some(({ replica }) => replica !== undefined),
        queued: turns.some(({ replica }) => replica === undefined),
      };
    });
  }

  loadTurn(turnId: number): ReturnType<Store['loadTurn']> {
    return this.#commits.read(() => {
      if (this.#turns.open.get(turnId) !== undefined) return { ended: false };
      const message = this.#messages.ofTurn(turnId);
      if (message === undefined) return undefined;
      return { ended: true, ...(message.reply !== undefined && { reply: message.reply }) };
    });
  }

  loadContext(owner: string, contextId: string): Promise<ContextRecord | undefined> {
    return this.#commits.read(() => this.#contexts.read(owner, contextId));
  }

  readContextLog(
    owner: string,
    contextId: string,
    last?: number,
  ): Promise<readonly Json<JsonValue>[]> {
    return this.#commits.read(() => this.#contexts.readLog(owner, contextId, last));
  }

  writeContext(write: ContextWrite): Promise<void> {
    return this.#commits.write(() => this.#contexts.write(write));
  }

  deleteContext(owner: string, contextId: string): Promise<boolean> {
    return this.#commits.write(() => this.#contexts.delete(owner, contextId));
  }

  async heartbeat(replica: string, expiresAt: number): Promise<void> {
    this.#replicas.set(replica, expiresAt);
  }

  retire(replica: string): Promise<void> {
    this.#replicas.delete(replica);
    return this.#commits.write(() => this.push.unclaim(replica));
  }

  takeOver(query: Parameters<Store['takeOver']>[0]): Promise<readonly TurnRecord[]> {
    const { agent, replica, now, limit } = query;
    const isAlive = (other: string): boolean =>
      other === replica || (this.#replicas.get(other) ?? -Infinity) > now;
    return this.#commits.write(() =>
      this.#turns.open
        .abandoned(agent, isAlive, limit)
        .map((turn) =>
          this.#turns.run(turn, replica, turn.attempt + (turn.replica === undefined ? 0 : 1)),
        ),
    );
  }

  release({ id, replica, started }: Parameters<Store['release']>[0]): Promise<void> {
    return this.#commits.write(() => {
      const turn = this.#turns.open.get(id);
      if (turn?.replica !== replica) return;
      this.#turns.release(turn, turn.attempt + (started === true ? 1 : 0));
    });
  }

  sweep(query: Parameters<Store['sweep']>[0]): Promise<{ readonly tasks: number }> {
    const { now, terminalBefore, limit } = query;
    return this.#commits.write(() => {
      const over = this.#tasks.over(terminalBefore, limit);
      for (const task of over) this.#remove(task);
      this.#messages.sweep(now, limit);
      this.records.sweep(now, limit);
      return { tasks: over.length };
    });
  }

  /** One process owns the file, so there are no other replicas to tell of. */
  watch(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    if (!this.#database.isOpen) return;
    this.#commits.close();
    this.#database.close();
    this.#onClose();
  }

  #admit(admission: Admission): AdmitOutcome {
    const { owner, key, taskId, replica, request, dedupe, task } = admission;
    const refusal = this.#refusal(admission);
    const id = this.#turns.nextId();
    if (dedupe !== undefined) {
      const known = this.#remember(id, owner, dedupe, taskId, refusal !== undefined, admission.now);
      if (known !== undefined) {
        if (known.digest !== dedupe.digest) return { kind: 'reused' };
        return {
          kind: 'duplicate',
          taskId: known.taskId,
          ended: this.#turns.open.get(known.turnId) === undefined,
          ...(known.reply !== undefined && { reply: known.reply }),
        };
      }
    }
    if (refusal !== undefined) return { kind: refusal };
    if (task !== undefined) this.#create(admission, task);
    const running = !this.#turns.open.isBusy(key);
    const { agent } = admission;
    const turn = { id, agent, key, taskId, attempt: 1, replica: running ? replica : undefined };
    this.#turns.insert(turn, request);
    return { kind: 'admitted', turn: { id, key, taskId, attempt: 1, request }, running };
  }

  #refusal(admission: Admission): 'context-limit' | 'task-not-found' | 'task-ended' | undefined {
    const { owner, taskId, maxContexts } = admission;
    if (admission.task !== undefined) {
      return this.#openContexts.isFull(admission, maxContexts) ? 'context-limit' : undefined;
    }
    const existing = this.#tasks.find(taskId);
    if (existing?.owner !== owner) return 'task-not-found';
    return isTerminal(existing.state) ? 'task-ended' : undefined;
  }

  /** The message that came before; else this one is written down, unless it is refused anyway. */
  #remember(
    turnId: number,
    owner: string,
    dedupe: Dedupe,
    taskId: string,
    isRefused: boolean,
    now: number,
  ): KnownMessage | undefined {
    if (!isRefused && this.#messages.insert(turnId, owner, dedupe, taskId)) return undefined;
    const known = this.#messages.find(owner, dedupe.key);
    if (known === undefined || this.#isRemembered(known, now)) return known;
    this.#messages.delete(known.turnId);
    if (!isRefused) this.#messages.insert(turnId, owner, dedupe, taskId);
    return undefined;
  }

  #isRemembered(message: KnownMessage, now: number): boolean {
    if (this.#turns.open.get(message.turnId) !== undefined) return true;
    if (message.expiresAt <= now) return false;
    return message.reply !== undefined || this.#tasks.find(message.taskId) !== undefined;
  }

  #create(admission: Admission, body: NonNullable<Admission['task']>): void {
    const task = this.#insert(admission, body);
    this.#events.begin(task.number, body);
    if (admission.push === undefined) return;
    this.push.register(task, admission.push);
    this.push.owe(task, 1, admission.now);
  }

  #insert(admission: Admission, body: NonNullable<Admission['task']>): TaskRow {
    try {
      return this.#tasks.insert(admission, body.value.status.state);
    } catch (error) {
      if (!isConstraint(error)) throw error;
      const message = `task ${admission.taskId} exists already`;
      throw new LegateError('INTERNAL', message, { cause: error });
    }
  }

  #append(append: Append): AppendOutcome {
    checkAppend(append);
    const { events, state, reply, snapshot, records, now } = append;
    const open = this.#turns.open;
    const turn = append.turn && open.get(append.turn.id);
    if (
      append.turn !== undefined &&
      (turn?.replica !== append.turn.replica || turn.taskId !== append.taskId)
    ) {
      return { kind: 'fenced' };
    }
    const task = this.#tasks.find(append.taskId);
    if (task?.version !== append.version || isTerminal(task.state)) {
      return { kind: 'version-conflict' };
    }
    if (records !== undefined) {
      if (!this.records.holds(records, now)) return { kind: 'version-conflict' };
      this.records.apply(records, now);
    }
    if (append.context !== undefined) this.#contexts.write(append.context);

    let deliveries = false;
    let ended: readonly OpenTurn[] = [];
    if (reply !== undefined && turn !== undefined) {
      this.#messages.setReply(turn.id, reply);
      ended = [...open.ofTask(task.id)];
      this.#remove(task);
    } else {
      for (const event of events) {
        this.#events.append(task.number, event);
        if (task.pushConfigs > 0 && !('message' in event.body.value)) {
          this.push.owe(task, event.sequence, now);
          deliveries = true;
        }
      }
      if (snapshot !== undefined) this.#events.setSnapshot(task.number, snapshot);
      this.#tasks.advance(task, task.version + events.length, state, append.statusTime);
      if (isTerminal(state)) ended = [...open.ofTask(task.id)];
      else if (append.endsTurn === true && turn !== undefined) ended = [turn];
    }
    for (const each of ended) this.#turns.end(each);
    const next = this.#startNext(turn, ended, append.replica);
    const { cancelRequested } = task;
    return { kind: 'appended', cancelRequested, deliveries, ...(next !== undefined && { next }) };
  }

  #startNext(
    turn: OpenTurn | undefined,
    ended: readonly OpenTurn[],
    replica: string,
  ): TurnRecord | undefined {
    const key = (turn !== undefined && ended.includes(turn) ? turn : ended[0])?.key;
    const next = key === undefined ? undefined : this.#turns.open.head(key);
    if (next === undefined || next.replica !== undefined) return undefined;
    return this.#turns.run(next, replica, next.attempt);
  }

  #remove(task: TaskRow): void {
    this.push.forget(task);
    this.#events.delete(task.number);
    this.#tasks.delete(task);
  }

  #invalidate(): void {
    this.#turns.invalidate();
    this.#tasks.invalidate();
    this.#openContexts.invalidate();
  }
}

import type { DatabaseSync } from 'node:sqlite';
import { isTerminal, type Json, type JsonValue } from '../../protocol/index.ts';
import type {
  Admission,
  AdmitOutcome,
  Append,
  AppendOutcome,
  CommandStore,
  ContextRecord,
  ContextWrite,
  LogEvent,
  PushStore,
  RecordStore,
  Store,
  StoreClock,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TurnRecord,
} from '../contract.ts';
import { Leases } from '../leases.ts';
import { probeRecords, WriteHealth } from '../store-health.ts';
import { attemptOf } from '../turn-queue.ts';
import { admit } from './admit.ts';
import { append } from './append.ts';
import { sqliteCommands } from './commands.ts';
import { outageReason } from './failure.ts';
import { Tables } from './tables.ts';

/**
 * The store in one SQLite file. Writes go through the group commit; reads run at once and see what
 * is committed.
 */
export class SqliteStore implements Store {
  readonly driver = 'sqlite';
  readonly shared = false;
  readonly clock: StoreClock;
  readonly health: WriteHealth;
  readonly commands: CommandStore;
  readonly push: PushStore;
  readonly records: RecordStore;
  readonly #database: DatabaseSync;
  readonly #onClose: () => void;
  readonly #tables: Tables;
  /** One process owns the file: replicas that are not in here died with their process. */
  readonly #leases: Leases;

  constructor(
    database: DatabaseSync,
    options: { readonly path: string; readonly clock: StoreClock; readonly onClose: () => void },
  ) {
    this.#database = database;
    this.clock = options.clock;
    this.#leases = new Leases(options.clock);
    this.#onClose = options.onClose;
    this.health = new WriteHealth({
      driver: this.driver,
      reasonOf: outageReason,
      probe: () => probeRecords(this.records, this.clock),
    });
    this.#tables = new Tables(database, {
      ...options,
      onFailure: (failure) => this.health.failed(failure),
    });
    this.commands = sqliteCommands(this.#tables);
    this.push = this.#tables.push;
    this.records = this.#tables.records;
  }

  admit(admission: Admission): Promise<AdmitOutcome> {
    const tables = this.#tables;
    let id: number | undefined;
    const run = (): AdmitOutcome => admit(tables, admission, (id ??= tables.turns.nextId()));
    return this.#write(run);
  }

  append(write: Append): Promise<AppendOutcome> {
    return this.#write(() => append(this.#tables, write));
  }

  load(taskId: string, owner?: string): Promise<TaskRecord | undefined> {
    return this.#read(() => {
      const record = this.#tables.list.load(taskId);
      return owner === undefined || record?.owner === owner ? record : undefined;
    });
  }

  readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]> {
    return this.#read(() => {
      const task = this.#tables.tasks.find(taskId);
      return task === undefined ? [] : this.#tables.events.read(task.number, after, limit);
    });
  }

  list(query: TaskQuery): Promise<TaskPage> {
    return this.#read(() => this.#tables.list.page(query));
  }

  requestCancel(taskId: string): ReturnType<Store['requestCancel']> {
    const { tasks, turns } = this.#tables;
    return this.#write(() => {
      const task = tasks.find(taskId);
      if (task === undefined || isTerminal(task.state)) return undefined;
      tasks.requestCancel(task);
      const open = turns.open.ofTask(taskId);
      return {
        running: open.some(({ replica }) => replica !== undefined),
        queued: open.some(({ replica }) => replica === undefined),
      };
    });
  }

  cancelRequests(replica: string): Promise<readonly string[]> {
    const { tasks, turns } = this.#tables;
    return this.#read(() =>
      [...turns.open.tasksOf(replica)].filter(
        (taskId) => tasks.find(taskId)?.cancelRequested === true,
      ),
    );
  }

  loadTurn(turnId: number): ReturnType<Store['loadTurn']> {
    const { messages, turns } = this.#tables;
    return this.#read(() => {
      if (turns.open.get(turnId) !== undefined) return { ended: false };
      const message = messages.ofTurn(turnId);
      if (message === undefined) return undefined;
      return { ended: true, ...(message.reply !== undefined && { reply: message.reply }) };
    });
  }

  loadContext(owner: string, contextId: string): Promise<ContextRecord | undefined> {
    return this.#read(() => this.#tables.contexts.read(owner, contextId));
  }

  readContextLog(
    owner: string,
    contextId: string,
    last?: number,
  ): Promise<readonly Json<JsonValue>[]> {
    return this.#read(() => this.#tables.contexts.readLog(owner, contextId, last));
  }

  writeContext(write: ContextWrite): Promise<void> {
    return this.#write(() => this.#tables.contexts.write(write));
  }

  deleteContext(owner: string, contextId: string): Promise<boolean> {
    return this.#write(() => this.#tables.contexts.delete(owner, contextId));
  }

  async heartbeat(replica: string, leaseMs: number): Promise<void> {
    this.#leases.renew(replica, leaseMs);
  }

  retire(replica: string): Promise<void> {
    this.#leases.retire(replica);
    return this.#write(() => this.#tables.push.unclaim(replica));
  }

  async deadReplicas(...[replicas, { sparesExpired } = {}]: Parameters<Store['deadReplicas']>) {
    return replicas.filter((each) => !this.#leases.isAlive(each, sparesExpired));
  }

  takeOver(query: Parameters<Store['takeOver']>[0]): Promise<readonly TurnRecord[]> {
    const { turns } = this.#tables;
    return this.#write(() => {
      const abandoned = turns.open.abandoned(query, this.#leases);
      return abandoned.map((turn) =>
        turns.run(turn, query.replica, attemptOf(turn, query.replica)),
      );
    });
  }

  release({ id, replica, started }: Parameters<Store['release']>[0]): Promise<void> {
    const { turns } = this.#tables;
    return this.#write(() => {
      const turn = turns.open.get(id);
      if (turn?.replica !== replica) return;
      turns.release(turn, started === true ? turn.attempt + 1 : turn.attempt);
    });
  }

  sweep(query: Parameters<Store['sweep']>[0]): ReturnType<Store['sweep']> {
    const { retentionMs, contextRetentionMs, limit } = query;
    const now = this.clock.now();
    const tables = this.#tables;
    return this.#write(() => {
      tables.write();
      const over = retentionMs === undefined ? [] : tables.tasks.over(now - retentionMs, limit);
      for (const task of over) tables.remove(task);
      const messages = tables.messages.sweep(now, limit);
      const records = tables.records.sweep(now, limit);
      const contexts =
        contextRetentionMs === undefined
          ? 0
          : tables.contexts.sweep(now - contextRetentionMs, limit);
      return { tasks: over.length, contexts, messages, records };
    });
  }

  /** One process owns the file, so there are no other replicas to tell of. */
  watch(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    if (!this.#database.isOpen) return;
    this.health.close();
    this.#tables.commits.close();
    this.#database.close();
    this.#onClose();
  }

  #read<T>(run: () => T): Promise<T> {
    return this.#tables.commits.read(run);
  }

  #write<T>(run: () => T): Promise<T> {
    return this.#tables.commits.write(run);
  }
}

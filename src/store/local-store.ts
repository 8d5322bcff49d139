import { isTerminal, type Json, type JsonValue } from '../protocol/index.ts';
import { admit, append, localCommands } from './transactions.ts';
import type {
  Admission,
  AdmitOutcome,
  AgentCounts,
  Append,
  AppendOutcome,
  CommandStore,
  ContextQuery,
  ContextRecord,
  ListedContext,
  LogEvent,
  PushStore,
  RecordStore,
  Store,
  StoreClock,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TurnRecord,
  VectorStore,
} from './contract.ts';
import type { StoreHealth } from './store-health.ts';
import type { Tables } from './tables.ts';
import { attemptOf } from './turn-queue.ts';

type Listener = Parameters<Store['watch']>[0];

/** The shared state of the stores of one process that see each other's writes. */
export class SharedMedium {
  readonly leases: Leases;
  readonly watchers = new Map<Listener, LocalStore>();

  constructor(clock: StoreClock) {
    this.leases = new Leases(clock);
  }
}

export interface LocalStoreOptions {
  readonly driver: 'memory' | 'sqlite';
  readonly tables: Tables;
  readonly clock: StoreClock;
  readonly health: StoreHealth;
  /** Runs an operation on committed data. */
  readonly read: <T>(run: () => T) => Promise<T>;
  /** Runs an operation as a transaction. Resolves when its writes are durable. */
  readonly write: <T>(run: () => T) => Promise<T>;
  /** Called inside the transaction of a sweep, after the deletions. */
  readonly onSwept?: () => void;
  readonly onClose?: () => void;
  /** Shared by several stores on the same tables. @default one of its own */
  readonly medium?: SharedMedium;
}

/** A store whose tables belong to this process: in memory, or in a file. */
export class LocalStore implements Store {
  readonly driver: 'memory' | 'sqlite';
  readonly shared: boolean;
  readonly clock: StoreClock;
  readonly health: StoreHealth;
  readonly commands: CommandStore;
  readonly push: PushStore;
  readonly records: RecordStore;
  readonly vectors: VectorStore;
  readonly #tables: Tables;
  readonly #read: LocalStoreOptions['read'];
  readonly #write: LocalStoreOptions['write'];
  readonly #onSwept: (() => void) | undefined;
  readonly #onClose: (() => void) | undefined;
  readonly #medium: SharedMedium;
  /** Engines that use this store. */
  #listeners = 0;

  constructor(options: LocalStoreOptions) {
    this.driver = options.driver;
    this.shared = options.medium !== undefined;
    this.clock = options.clock;
    this.health = options.health;
    this.push = options.tables.push;
    this.records = options.tables.records;
    this.vectors = options.tables.vectors;
    this.#tables = options.tables;
    this.#read = options.read;
    this.#write = options.write;
    this.#onSwept = options.onSwept;
    this.#onClose = options.onClose;
    this.#medium = options.medium ?? new SharedMedium(options.clock);
    this.commands = localCommands(options.tables, options.write, (id) => this.#notify(id, 0));
  }

  admit(admission: Admission): Promise<AdmitOutcome> {
    const tables = this.#tables;
    let id: number | undefined;
    const run = (): AdmitOutcome => admit(tables, admission, (id ??= tables.turns.nextId()));
    return this.#write(run);
  }

  async append(write: Append): Promise<AppendOutcome> {
    const outcome = await this.#write(() => append(this.#tables, write));
    if (outcome.kind === 'appended')
      this.#notify(write.taskId, write.version + write.events.length);
    return outcome;
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
      return task === undefined ? [] : this.#tables.events.read(task, after, limit);
    });
  }

  list(query: TaskQuery): Promise<TaskPage> {
    return this.#read(() => this.#tables.list.page(query));
  }

  counts(agent: string): Promise<AgentCounts> {
    const { turns, openContexts } = this.#tables;
    return this.#read(() => ({
      queuedTurns: turns.open.queuedOf(agent),
      openContexts: openContexts.sizeOf(agent),
    }));
  }

  async requestCancel(taskId: string): ReturnType<Store['requestCancel']> {
    const { tasks, turns } = this.#tables;
    const requested = await this.#write(() => {
      const task = tasks.find(taskId);
      if (task === undefined || isTerminal(task.state)) return undefined;
      tasks.requestCancel(task);
      const open = turns.open.ofTask(taskId);
      return {
        running: open.some(({ replica }) => replica !== undefined),
        queued: open.some(({ replica }) => replica === undefined),
        version: task.version,
      };
    });
    if (requested === undefined) return undefined;
    const { version, ...turnsOfTask } = requested;
    this.#notify(taskId, version);
    return turnsOfTask;
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

  listContexts(query: ContextQuery): Promise<readonly ListedContext[]> {
    return this.#read(() => this.#tables.contexts.list(query));
  }

  deleteContext(owner: string, contextId: string): Promise<boolean> {
    return this.#write(() => this.#tables.contexts.delete(owner, contextId));
  }

  async heartbeat(replica: string, leaseMs: number): Promise<void> {
    this.#medium.leases.renew(replica, leaseMs);
  }

  retire(replica: string): Promise<void> {
    this.#medium.leases.retire(replica);
    return this.#write(() => this.#tables.push.unclaim(replica));
  }

  async deadReplicas(...[replicas, { sparesExpired } = {}]: Parameters<Store['deadReplicas']>) {
    return replicas.filter((each) => !this.#medium.leases.isAlive(each, sparesExpired));
  }

  takeOver(query: Parameters<Store['takeOver']>[0]): Promise<readonly TurnRecord[]> {
    const { turns } = this.#tables;
    return this.#write(() => {
      const abandoned = turns.open.abandoned(query, this.#medium.leases);
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
      const over = retentionMs === undefined ? [] : tables.tasks.expired(now - retentionMs, limit);
      const idle = over.filter(({ id }) => tables.turns.open.ofTask(id).length === 0);
      for (const task of idle) tables.remove(task);
      const messages = tables.messages.sweep(now, limit);
      const records = tables.records.sweep(now, limit);
      const contexts =
        contextRetentionMs === undefined
          ? 0
          : tables.contexts.sweep(now - contextRetentionMs, limit);
      this.#onSwept?.();
      return { tasks: idle.length, contexts, messages, records };
    });
  }

  watch(listener: Listener): () => void {
    this.#listeners += 1;
    this.#medium.watchers.set(listener, this);
    return () => {
      if (this.#medium.watchers.delete(listener)) this.#listeners -= 1;
    };
  }

  /** Does nothing: watchers are in this process and are notified of all tasks. */
  follow(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    for (const [listener, store] of this.#medium.watchers) {
      if (store === this) this.#medium.watchers.delete(listener);
    }
    this.#onClose?.();
  }

  /**
   * Notifies the other engines on the same tables. An engine that does not share its store needs no
   * notice of its own writes.
   */
  #notify(taskId: string, version: number): void {
    for (const [listener, store] of this.#medium.watchers) {
      if (store !== this || this.#listeners > 1) listener({ taskId, version });
    }
  }
}

/** The leases of replicas, for stores whose replicas are all in one process. */
export class Leases {
  readonly #clock: { now(): number };
  readonly #ends = new Map<string, number>();

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  renew(replica: string, leaseMs: number): void {
    this.#ends.set(replica, this.#clock.now() + leaseMs);
  }

  retire(replica: string): void {
    this.#ends.delete(replica);
  }

  /** With `sparesExpired`, an expired lease counts as alive, unless the replica has retired. */
  isAlive(replica: string, sparesExpired = false): boolean {
    const end = this.#ends.get(replica);
    return end !== undefined && (sparesExpired || end > this.#clock.now());
  }
}

/** Wraps a clock, by default the system's, as the clock of a store of one process. */
export function processClock(clock: { now(): number } = { now: Date.now }): StoreClock {
  return { now: () => clock.now(), skewMs: () => 0 };
}

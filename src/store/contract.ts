/**
 * The store contract. Terms:
 *
 * - **owner**: the scope of everything that belongs to one caller of one agent, as one opaque string
 *   (`ownerKey`). A task or context of another owner is treated as missing.
 * - **task record**: the row of a task: its state, its version, and a snapshot that may lag behind.
 * - **event**: one numbered entry of a task's log, 1, 2, 3 without gaps. The log is authoritative.
 * - **version** of a task: the number of its last event. Every change appends an event and names the
 *   version it builds on; the store rejects it if that is not the current version.
 * - **turn**: one message being handled: `queued`, `running` under one replica, or `ended`. The message
 *   of an ended turn is kept until it expires, to detect duplicates.
 * - **key** of a turn: turns of one key run one at a time, in the order of their admission.
 * - **replica**: one running process, alive until its lease expires. Other replicas can take over a
 *   turn that runs under a dead replica.
 * - **context state**: the state of an agent in a conversation: one value and an append-only log.
 * - **delivery**: one event to be sent to one webhook.
 * - **record**: a small JSON document in a named space, with an optional expiry.
 * - **vector**: the embedding of a text by one model.
 *
 * Every method is one atomic transaction. When a method resolves, its writes are durable (as far as the
 * driver is durable at all). Failures of the storage medium reject with `STORE_FAILED`.
 *
 * All replicas use one clock, that of the store: in PostgreSQL the clock of the database. Leases,
 * delays and retention are durations in milliseconds, which the driver adds to that clock. Times in
 * parameters (`now`, `statusTime`, `expiresAt`) are milliseconds since 1970 and come from
 * `Store.clock`, never from the wall clock of the process.
 */
import type {
  Json,
  JsonValue,
  Message,
  StreamResponse,
  Task,
  TaskState,
} from '../protocol/index.ts';
import type {
  CommandStore,
  PushRegistration,
  PushStore,
  RecordStore,
  RecordWrite,
  VectorStore,
} from './sub-stores.ts';
import type { StoreHealth } from './store-health.ts';

export type { CommandEnd, CommandStore } from './sub-stores.ts';
export type {
  Delivery,
  DeliveryOutcome,
  DeliveryRecord,
  DeliveryState,
  PushRegistration,
  PushStore,
} from './sub-stores.ts';
export type { RecordStore, RecordWrite, StoredRecord } from './sub-stores.ts';
export type { StoredVector, VectorScope, VectorStore } from './sub-stores.ts';
export type { Reporting, StoreHealth } from './store-health.ts';

/**
 * The clock that all replicas of a store share.
 * @example const isExpired = (expiresAt: number) => expiresAt <= store.clock.now();
 */
export interface StoreClock {
  /**
   * Milliseconds since 1970. On PostgreSQL an estimate of the database's clock, off by at most half
   * a round trip; it follows the monotonic clock of the process between two measurements.
   */
  now(): number;
  /** How far the wall clock of this process is ahead of the store's, in milliseconds. */
  skewMs(): number;
}

/** A caller's follow-up is logged as `{ message }`. Every other entry is sent to subscribers. */
export interface LogEvent {
  readonly sequence: number;
  readonly body: Json<StreamResponse>;
}

export interface Snapshot {
  /** The version of the task in this snapshot. */
  readonly version: number;
  readonly body: Json<Task>;
}

export interface TaskRecord {
  readonly id: string;
  readonly owner: string;
  readonly contextId: string;
  readonly state: TaskState;
  readonly version: number;
  /** When the status last changed. */
  readonly statusTime: number;
  readonly cancelRequested: boolean;
  /** The task is input-required, but a later task of its context has continued the conversation. */
  readonly isSuperseded: boolean;
  /** Whether push configurations exist. */
  readonly hasPush: boolean;
  readonly snapshot: Snapshot;
  /** The events after the snapshot; empty when it is up to date. */
  readonly tail: readonly LogEvent[];
}

export interface TurnRecord {
  readonly id: number;
  readonly key: string;
  /** For a command (`CommandStore`) the command's own id; no task has this id. */
  readonly taskId: string;
  /** 1 on the first run. */
  readonly attempt: number;
  /** The request as the admitting replica saw it, for the replica that runs the turn. */
  readonly request: Json<JsonValue>;
}

/** The idempotency key of a message. */
export interface Dedupe {
  /** Unique among the messages of one owner. */
  readonly key: string;
  /** A digest of the content. The store refuses the same key with another digest. */
  readonly digest: string;
  readonly expiresAt: number;
}

export interface Admission {
  /**
   * The agent's name. The store counts contexts, and replicas take over turns, separately for each
   * agent.
   */
  readonly agent: string;
  readonly owner: string;
  readonly key: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly replica: string;
  readonly now: number;
  readonly request: Json<JsonValue>;
  readonly dedupe?: Dedupe | undefined;
  /**
   * A new task: its first event is `{ task }`, its status time `now`. Its id must be new. Absent: the
   * message continues an existing task.
   */
  readonly task?: Json<Task>;
  /** A push configuration to register with a new task. It receives the first event, too. */
  readonly push?: PushRegistration | undefined;
  /**
   * Maximum contexts of the agent with unfinished tasks, over all its callers; 0 for no limit. A new
   * task in a context that already has an unfinished task is always admitted.
   */
  readonly maxContexts: number;
}

/**
 * Checked in this order: duplicate message, task that cannot be continued, limit of contexts. The store
 * keeps the idempotency key of a message while its turn is open and then until its `expiresAt`, but not
 * longer than its task.
 */
export type AdmitOutcome =
  | {
      readonly kind: 'admitted';
      readonly turn: TurnRecord;
      /**
       * Whether the turn runs under the admitting replica; else it is queued behind other turns of its
       * key.
       */
      readonly running: boolean;
    }
  /** The same message was admitted before. `reply`: the plain message that answered it. */
  | {
      readonly kind: 'duplicate';
      readonly taskId: string;
      readonly ended: boolean;
      readonly reply?: Json<Message>;
    }
  | { readonly kind: 'reused' }
  | { readonly kind: 'context-limit' }
  /** The task is unknown, or belongs to another owner. */
  | { readonly kind: 'task-not-found' }
  /** The task is in a terminal state. */
  | { readonly kind: 'task-ended' };

export interface Append {
  readonly taskId: string;
  /** The version that the writer builds on. The first event has the next number. */
  readonly version: number;
  readonly events: readonly LogEvent[];
  /** The task's state and status time after the last event. */
  readonly state: TaskState;
  readonly statusTime: number;
  /**
   * The task stays input-required, but counts as ended for the limit of contexts and for retention. The
   * next append without this flag reopens the task. @default false
   */
  readonly isSuperseded?: boolean;
  /** A driver can omit the snapshot of a log of up to 8 events, which is as fast to read. */
  readonly snapshot?: Snapshot | undefined;
  /**
   * Set by the runner of a turn. The append is fenced if the turn no longer runs under this replica.
   */
  readonly turn?: { readonly id: number; readonly replica: string };
  /** Ends `turn`. The next turn of its key, if any, starts under the same replica. */
  readonly endsTurn?: boolean;
  /**
   * Ends `turn` with a plain message. The store deletes the task and its log, and keeps the reply for
   * duplicates.
   */
  readonly reply?: Json<Message> | undefined;
  readonly context?: ContextWrite | undefined;
  readonly records?: readonly RecordWrite[] | undefined;
  /** The replica that runs the next turn. */
  readonly replica: string;
  readonly now: number;
}

/**
 * A terminal state ends every turn of the task, queued ones included. `next` is the turn that now runs
 * under `replica`: of the key of `turn`, or else of the key of the first turn that ended. If the task
 * has push configurations, the same transaction writes a delivery for each event and configuration,
 * except for follow-ups of callers.
 *
 * `fenced` is checked first. `version-conflict` also means that the task was deleted or already
 * terminal, or that an `ifVersion` of `records` did not match. In all these cases nothing was written.
 */
export type AppendOutcome =
  | {
      readonly kind: 'appended';
      readonly next?: TurnRecord;
      readonly cancelRequested: boolean;
      /** Whether deliveries were written. */
      readonly deliveries: boolean;
    }
  | { readonly kind: 'version-conflict' }
  | { readonly kind: 'fenced' };

export interface ContextWrite {
  readonly owner: string;
  readonly contextId: string;
  readonly value?: Json<JsonValue>;
  readonly log?: readonly Json<JsonValue>[];
}

export interface ContextRecord {
  readonly value: Json<JsonValue> | undefined;
  /** Entries in the log. */
  readonly logLength: number;
}

/** A position in the list of contexts: ordered by whole hours, then by their first writes. */
export interface ContextPosition {
  /** The end of the hour of the last write, in milliseconds since 1970. */
  readonly retentionBucket: number;
  readonly number: number;
}

export interface ContextQuery {
  /** Only contexts with this id, of any owner. */
  readonly contextId?: string;
  /** Contexts after this one in the order of the list. */
  readonly after?: ContextPosition;
  readonly limit: number;
}

export interface ListedContext extends ContextPosition {
  readonly owner: string;
  readonly contextId: string;
}

export interface AgentCounts {
  readonly queuedTurns: number;
  readonly openContexts: number;
}

export interface TaskQuery {
  /** Unset: all owners. Only for operators, never for a caller. */
  readonly owner?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Excludes superseded tasks. @default false */
  readonly isOpen?: boolean;
  /** Inclusive. */
  readonly statusTimeFrom?: number;
  /** Tasks after this one in the order of the list: status time descending, then id descending. */
  readonly after?: { readonly statusTime: number; readonly id: string };
  readonly limit: number;
}

export interface TaskPage {
  readonly records: readonly TaskRecord[];
  /** Matches over all pages. PostgreSQL stops counting at 10,000. */
  readonly total: number;
  readonly more: boolean;
}

/** Deleted items by kind. A kind that reached the limit can have more to delete. */
export interface Swept {
  readonly tasks: number;
  readonly contexts: number;
  /** Expired idempotency keys of messages. */
  readonly messages: number;
  readonly records: number;
}

/**
 * The storage of tasks, conversations and webhooks. One contract, several drivers; every method is one
 * transaction.
 * @example
 * const store: Store = await openStore({ type: 'sqlite', path: '.legate/store.db' });
 * await using server = await serve(agent, { store }); // leaves a store open that it did not open
 */
export interface Store {
  readonly driver: 'memory' | 'sqlite' | 'postgres';
  /** Whether other replicas can use the same store. */
  readonly shared: boolean;
  readonly clock: StoreClock;
  readonly health: StoreHealth;

  admit(admission: Admission): Promise<AdmitOutcome>;
  append(append: Append): Promise<AppendOutcome>;

  /** With an owner: only that owner's task. */
  load(taskId: string, owner?: string): Promise<TaskRecord | undefined>;
  /** Events with a number greater than `after`, in order. */
  readEvents(taskId: string, after: number, limit: number): Promise<readonly LogEvent[]>;
  list(query: TaskQuery): Promise<TaskPage>;

  /**
   * Requests the cancellation of an unfinished task. Returns whether it has running and queued turns;
   * undefined if the task does not exist or has ended.
   */
  requestCancel(
    taskId: string,
  ): Promise<{ readonly running: boolean; readonly queued: boolean } | undefined>;

  /** The tasks with a cancellation request and a turn that runs under this replica. */
  cancelRequests(replica: string): Promise<readonly string[]>;

  /** The outcome of a turn; undefined if it is unknown or has expired. */
  loadTurn(
    turnId: number,
  ): Promise<{ readonly ended: boolean; readonly reply?: Json<Message> } | undefined>;

  loadContext(owner: string, contextId: string): Promise<ContextRecord | undefined>;
  /** The last `last` entries (all when unset), oldest first. */
  readContextLog(
    owner: string,
    contextId: string,
    last?: number,
  ): Promise<readonly Json<JsonValue>[]>;
  /**
   * Contexts of all owners, ordered by the hour of their last write, latest first; within one hour,
   * newest first. Only for operators, never for a caller.
   */
  listContexts(query: ContextQuery): Promise<readonly ListedContext[]>;
  deleteContext(owner: string, contextId: string): Promise<boolean>;

  /** Renews the lease of a replica for `leaseMs` from now; `Infinity` for no expiry. */
  heartbeat(replica: string, leaseMs: number): Promise<void>;
  /** Ends the lease of a replica. Others can take over its turns and claim its deliveries at once. */
  retire(replica: string): Promise<void>;
  /** Returns the given replicas without a lease or, unless `sparesExpired`, with an expired lease. */
  deadReplicas(
    replicas: readonly string[],
    options?: { readonly sparesExpired?: boolean },
  ): Promise<readonly string[]>;
  /**
   * Assigns to this replica the turns that no live replica runs, oldest first: turns of dead replicas
   * (their attempt increases by one) and queued turns whose key is idle. The calling replica counts as
   * alive. With `sparesExpired`, replicas whose lease has expired count as alive, unless they have
   * retired.
   *
   * `inFlight` lists the keys whose turns the replica runs or is about to run. If it is set, the result
   * also contains turns that run under this replica with other keys, unchanged: the response to their
   * claim was lost, or their runner aborted. Only the replica itself can distinguish these.
   */
  takeOver(query: {
    readonly agent: string;
    readonly replica: string;
    readonly limit: number;
    readonly sparesExpired?: boolean;
    readonly inFlight?: readonly string[];
  }): Promise<readonly TurnRecord[]>;
  /**
   * Returns a running turn of this replica to the head of its queue, so that other replicas can take it
   * over. `started`: the turn has started, so its attempt increases by one.
   */
  release(turn: {
    readonly id: number;
    readonly replica: string;
    readonly started?: boolean;
  }): Promise<void>;

  /** For operators: the queued turns of an agent, and its contexts that count against the limit. */
  counts(agent: string): Promise<AgentCounts>;

  readonly commands: CommandStore;
  readonly push: PushStore;
  readonly records: RecordStore;
  readonly vectors: VectorStore;

  /**
   * Deletes expired data, up to `limit` of each kind: terminal and superseded tasks with their logs,
   * snapshots and webhooks, idempotency keys, records, and the state of contexts. Keeps a task with a
   * pending delivery, a superseded task with an open turn, and a context with an unfinished task.
   */
  sweep(query: {
    /** Deletes ended tasks whose status last changed longer ago. Unset: keeps all. */
    readonly retentionMs?: number;
    /** Deletes contexts that were last written longer ago, up to an hour later. Unset: keeps all. */
    readonly contextRetentionMs?: number;
    readonly limit: number;
  }): Promise<Swept>;

  /**
   * Calls `listener` for changes of other replicas: cancellation requests, ends of commands, and
   * appends to followed tasks. Notices can be lost, or arrive for tasks that are not followed; the log
   * is authoritative. Calls `onGap` when notices of unknown tasks were lost.
   */
  watch(
    listener: (notice: { readonly taskId: string; readonly version: number }) => void,
    onGap?: () => void,
  ): () => void;

  /** Requests notices of appends to a task, until the returned function is called. */
  follow(taskId: string): () => void;

  close(): Promise<void>;
}

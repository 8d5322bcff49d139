/**
 * The store contract. Words used here:
 *
 * - **owner**: the scope of everything that belongs to one caller of one agent, as one opaque string
 *   (`ownerKey`). A task or context of another owner does not exist.
 * - **task record**: the row of a task: its state, its version, and a snapshot that may lag behind.
 * - **event**: one numbered entry of a task's log, 1, 2, 3 without gaps. The log is the truth.
 * - **version** of a task: the number of its last event. Every change appends; the writer names
 *   the version it knows, and loses when it is not the current one.
 * - **turn**: one message being handled: `queued`, `running` under one replica, or `ended`. An ended
 *   turn is kept until it expires, so that a repeated message finds it.
 * - **key** of a turn: turns of one key run one at a time, in the order of their admission.
 * - **replica**: one running process, alive while its heartbeat is fresh. A turn that runs under a
 *   dead replica may be taken over.
 * - **context state**: what an agent keeps of a conversation: one value and an append-only log.
 * - **delivery**: one event to be sent to one webhook.
 * - **record**: a small JSON document in a named space, with an optional expiry.
 * - **vector**: the embedding of a text by one model.
 *
 * Every method is one transaction: all of it happens, or none. A method that resolves has been
 * written durably (as far as the driver is durable at all).
 * Failures of the medium reject with `STORE_FAILED`.
 *
 * Replicas compare times by one clock, that of the store: in PostgreSQL the clock of the database.
 * Leases, delays and retention are durations in milliseconds, which the driver adds to that clock.
 * Times that are passed in (`now`, `statusTime`, `expiresAt`) are milliseconds since 1970 and come
 * from `Store.clock`, never from the wall clock of the process.
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

/** A caller's follow-up stands in the log as `{ message }`; every other entry goes to subscribers. */
export interface LogEvent {
  readonly sequence: number;
  readonly body: Json<StreamResponse>;
}

export interface Snapshot {
  /** The version this snapshot shows. */
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
  /** Input-required, but a later task of its context has taken the conversation over. */
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
  /** For a command (`CommandStore`) its own id, which names no task. */
  readonly taskId: string;
  /** 1 on the first run. */
  readonly attempt: number;
  /** What the admitting replica knew of the request, for the replica that runs it. */
  readonly request: Json<JsonValue>;
}

/** How a message was deduplicated. */
export interface Dedupe {
  /** Unique among the owner's messages. */
  readonly key: string;
  /** A digest of the content: the same key with another digest is refused. */
  readonly digest: string;
  readonly expiresAt: number;
}

export interface Admission {
  /** The agent's name: contexts are counted, and turns taken over, for each agent by itself. */
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
   * A new task: its first event is `{ task }`, its status time `now`. Its id must be new. Absent:
   * the task exists and is continued.
   */
  readonly task?: Json<Task>;
  /** A push configuration to register with a new task, which receives the first event, too. */
  readonly push?: PushRegistration | undefined;
  /**
   * The most contexts of the agent, over all its callers, that may have unfinished tasks; 0 for no
   * limit. A new task in a context that already has one is always let in.
   */
  readonly maxContexts: number;
}

/**
 * Looked at in this order: the message came before, the task cannot be continued, the limit of
 * contexts. A message is remembered while its turn is open and then until its `expiresAt`, but
 * not beyond its task.
 */
export type AdmitOutcome =
  | {
      readonly kind: 'admitted';
      readonly turn: TurnRecord;
      /** Running under the admitting replica; else queued behind others of its key. */
      readonly running: boolean;
    }
  /** The same message came before. `reply`: it was answered with a plain message. */
  | {
      readonly kind: 'duplicate';
      readonly taskId: string;
      readonly ended: boolean;
      readonly reply?: Json<Message>;
    }
  | { readonly kind: 'reused' }
  | { readonly kind: 'context-limit' }
  /** Unknown, or of another owner. */
  | { readonly kind: 'task-not-found' }
  /** The task to be continued is in a terminal state. */
  | { readonly kind: 'task-ended' };

export interface Append {
  readonly taskId: string;
  /** The version known to the writer; the first event has the number after it. */
  readonly version: number;
  readonly events: readonly LogEvent[];
  /** The task's state and status time after the last event. */
  readonly state: TaskState;
  readonly statusTime: number;
  /**
   * The task stays input-required, and counts as ended for the limit of contexts and for retention. The
   * next append without it opens the task again. @default false
   */
  readonly isSuperseded?: boolean;
  /** A driver may leave out that of a log of up to 8 events, which is read as fast. */
  readonly snapshot?: Snapshot | undefined;
  /** Given by the runner of a turn: refused as fenced when the turn no longer runs under this replica. */
  readonly turn?: { readonly id: number; readonly replica: string };
  /** Ends `turn`; the next turn of its key, if any, starts to run under the same replica. */
  readonly endsTurn?: boolean;
  /** Ends `turn` with a plain message: the task and its log vanish, the reply is kept for repeats. */
  readonly reply?: Json<Message> | undefined;
  readonly context?: ContextWrite | undefined;
  readonly records?: readonly RecordWrite[] | undefined;
  /** Who would run the next turn. */
  readonly replica: string;
  readonly now: number;
}

/**
 * A terminal state ends every turn of the task, queued ones included. `next` is the turn that now
 * runs under `replica`: of the key of `turn`, or else of the key of the first turn that ended. When
 * the task has push configurations, a delivery for each event and configuration is written in the
 * same transaction, save for callers' follow-ups.
 *
 * `fenced` is looked at first. `version-conflict` also says that the task is gone or was terminal
 * already, or that an `ifVersion` of `records` did not hold. Either way nothing was written.
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

/** A position in the list of contexts: whole hours, then the order of their first writes. */
export interface ContextPosition {
  /** The end of the hour in which it was last written, in milliseconds since 1970. */
  readonly retentionBucket: number;
  readonly number: number;
}

export interface ContextQuery {
  /** Only contexts of this id, of whichever owner. */
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
  /** Unset: of all owners. Only for operators, never for a caller. */
  readonly owner?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Leaves superseded tasks out. @default false */
  readonly isOpen?: boolean;
  /** Inclusive. */
  readonly statusTimeFrom?: number;
  /** Tasks after this one in the order of the list: status time descending, then id descending. */
  readonly after?: { readonly statusTime: number; readonly id: string };
  readonly limit: number;
}

export interface TaskPage {
  readonly records: readonly TaskRecord[];
  /** Matches over all pages. PostgreSQL counts up to 10,000: then there may be more. */
  readonly total: number;
  readonly more: boolean;
}

/** What a sweep deleted, by kind; a kind that reached the limit may have more. */
export interface Swept {
  readonly tasks: number;
  readonly contexts: number;
  /** Expired idempotency keys of messages. */
  readonly messages: number;
  readonly records: number;
}

/**
 * Where everything is kept. One contract, several drivers; every method is one transaction.
 * @example
 * const store: Store = await openStore({ type: 'sqlite', path: '.legate/store.db' });
 * await using server = await serve(agent, { store }); // leaves a store open that it did not open
 */
export interface Store {
  readonly driver: 'memory' | 'sqlite' | 'postgres';
  /** Whether other replicas may use the same store. */
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
   * Marks an unfinished task as to be cancelled, and says which of its turns are under way;
   * undefined when there is no such task or it has ended.
   */
  requestCancel(
    taskId: string,
  ): Promise<{ readonly running: boolean; readonly queued: boolean } | undefined>;

  /** The tasks to be cancelled of which a turn runs under this replica. */
  cancelRequests(replica: string): Promise<readonly string[]>;

  /** What became of a turn; undefined when it is unknown or no longer remembered. */
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
   * Contexts of all owners, those written in the latest hour first; of one hour, the newest first. Only for
   * operators, never for a caller.
   */
  listContexts(query: ContextQuery): Promise<readonly ListedContext[]>;
  deleteContext(owner: string, contextId: string): Promise<boolean>;

  /** Renews the lease of a replica: it is alive for `leaseMs` from now on, `Infinity` forever. */
  heartbeat(replica: string, leaseMs: number): Promise<void>;
  /** Ends the life of a replica; turns it runs may be taken over, and deliveries claimed, at once. */
  retire(replica: string): Promise<void>;
  /** Those of the given replicas whose lease has expired, unless spared, or that have none. */
  deadReplicas(
    replicas: readonly string[],
    options?: { readonly sparesExpired?: boolean },
  ): Promise<readonly string[]>;
  /**
   * Gives this replica turns that no live replica runs, oldest first: those of dead replicas (their
   * attempt goes up by one) and queued ones whose key is idle. The asking replica is alive. With
   * `sparesExpired`, replicas whose lease has expired count as alive, unless they have retired.
   *
   * `inFlight` are the keys whose turns the replica runs or is about to run. With it, the replica is
   * also given turns that run in its name under other keys, as they are: the answer to their claim
   * was lost, or their runner gave up. The replica itself knows which.
   */
  takeOver(query: {
    readonly agent: string;
    readonly replica: string;
    readonly limit: number;
    readonly sparesExpired?: boolean;
    readonly inFlight?: readonly string[];
  }): Promise<readonly TurnRecord[]>;
  /**
   * Puts a running turn of this replica back at the head of its queue, for others to take over. With
   * `started`, it has started and its attempt goes up by one.
   */
  release(turn: {
    readonly id: number;
    readonly replica: string;
    readonly started?: boolean;
  }): Promise<void>;

  /** For operators: queued turns of an agent, and its contexts that count against the limit. */
  counts(agent: string): Promise<AgentCounts>;

  readonly commands: CommandStore;
  readonly push: PushStore;
  readonly records: RecordStore;
  readonly vectors: VectorStore;

  /**
   * Deletes what is over: terminal and superseded tasks with all that hangs on them, expired turns and
   * records, and the state of contexts, up to `limit` of each. A task stays while a delivery of it is
   * pending, a superseded one also while a turn of it is open, a context while it has an unfinished task.
   */
  sweep(query: {
    /** Terminal tasks whose status changed longer ago go. Unset: none goes. */
    readonly retentionMs?: number;
    /** Contexts last written longer ago go, some up to an hour later. Unset: none goes. */
    readonly contextRetentionMs?: number;
    readonly limit: number;
  }): Promise<Swept>;

  /**
   * Calls back for changes of other replicas: cancellation requests, ends of commands, and appends to
   * tasks that are followed. A notice may be lost or come for another task, the log is always right.
   * `onGap`: notices were lost, and of which tasks is unknown.
   */
  watch(
    listener: (notice: { readonly taskId: string; readonly version: number }) => void,
    onGap?: () => void,
  ): () => void;

  /** Asks for notices of appends to a task, until the result is called. */
  follow(taskId: string): () => void;

  close(): Promise<void>;
}

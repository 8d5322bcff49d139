import type { Json, JsonValue, TaskPushNotificationConfig } from '../protocol/index.ts';
import type { Neighbour } from '../search/index.ts';
import type { ContextWrite, StoreClock, TurnRecord } from './contract.ts';

/** How a command ended. `next`: the turn of its key that now runs under the same replica. */
export type CommandEnd =
  | { readonly kind: 'ended'; readonly next?: TurnRecord }
  /** The turn no longer runs under this replica. Nothing was written. */
  | { readonly kind: 'fenced' }
  /** An `ifVersion` of `records` did not match. Nothing was written. */
  | { readonly kind: 'version-conflict' };

/**
 * Commands: turns without a task. They wait in the queue of their key and are taken over like all other
 * turns. The `taskId` of their turn is the command's own id; no task has this id.
 */
export interface CommandStore {
  queue(command: {
    readonly agent: string;
    readonly key: string;
    /** New among all ids of commands and tasks. */
    readonly id: string;
    readonly replica: string;
    readonly request: Json<JsonValue>;
  }): Promise<{
    readonly turn: TurnRecord;
    /** Whether the turn runs under this replica; else it is queued behind other turns of its key. */
    readonly running: boolean;
  }>;
  /** Ends a running command and writes all its changes, in one transaction. */
  end(end: {
    readonly turn: Pick<TurnRecord, 'id' | 'taskId'>;
    readonly replica: string;
    readonly context?: ContextWrite | undefined;
    readonly records?: readonly RecordWrite[] | undefined;
    readonly now: number;
  }): Promise<CommandEnd>;
  /** Ends all commands of a key without effect, running ones included, and returns their ids. */
  drop(
    key: string,
    replica: string,
  ): Promise<{ readonly ids: readonly string[]; readonly next?: TurnRecord }>;
}

/** A push configuration as stored: with its id, and the wire version it was registered under. */
export interface PushRegistration {
  readonly config: TaskPushNotificationConfig & { readonly id: string };
  readonly wireVersion: '0.3' | '1.0';
}

export interface Delivery {
  readonly id: number;
  readonly taskId: string;
  readonly sequence: number;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly push: PushRegistration;
  /** Why the stored configuration can't be decoded; `push` then has its id and an empty URL. */
  readonly unreadable?: string;
}

export type DeliveryState = 'pending' | 'dead';

export interface DeliveryRecord extends Delivery {
  readonly state: DeliveryState;
  readonly nextAttemptAt: number;
  readonly lastError?: string;
}

export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly afterMs: number; readonly error: string }
  | { readonly kind: 'dead'; readonly error: string };

/** The webhooks of tasks and their deliveries. For rules and terms see contract.ts. */
export interface PushStore {
  /**
   * Adds a configuration, or replaces that of the same id and keeps its position. Rejects with
   * `TASK_NOT_FOUND`.
   */
  put(taskId: string, registration: PushRegistration): Promise<void>;
  get(taskId: string, configId: string): Promise<PushRegistration | undefined>;
  /** In the order of registration. */
  list(taskId: string): Promise<readonly PushRegistration[]>;
  /** Deletes a configuration and its deliveries. Returns false if there was none. */
  delete(taskId: string, configId: string): Promise<boolean>;
  /**
   * Claims only the oldest pending delivery of each configuration, if it is due and not claimed; the
   * longest due first. A claim ends when its lease expires or its replica retires.
   */
  claim(query: {
    readonly replica: string;
    readonly leaseMs: number;
    readonly limit: number;
  }): Promise<readonly Delivery[]>;
  /**
   * `delivered` deletes the delivery; `retry` and `dead` count one attempt of a pending delivery. A
   * dead delivery no longer blocks the deliveries behind it. Has no effect if the delivery no longer
   * exists.
   */
  settle(deliveryId: number, outcome: DeliveryOutcome): Promise<void>;
  /**
   * Milliseconds until the next delivery can be claimed, 0 if one is due. A claimed delivery is due
   * again when its lease ends.
   */
  nextDueMs(): Promise<number | undefined>;
  /** In the order of their ids, from the one after `after`. */
  deliveries(query: {
    readonly state?: DeliveryState;
    readonly taskId?: string;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly DeliveryRecord[]>;
  /** For operators: the number of deliveries in each state. */
  counts(): Promise<Readonly<Record<DeliveryState, number>>>;
  /**
   * Makes a dead delivery pending again, due at once, with no attempts made. Returns false if there is
   * none.
   */
  revive(deliveryId: number): Promise<boolean>;
}

export interface RecordWrite {
  readonly space: string;
  readonly key: string;
  /** Absent: delete. */
  readonly value?: Json<JsonValue>;
  readonly expiresAt?: number;
  /**
   * The version expected before any of the writes; 0 for "must not exist". Unset: replaces any version.
   */
  readonly ifVersion?: number;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Json<JsonValue>;
  /** Counts the writes of this key, from 1. Restarts after a deletion or an expiry. */
  readonly version: number;
  readonly expiresAt?: number;
  readonly updatedAt: number;
}

/** Small documents in named spaces. For rules and terms see contract.ts. */
export interface RecordStore {
  /** The clock of the store, for expiries. */
  readonly clock: StoreClock;
  get(space: string, key: string, now: number): Promise<StoredRecord | undefined>;
  /** Returns false if an `ifVersion` did not match; then nothing was written. */
  write(writes: readonly RecordWrite[], now: number): Promise<boolean>;
  /** In the order of the keys, by code points. */
  list(query: {
    readonly space: string;
    readonly prefix?: string;
    readonly after?: string;
    readonly limit: number;
    readonly now: number;
  }): Promise<readonly StoredRecord[]>;
  /**
   * Adds to a counter and returns its new value. A counter starts at 0, expires at the `expiresAt` of
   * the call that created it, and can be read as a record that contains a number.
   */
  increment(counter: {
    readonly space: string;
    readonly key: string;
    readonly by: number;
    readonly expiresAt: number;
    readonly now: number;
  }): Promise<number>;
}

/** The owner of vectors, and the model that computed them: vectors of two models can't be compared. */
export interface VectorScope {
  /** The kind of embedded texts. */
  readonly space: string;
  readonly owner: string;
  readonly model: string;
}

export interface StoredVector {
  readonly key: string;
  /** Stored with length 1. */
  readonly vector: Float32Array;
}

/** Embeddings with nearest-neighbour search. For rules and terms see contract.ts. */
export interface VectorStore {
  /** Adds vectors, or replaces vectors with the same keys. */
  write(scope: VectorScope, vectors: readonly StoredVector[]): Promise<void>;
  /** The keys of a scope after `after`, in their order by code points. */
  keys(
    scope: VectorScope,
    options: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<readonly string[]>;
  /** The greatest key of a scope. */
  lastKey(scope: VectorScope): Promise<string | undefined>;
  /** The nearest neighbours of a vector, best first. Ignores vectors of another length. */
  nearest(scope: VectorScope, vector: Float32Array, limit: number): Promise<readonly Neighbour[]>;
  /** Deletes vectors of an owner for all models: the given keys, or all. */
  delete(query: {
    readonly space: string;
    readonly owner: string;
    readonly keys?: readonly string[];
  }): Promise<void>;
}

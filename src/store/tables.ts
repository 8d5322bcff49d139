import type { Json, JsonValue, Message, Task, TaskState } from '../protocol/index.ts';
import type {
  Admission,
  ContextQuery,
  ContextRecord,
  ContextWrite,
  Dedupe,
  ListedContext,
  LogEvent,
  PushRegistration,
  PushStore,
  RecordStore,
  Snapshot,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TurnRecord,
  VectorStore,
} from './contract.ts';
import type { OpenContexts } from './open-contexts.ts';
import type { RecordRows } from './record-rules.ts';
import type { OpenTurn, TurnQueue } from './turn-queue.ts';

/** A task without its log. Only its table changes it. */
export interface TaskRow {
  readonly number: number;
  readonly id: string;
  readonly agent: string;
  readonly owner: string;
  readonly contextId: string;
  state: TaskState;
  statusTime: number;
  version: number;
  cancelRequested: boolean;
  isSuperseded: boolean;
  pushConfigs: number;
}

/** The row of a newly admitted task. */
export function newTaskRow(
  number: number,
  { taskId: id, agent, owner, contextId, now }: Admission,
  state: TaskState,
): TaskRow {
  return {
    number,
    id,
    agent,
    owner,
    contextId,
    state,
    statusTime: now,
    version: 1,
    cancelRequested: false,
    isSuperseded: false,
    pushConfigs: 0,
  };
}

/** A message that was admitted before. */
export interface KnownMessage {
  readonly turnId: number;
  readonly digest: string;
  readonly taskId: string;
  readonly expiresAt: number;
  readonly reply: Json<Message> | undefined;
}

/**
 * The tables of a store of one process, in memory or in a file. The rules of the contract are written
 * once above both (`admit`, `append`, `LocalStore`). Methods that write run inside a transaction.
 */
export interface Tables {
  readonly tasks: {
    find(id: string): TaskRow | undefined;
    /** Throws if a task with this id exists. */
    insert(admission: Admission, state: TaskState): TaskRow;
    advance(
      row: TaskRow,
      to: Pick<TaskRow, 'version' | 'state' | 'statusTime' | 'isSuperseded'>,
    ): void;
    requestCancel(row: TaskRow): void;
    /** Terminal and superseded tasks whose status changed before a time, without pending deliveries. */
    expired(before: number, limit: number): readonly TaskRow[];
  };
  readonly events: {
    /** Writes the first event, which is also the first snapshot. */
    create(task: TaskRow, body: Json<Task>): void;
    append(task: TaskRow, events: readonly LogEvent[]): void;
    setSnapshot(task: TaskRow, snapshot: Snapshot): void;
    read(task: TaskRow, after: number, limit: number): readonly LogEvent[];
  };
  readonly turns: {
    readonly open: TurnQueue;
    /** An id that no turn has had before. */
    nextId(): number;
    insert(turn: OpenTurn, request: Json<JsonValue>): void;
    run(turn: OpenTurn, replica: string, attempt: number): TurnRecord;
    release(turn: OpenTurn, attempt: number): void;
    end(turn: OpenTurn): void;
  };
  /** Idempotency keys of messages, to detect duplicates. */
  readonly messages: {
    find(owner: string, key: string): KnownMessage | undefined;
    ofTurn(turnId: number): KnownMessage | undefined;
    /** The owner must have no message of that key. */
    insert(turnId: number, owner: string, dedupe: Dedupe, taskId: string): void;
    setReply(turnId: number, reply: Json<Message>): void;
    delete(turnId: number): void;
    /** Deletes expired messages whose turn has ended. Returns their number. */
    sweep(now: number, limit: number): number;
  };
  readonly contexts: {
    read(owner: string, contextId: string): ContextRecord | undefined;
    readLog(owner: string, contextId: string, last?: number): readonly Json<JsonValue>[];
    list(query: ContextQuery): readonly ListedContext[];
    write(write: ContextWrite, now: number): void;
    delete(owner: string, contextId: string): boolean;
    /**
     * Deletes contexts last written before a time that have no unfinished task. Returns their number.
     */
    sweep(before: number, limit: number): number;
  };
  readonly openContexts: OpenContexts;
  readonly push: PushStore & {
    register(task: TaskRow, registration: PushRegistration): void;
    /** Queues one delivery of an event for each configuration. */
    queueDeliveries(task: TaskRow, sequence: number, now: number): void;
    /** Ends the claims of a replica. */
    unclaim(replica: string): void;
  };
  readonly records: RecordStore & RecordRows & { sweep(now: number, limit: number): number };
  readonly vectors: VectorStore;
  /** Whole task records. */
  readonly list: {
    load(taskId: string): TaskRecord | undefined;
    page(query: TaskQuery): TaskPage;
  };
  /** Deletes a task with its log, snapshot and webhooks. */
  remove(task: TaskRow): void;
}

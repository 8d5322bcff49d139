import {
  isPlainText,
  isTerminal,
  Json,
  type Message,
  type StreamResponse,
  type Task,
  toError,
} from '../protocol/index.ts';
import type {
  Append,
  AppendOutcome,
  ContextWrite,
  LogEvent,
  RecordWrite,
  Snapshot,
  Store,
  TurnRecord,
} from '../store/index.ts';
import type { Hub } from './log-reader.ts';
import { LiveTask } from './live-task.ts';
import { retryWhileUnavailable, type Scheduler } from './scheduler.ts';
import { timeOf } from './agent-events.ts';

/** Events that can be pending before the agent has to wait for the store. */
const pendingLimit = 256;

export interface FinalWrite {
  /** The event that ends the turn, written in the same transaction as the rest. */
  readonly event?: StreamResponse;
  readonly context?: ContextWrite;
  readonly records?: readonly RecordWrite[];
  /** Ends the turn with a plain message, which replaces the task. */
  readonly reply?: Json<Message>;
}

const none: FinalWrite = {};

/** Another writer took over the turn or changed its task: this process must not write any more. */
export class TurnLost extends Error {
  override readonly name = 'TurnLost';
}

/** The result of a write that took effect. */
interface Stored {
  readonly next?: TurnRecord;
  readonly cancelRequested: boolean;
  readonly deliveries: boolean;
}

function storedOf(outcome: AppendOutcome): Stored {
  if (outcome.kind === 'appended') return outcome;
  throw new TurnLost(
    outcome.kind === 'fenced'
      ? 'the turn runs elsewhere, or its task has ended'
      : 'the task was changed by another writer',
  );
}

export interface TaskWriterOptions {
  readonly task: LiveTask;
  readonly snapshotVersion: number;
  readonly store: Store;
  readonly hub: Hub;
  readonly scheduler: Scheduler;
  readonly replica: string;
  readonly turnId: number;
  readonly onCancelRequested: () => void;
  readonly onLost: (error: Error) => void;
  readonly onDeliveries: () => void;
}

/**
 * Writes the events of one turn: persist, then publish. Events that are emitted during a write are
 * written together by the next one, so a fast agent needs few transactions and a slow one has no delay.
 *
 * - **idle**: nothing pending.
 * - **scheduled**: events are pending; they are written once the agent has paused.
 * - **writing**: one append is running; further events are pending.
 * - **ending**: one last append writes all pending events together with the end of the turn.
 * - **ended** / **lost**: nothing more is written.
 */
export class TaskWriter {
  readonly task: LiveTask;
  readonly #options: TaskWriterOptions;
  #snapshotVersion: number;
  #written: number;
  #pending: LogEvent[] = [];
  #scheduled = false;
  #writing: Promise<void> | undefined;
  /** Set by `end`: the last write, with all pending events. */
  #ending: Promise<TurnRecord | undefined> | undefined;
  #failure: Error | undefined;

  constructor(options: TaskWriterOptions) {
    this.#options = options;
    this.task = options.task;
    this.#written = options.task.version;
    this.#snapshotVersion = options.snapshotVersion;
  }

  /** Whether the agent has to wait for the store. */
  get isFull(): boolean {
    return this.#pending.length >= pendingLimit;
  }

  /** The error after which nothing more can be written. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  emit(body: StreamResponse): void {
    const sequence = this.task.version + 1;
    this.task.apply(body, sequence);
    this.#pending.push({ sequence, body: Json.of(body) });
  }

  /**
   * Marks a text as complete: in its last chunk if that is not written yet, else with an empty chunk, so that
   * readers don't wait for another one.
   */
  complete(artifactId: string): void {
    const { id: taskId, contextId } = this.task;
    const last = this.task.partsOf(artifactId)?.at(-1);
    for (let index = this.#pending.length - 1; index >= 0; index -= 1) {
      const { sequence, body } = this.#pending[index] ?? {};
      if (sequence === undefined || body === undefined || !('artifactUpdate' in body.value))
        continue;
      const update = body.value.artifactUpdate;
      if (update.artifact.artifactId !== artifactId) continue;
      const completed = Json.of<StreamResponse>({ artifactUpdate: { ...update, lastChunk: true } });
      this.#pending[index] = { sequence, body: completed };
      return;
    }
    // Data and files stay as they are.
    if (!isPlainText(last)) return;
    const artifact = { artifactId, parts: [{ ...last, text: '' }] };
    this.emit({ artifactUpdate: { taskId, contextId, artifact, append: true, lastChunk: true } });
  }

  get #isWriting(): boolean {
    return this.#writing !== undefined || this.#ending !== undefined;
  }

  /** Writes pending events after the current work of the event loop. */
  schedule(): void {
    if (this.#scheduled || this.#isWriting || this.#failure !== undefined) return;
    this.#scheduled = true;
    this.#options.scheduler.defer(() => {
      this.#scheduled = false;
      if (!this.#isWriting && this.#pending.length > 0) void this.#start();
    });
  }

  /** Writes, to detect that the turn was taken over. A write in flight detects it too. */
  async probe(): Promise<void> {
    if (!this.#isWriting && this.#failure === undefined) await this.#start();
  }

  /** Resolves once everything emitted so far is stored. */
  async flush(): Promise<void> {
    while (
      this.#ending === undefined &&
      (this.#writing !== undefined || this.#pending.length > 0)
    ) {
      await (this.#writing ?? this.#start());
      if (this.#failure !== undefined) throw this.#failure;
    }
    await this.#ending;
  }

  /** Writes the pending events and the end of the turn atomically. */
  end(final: FinalWrite): {
    readonly task: Json<Task>;
    /** Resolves once stored, with the next turn of the same key if this process has to run it. */
    readonly written: Promise<TurnRecord | undefined>;
  } {
    if (final.event !== undefined) this.emit(final.event);
    const task = Json.of(this.task.toTask());
    const write = (): Promise<TurnRecord | undefined> => this.#appendEnd(task, final);
    this.#ending = this.#writing === undefined ? write() : this.#writing.then(write);
    return { task, written: this.#ending };
  }

  #appendEnd(body: Json<Task>, final: FinalWrite): Promise<TurnRecord | undefined> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { version, status } = this.task;
    // Snapshots at doubling distances cost a constant per event, however many turns a task has.
    const isDue = version - this.#snapshotVersion >= this.#snapshotVersion;
    const snapshot = isDue || isTerminal(status.state) ? { version, body } : undefined;
    return this.#append({ final, snapshot });
  }

  #start(): Promise<void> {
    this.#writing = this.#append().then(
      () => {
        this.#writing = undefined;
        if (this.#pending.length > 0) this.schedule();
      },
      (error: unknown) => {
        this.#writing = undefined;
        this.#failure = toError(error);
        this.#pending = [];
        this.#options.onLost(this.#failure);
      },
    );
    return this.#writing;
  }

  async #append(end?: {
    readonly final: FinalWrite;
    readonly snapshot: Snapshot | undefined;
  }): Promise<TurnRecord | undefined> {
    const events = this.#pending;
    this.#pending = [];
    const { id: taskId, status } = this.task;
    const { hub, scheduler, replica, turnId, onCancelRequested, onDeliveries } = this.#options;
    const { reply, context, records } = end?.final ?? none;
    const now = scheduler.now();
    const append: Append = {
      taskId,
      version: this.#written,
      events,
      state: status.state,
      statusTime: timeOf(status.timestamp ?? '') || now,
      turn: { id: turnId, replica },
      replica,
      now,
      endsTurn: end !== undefined,
      snapshot: end?.snapshot,
      reply,
      context,
      records,
    };
    const outcome = await this.#persist(append);
    this.#written += events.length;
    if (end?.snapshot !== undefined) this.#snapshotVersion = end.snapshot.version;
    if (outcome.cancelRequested) onCancelRequested();
    if (outcome.deliveries) onDeliveries();
    if (reply !== undefined) hub.wake(taskId);
    else if (events.length > 0) hub.publish(taskId, events);
    return outcome.next;
  }

  /**
   * Retries while the store is unavailable. An attempt whose answer was lost may have been stored: then
   * the next attempt conflicts with the events of this one.
   */
  #persist(append: Append): Promise<Stored> {
    const { store, scheduler } = this.#options;
    return retryWhileUnavailable(scheduler, async (attempt) => {
      const outcome = await store.append(append);
      const isDecided = attempt === 1 || outcome.kind === 'appended';
      if (isDecided || !(await this.#isStored(append))) return storedOf(outcome);
      const record = await store.load(append.taskId);
      return { cancelRequested: record?.cancelRequested === true, deliveries: true };
    });
  }

  /** Whether an append whose answer was lost took effect. It is atomic. */
  async #isStored({ taskId, version, events, reply }: Append): Promise<boolean> {
    const { store, turnId } = this.#options;
    if (reply !== undefined) {
      const turn = await store.loadTurn(turnId);
      if (turn?.reply !== undefined) return turn.reply.text === reply.text;
      // Only a reply removes an unfinished task.
      return (await store.load(taskId)) === undefined;
    }
    // Compares all events: the replica that took over the turn may have written the same first event.
    const stored = await store.readEvents(taskId, version, events.length);
    return (
      events.length > 0 && events.every(({ body }, index) => body.text === stored[index]?.body.text)
    );
  }
}

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

/** Events that may wait for the disk before the agent has to. */
const pendingLimit = 256;

export interface FinalWrite {
  /** The event that ends the turn: given here, it can't be written apart from the rest. */
  readonly event?: StreamResponse;
  readonly context?: ContextWrite;
  readonly records?: readonly RecordWrite[];
  /** Ends the turn with a plain message: the task vanishes. */
  readonly reply?: Json<Message>;
}

const none: FinalWrite = {};

/** The turn was taken over or its task was changed by another: nothing more may be written. */
export class TurnLost extends Error {
  override readonly name = 'TurnLost';
}

/** What is known of a write that took effect. */
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
 * Writes the events of one turn: persist, then publish. Events made while a write is under way are
 * written together by the next one, so a fast agent costs few transactions and a slow one no delay.
 *
 * - **idle**: nothing pending.
 * - **scheduled**: events are pending; they are written once the agent has paused.
 * - **writing**: one append is under way; further events pend.
 * - **ending**: what is left is written as one, with the end of the turn, and by no other writer.
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
  /** From the call of `end` on: all that is left belongs to that one write. */
  #ending: Promise<TurnRecord | undefined> | undefined;
  #failure: Error | undefined;

  constructor(options: TaskWriterOptions) {
    this.#options = options;
    this.task = options.task;
    this.#written = options.task.version;
    this.#snapshotVersion = options.snapshotVersion;
  }

  /** Whether the agent has to wait for the disk. */
  get isFull(): boolean {
    return this.#pending.length >= pendingLimit;
  }

  /** Why nothing more can be written. */
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

  /** Writes, so that a turn that was taken over is found to be lost. A write that is in flight will do. */
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

  /** Writes what is left together with the end of the turn: all of it, or nothing. */
  end(final: FinalWrite): {
    readonly task: Json<Task>;
    /** Stored; the turn of the same key that is now to be run here. */
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
   * Retries while the store is unavailable. An attempt whose answer was lost may have been stored:
   * then the next one conflicts with our own events.
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
      // Nothing but a reply makes an unfinished task vanish.
      return (await store.load(taskId)) === undefined;
    }
    // The first event alone does not tell: the replica that took the turn over may have started it the same way.
    const stored = await store.readEvents(taskId, version, events.length);
    return (
      events.length > 0 && events.every(({ body }, index) => body.text === stored[index]?.body.text)
    );
  }
}

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
  readonly #store: Store;
  readonly #hub: Hub;
  readonly #scheduler: Scheduler;
  readonly #replica: string;
  readonly #turnId: number;
  readonly #onCancelRequested: () => void;
  readonly #onLost: (error: Error) => void;
  readonly #onDeliveries: () => void;
  #snapshotVersion: number;
  #written: number;
  #pending: LogEvent[] = [];
  #scheduled = false;
  #writing: Promise<void> | undefined;
  /** From the call of `end` on: all that is left belongs to that one write. */
  #ending: Promise<TurnRecord | undefined> | undefined;
  #failure: Error | undefined;

  constructor(options: {
    task: LiveTask;
    snapshotVersion: number;
    store: Store;
    hub: Hub;
    scheduler: Scheduler;
    replica: string;
    turnId: number;
    onCancelRequested: () => void;
    onLost: (error: Error) => void;
    onDeliveries: () => void;
  }) {
    this.task = options.task;
    this.#written = options.task.version;
    this.#snapshotVersion = options.snapshotVersion;
    this.#store = options.store;
    this.#hub = options.hub;
    this.#scheduler = options.scheduler;
    this.#replica = options.replica;
    this.#turnId = options.turnId;
    this.#onCancelRequested = options.onCancelRequested;
    this.#onLost = options.onLost;
    this.#onDeliveries = options.onDeliveries;
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
   * Says that nothing more comes of a text: with its last piece, unless that is written already, else
   * with an empty one, because readers are not to wait for a piece that may be the last.
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

  /** Sees to it that what was emitted is written soon. */
  schedule(): void {
    if (this.#scheduled || this.#writing !== undefined || this.#ending !== undefined) return;
    if (this.#failure !== undefined) return;
    this.#scheduled = true;
    this.#scheduler.defer(() => {
      this.#scheduled = false;
      const isBusy = this.#writing !== undefined || this.#ending !== undefined;
      if (!isBusy && this.#pending.length > 0) void this.#start();
    });
  }

  /** Finds out whether the turn is still ours to write for; if not, it is lost. */
  async probe(): Promise<void> {
    // Any write tells, so one that is under way will do.
    const isTold = this.#writing !== undefined || this.#ending !== undefined;
    if (!isTold && this.#failure === undefined) await this.#start();
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
        this.#onLost(this.#failure);
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
    const { status } = this.task;
    const { reply, context, records } = end?.final ?? none;
    const append: Append = {
      taskId: this.task.id,
      version: this.#written,
      events,
      state: status.state,
      statusTime: timeOf(status.timestamp ?? '') || this.#scheduler.now(),
      turn: { id: this.#turnId, replica: this.#replica },
      replica: this.#replica,
      now: this.#scheduler.now(),
      endsTurn: end !== undefined,
      snapshot: end?.snapshot,
      reply,
      context,
      records,
    };
    const outcome = await this.#persist(append);
    this.#written += events.length;
    if (end?.snapshot !== undefined) this.#snapshotVersion = end.snapshot.version;
    if (outcome.cancelRequested) this.#onCancelRequested();
    if (outcome.deliveries) this.#onDeliveries();
    if (reply !== undefined) this.#hub.wake(this.task.id);
    else if (events.length > 0) this.#hub.publish(this.task.id, events);
    return outcome.next;
  }

  /**
   * Retries while the store is unavailable. An attempt whose answer was lost may have been stored:
   * then the next one conflicts with our own events.
   */
  #persist(append: Append): Promise<Stored> {
    return retryWhileUnavailable(this.#scheduler, async (attempt) => {
      const outcome = await this.#store.append(append);
      const isDecided = attempt === 1 || outcome.kind === 'appended';
      if (isDecided || !(await this.#isStored(append))) return storedOf(outcome);
      const record = await this.#store.load(append.taskId);
      return { cancelRequested: record?.cancelRequested === true, deliveries: true };
    });
  }

  /** Whether a try whose answer was lost took effect: all that it wrote is there, or nothing. */
  async #isStored({ taskId, version, events, reply }: Append): Promise<boolean> {
    if (reply !== undefined) {
      const turn = await this.#store.loadTurn(this.#turnId);
      if (turn?.reply !== undefined) return turn.reply.text === reply.text;
      // Nothing but a reply makes an unfinished task vanish.
      return (await this.#store.load(taskId)) === undefined;
    }
    // The first event alone does not tell: the replica that took the turn over may have started it the same way.
    const stored = await this.#store.readEvents(taskId, version, events.length);
    return (
      events.length > 0 && events.every(({ body }, index) => body.text === stored[index]?.body.text)
    );
  }
}

import {
  isTerminal,
  type Json,
  type StreamResponse,
  type Task,
  type TaskState,
} from '../protocol/index.ts';
import type { LogEvent } from '../store/index.ts';
import { isSuperseded } from './agent-events.ts';
import type { LogReader } from './log-reader.ts';
import type { TurnOutcome } from './turn-run.ts';

/** One event on its way to a caller. */
export interface StreamEvent {
  /** Its number in the task's log; 0 for a plain message, which has none. */
  readonly sequence: number;
  readonly body: Json<StreamResponse>;
  /** The stream closes after it. */
  readonly isLast: boolean;
}

/** Decides after which state a stream closes. */
export type CloseRule = (state: TaskState) => boolean;

/** Close rule of a stream that answers a message: after input-required the caller sends the next message. */
export const closesOnInput: CloseRule = (state) =>
  isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED';

/**
 * The events of one task for one caller, pulled by the caller: first the events that are known at once,
 * then the log. A caller that stops pulling delays no other reader. Close the stream, or pass a signal
 * that closes it.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  readonly #first: StreamEvent[];
  readonly #reader: LogReader | undefined;
  readonly #closes: CloseRule;
  /** Until this message is in the log, states belong to earlier turns of the task. */
  #awaitedMessage: string | undefined;
  readonly #outcome: Promise<TurnOutcome> | undefined;
  readonly #signal: AbortSignal | undefined;
  #isFinishing = false;
  #isOver = false;

  constructor(options: {
    first: readonly StreamEvent[];
    reader?: LogReader;
    closes?: CloseRule;
    awaitedMessage?: string;
    /** The outcome of the turn, if it runs in this process. */
    outcome?: Promise<TurnOutcome>;
    signal?: AbortSignal;
  }) {
    this.#first = [...options.first];
    this.#reader = options.reader;
    this.#closes = options.closes ?? isTerminal;
    this.#awaitedMessage = options.awaitedMessage;
    this.#outcome = options.outcome;
    this.#signal = options.signal;
    if (this.#signal?.aborted === true) this.close();
    else this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  async next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const event = this.take();
      if (event !== undefined || this.#isOver) return event;
      await this.arrival();
    }
  }

  /** Whether the stream has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether events belong to the turn of the sent message; until then, to earlier turns of its task. */
  get hasStarted(): boolean {
    return this.#awaitedMessage === undefined;
  }

  /** Resolves when an event may be available, or the stream has ended. */
  arrival(): Promise<void> {
    const isDone = this.#isFinishing && this.#reader?.isCurrent === true;
    if (this.#reader !== undefined && !isDone) return this.#reader.arrival();
    this.close();
    return Promise.resolve();
  }

  /** Ends the stream after all events that are stored by now, including the last one of the turn. */
  finish(): void {
    this.#isFinishing = true;
    this.#reader?.wake();
  }

  /** The next event if it is available; after undefined, further events may follow. */
  take(): StreamEvent | undefined {
    const known = this.#first.shift();
    if (known?.isLast === true) this.close();
    if (known !== undefined || this.#isOver) return known;
    const event = this.#reader?.take();
    return event && this.#show(event);
  }

  /** Undefined for internal events. */
  #show(event: LogEvent): StreamEvent | undefined {
    const isLast = this.#isLast(event);
    if (isLast === undefined) return undefined;
    if (isLast) this.close();
    return { sequence: event.sequence, body: event.body, isLast };
  }

  /**
   * The task after the turn; undefined if this process does not have it, and the caller has to load it
   * from the store. Call it after the last event.
   */
  async result(): Promise<Json<Task> | undefined> {
    const outcome = await this.#outcome;
    return outcome?.kind === 'task' ? outcome.task : undefined;
  }

  close(): void {
    this.#isOver = true;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#reader?.close();
  }

  readonly #onAbort = (): void => this.close();

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent> {
    try {
      for (let event = await this.next(); event !== undefined; event = await this.next())
        yield event;
    } finally {
      this.close();
    }
  }

  /** Undefined for entries that callers do not get: their own messages. */
  #isLast({ body }: LogEvent): boolean | undefined {
    // Artifact chunks, by far the most frequent events, are sent without being parsed.
    if (!body.isParsed && body.text.startsWith('{"artifactUpdate"')) return false;
    const event = body.value;
    if ('message' in event) {
      if (event.message.messageId === this.#awaitedMessage) this.#awaitedMessage = undefined;
      return undefined;
    }
    if (!('statusUpdate' in event)) return false;
    const { status } = event.statusUpdate;
    if (isTerminal(status.state)) return true;
    return (
      this.#awaitedMessage === undefined && (this.#closes(status.state) || isSuperseded(status))
    );
  }
}

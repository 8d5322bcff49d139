import {
  isInterrupted,
  isTerminal,
  type SendMessageResponse,
  type Task,
  taskBefore,
  type TaskState,
} from '../protocol/index.ts';
import { TaskView } from './task-view.ts';
import type { Frame, StreamEvent } from './transport.ts';

export interface DeliveryStart {
  /** The id of the sent message, which is not delivered back to its sender. */
  readonly messageId?: string;
  /** Whether the message answers a question. The task can still show it when the stream opens. */
  readonly isAnswer?: boolean;
  /** The last event that an earlier stream delivered. */
  readonly lastEventId?: string;
  /** Whether the stream ends with the turn (also at a question), or with the task. */
  readonly until: 'turn' | 'task';
}

/**
 * Deduplicates the events of a task across all its connections: each event is delivered exactly once.
 *
 * Invariant: the artifacts of a `task` event were delivered as `artifactUpdate` events before it, unless
 * the `task` event is the first event. Consumers never have to compare.
 */
export class Delivery {
  readonly #start: DeliveryStart;
  #view: TaskView | undefined;
  #reply: SendMessageResponse | undefined;
  #lastEventId: string | undefined;
  #lastSequence: number | undefined;
  /** Whether the current connection resumed an earlier one. */
  #isResumed = false;
  #framesOfConnection = 0;
  #hasEnded = false;
  /** Whether the opening snapshot can show the question that the message answers. */
  #showsAnsweredQuestion = false;

  constructor(start: DeliveryStart) {
    this.#start = start;
    this.#noteId(start.lastEventId);
  }

  get taskId(): string | undefined {
    return this.#view?.id;
  }

  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The task or turn has ended, a plain message arrived, or the peer sent its final event. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether the peer closed the stream on purpose, if it closes now. */
  get mayEnd(): boolean {
    return this.#hasEnded || (this.#view !== undefined && isInterrupted(this.#view.status.state));
  }

  /** The plain message, or the task as received so far. */
  get result(): SendMessageResponse | undefined {
    return this.#view === undefined ? this.#reply : { task: this.#view.toTask() };
  }

  /** Whether the task waits for input that the message didn't provide. */
  get isWaitingForCaller(): boolean {
    const { state } = this.#view?.status ?? {};
    return state !== undefined && isInterrupted(state) && !this.#showsAnsweredQuestion;
  }

  connected(isResumed: boolean): void {
    this.#isResumed = isResumed;
    this.#framesOfConnection = 0;
  }

  *accept(frame: Frame): Generator<StreamEvent> {
    const { response } = frame;
    const isFirst = this.#framesOfConnection === 0;
    this.#framesOfConnection += 1;
    const isResumption = this.#isResumed && isFirst && this.#view !== undefined;
    if (this.#isResumed && !('task' in response) && this.#isKnown(frame)) return;
    this.#noteId(frame.id);
    if (frame.isFinal === true) this.#hasEnded = true;

    if ('task' in response) {
      yield* this.#acceptTask(response.task, isResumption, frame);
      return;
    }
    if (!('message' in response)) {
      this.#view ??= new TaskView(taskBefore(response), this.#start.messageId);
    } else if (this.#view === undefined) {
      this.#reply = response;
      this.#hasEnded = true;
    }
    this.#view?.apply(response);
    if ('statusUpdate' in response) {
      this.#showsAnsweredQuestion = false;
      if (this.#isEnd(response.statusUpdate.status.state)) this.#hasEnded = true;
    }
    yield eventOf(frame);
  }

  /** A snapshot that was fetched, not streamed. */
  *acceptSnapshot(task: Task): Generator<StreamEvent> {
    yield* this.#acceptTask(task, this.#view !== undefined, { response: { task } });
  }

  *#acceptTask(task: Task, isResumption: boolean, frame: Frame): Generator<StreamEvent> {
    const { state } = task.status;
    this.#showsAnsweredQuestion =
      this.#view === undefined && this.#start.isAnswer === true && isInterrupted(state);
    if (this.#isEnd(state) && !this.#showsAnsweredQuestion) this.#hasEnded = true;
    if (this.#view === undefined) {
      this.#view = new TaskView(task, this.#start.messageId);
    } else {
      for (const response of this.#view.catchUp(task)) {
        if (isResumption || !('statusUpdate' in response)) yield { response };
      }
      if (isResumption && !isTerminal(state)) return;
    }
    yield eventOf(frame);
  }

  #isEnd(state: TaskState): boolean {
    return (
      isTerminal(state) || (this.#start.until === 'turn' && state === 'TASK_STATE_INPUT_REQUIRED')
    );
  }

  #noteId(id: string | undefined): void {
    if (id === undefined) return;
    this.#lastEventId = id;
    this.#lastSequence = sequenceOf(id);
  }

  #isKnown(frame: Frame): boolean {
    return (
      frame.sequence !== undefined &&
      this.#lastSequence !== undefined &&
      frame.sequence <= this.#lastSequence
    );
  }
}

/** The id as a number, if it is one. */
export function sequenceOf(id: string): number | undefined {
  return /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

function eventOf({ response, id, sequence }: Frame): StreamEvent {
  return {
    response,
    ...(id !== undefined && { id }),
    ...(sequence !== undefined && { sequence }),
  };
}

import { isInterrupted, LegateError, type SendMessageRequest } from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import { isTransient, timeLimit } from '../retry.ts';
import type { AnswerLimits } from './answer-size.ts';
import { type RemoteEvent, RemoteEvents } from './remote-events.ts';
import { questionIdOf, type ResumePoint } from './resume-point.ts';
import type { RemoteFrame, RemoteSend, TaskTransport } from './task-transport.ts';

/**
 * The message to another agent, its time limits, and its cancellation.
 * @example
 * const options: RemoteTaskOptions = {
 *   transport: clientTransport(client),
 *   request: { message: message('Translate this') },
 *   signal: turn.signal,
 *   timeoutMs: 600_000,
 * };
 */
export interface RemoteTaskOptions {
  readonly transport: TaskTransport;
  readonly request: SendMessageRequest;
  /** The state that an earlier process or turn saved. @default a new task */
  readonly point?: ResumePoint | undefined;
  /** Resends a message with the same id if no task is found for it. @default false */
  readonly resends?: boolean;
  readonly signal: AbortSignal;
  /** The longest turn, in milliseconds. @default no limit */
  readonly timeoutMs?: number;
  /** The longest time without a new event of the agent, in milliseconds. @default no limit */
  readonly inactivityTimeoutMs?: number;
  /** The time limit of a cancel request, in milliseconds. @default 4_000 */
  readonly cancelTimeoutMs?: number;
  /** When to detach from the task, in milliseconds; never before its id is known. @default never */
  readonly detachAfterMs?: number | undefined;
  /** How long to wait for the last events of a cancelled task, in milliseconds. @default 0 */
  readonly cancelGraceMs?: number;
  /** Whether another process continues the task, so that an abort doesn't cancel it. @default never */
  readonly handsOver?: (reason: unknown) => boolean;
  /** Saves the resume point: when the task becomes known, and at each question. */
  readonly save?: (point: ResumePoint) => Promise<void>;
  /** Called with the error if a task could not be cancelled and may still run. */
  readonly onCancelFailed?: (error: unknown) => void;
  /** Limits of the answer. */
  readonly limits?: AnswerLimits | undefined;
}

/** The abort reason of a detached task. */
class Detached extends Error {}

/** Errors after which nothing is cancelled: the task is gone, or the caller can retry. */
const harmless: ReadonlySet<string> = new Set([
  'TASK_NOT_FOUND',
  'UNSUPPORTED_OPERATION',
  'MESSAGE_IN_FLIGHT',
  'REQUEST_TIMEOUT',
]);

/**
 * One turn at another agent, over any transport: sends the message or resumes where an earlier process
 * stopped, follows the task to its end or next question, and cancels an abandoned task.
 *
 * Invariants: a message that may have arrived is resent only if the agent deduplicates it; no event is
 * delivered twice; an abandoned task is cancelled.
 * @example
 * const task = new RemoteTask({ transport, request, signal });
 * for await (const event of task.events()) console.log(event.kind);
 */
export class RemoteTask {
  readonly #options: RemoteTaskOptions;
  readonly #events: RemoteEvents;
  readonly #whole: Deadline;
  readonly #silence: Deadline;
  readonly #detach: Deadline;
  /** Whether the turn ended, or the agent failed it: then there is nothing to cancel. */
  #isOver = false;
  #cancelling: Promise<void> | undefined;

  constructor(options: RemoteTaskOptions) {
    const { transport, point, timeoutMs = 0, inactivityTimeoutMs = 0 } = options;
    this.#options = options;
    this.#events = new RemoteEvents({
      delivered: point?.delivered ?? {},
      isLossy: transport.isLossy ?? false,
      limits: options.limits,
    });
    this.#whole = new Deadline(timeLimit('the task did not end', timeoutMs));
    this.#silence = new Deadline({
      signal: this.#whole.signal,
      ...timeLimit('the agent sent nothing new', inactivityTimeoutMs),
    });
    this.#detach = new Deadline({
      // 0 would be no limit; 1 ms detaches as soon as the task is known.
      milliseconds: options.detachAfterMs === undefined ? 0 : Math.max(1, options.detachAfterMs),
      reason: () => new Detached(),
    });
  }

  get taskId(): string | undefined {
    const { point, request } = this.#options;
    return this.#events.taskId ?? point?.taskId ?? request.message.taskId;
  }

  /** The limit that expired, if any. */
  get expired(): 'timeout' | 'inactivity' | undefined {
    if (this.#options.signal.aborted) return undefined;
    if (this.#whole.hasExpired) return 'timeout';
    return this.#silence.hasExpired ? 'inactivity' : undefined;
  }

  /** Whether the task continues and this process no longer follows it. */
  get isDetached(): boolean {
    return this.#silence.signal.reason instanceof Detached;
  }

  /** The resume point for the next process or turn. */
  get point(): ResumePoint {
    const { point, request } = this.#options;
    const { status, delivered } = this.#events;
    const state = status?.state;
    const isAsking = state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
    const taskId = this.taskId;
    const contextId = this.#events.contextId ?? point?.contextId ?? request.message.contextId;
    const asking = isAsking && status !== undefined && { id: taskId ?? '', status };
    const question = asking ? questionIdOf(asking) : point?.question;
    return {
      v: 2,
      state: isAsking ? 'asking' : this.#events.taskId === undefined ? 'sending' : 'working',
      messageId: request.message.messageId,
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
      ...(question !== undefined && { question }),
      ...(this.#needsConsent && { needsConsent: true }),
      delivered,
    };
  }

  get #needsConsent(): boolean {
    return this.#events.status?.state === 'TASK_STATE_AUTH_REQUIRED';
  }

  /**
   * Yields the events of the turn, until it ends, the task is detached, or the signal aborts. A question
   * ends the turn when the consumer leaves the loop. If the consumer continues the loop at a question for
   * authorization, the task is followed further. Rejects with the signal's reason, or with the failure of
   * the turn.
   */
  async *events(): AsyncGenerator<RemoteEvent> {
    const { signal } = this.#options;
    signal.addEventListener('abort', this.#stop, { once: true });
    this.#detach.signal.addEventListener('abort', this.#detachWhenKnown, { once: true });
    try {
      signal.throwIfAborted();
      for await (const frame of this.#open()) {
        this.#silence.restart();
        for (const event of this.#events.accept(frame)) {
          this.#isOver = event.kind === 'question' || event.kind === 'end';
          const isKept = event.kind === 'known' || event.kind === 'question';
          if (isKept) await this.#options.save?.(this.point);
          yield event;
          if (event.kind === 'end' || (this.#isOver && !this.#needsConsent)) return;
        }
        this.#detachWhenKnown();
      }
      if (this.#isOver) return;
      throw new LegateError('PEER_INVALID', 'the agent closed its stream without an end');
    } catch (error) {
      signal.throwIfAborted();
      if (this.isDetached) return;
      if (this.expired === undefined && this.#hasEnded(error)) this.#isOver = true;
      throw this.#silence.signal.aborted ? this.#silence.signal.reason : error;
    } finally {
      signal.removeEventListener('abort', this.#stop);
      for (const each of [this.#whole, this.#silence, this.#detach]) each.close();
      if (!this.#isOver && !this.#isKept(signal.reason)) await this.#cancel();
    }
  }

  /** The frames of the message, or of the task that it already started. */
  async *#open(): AsyncGenerator<RemoteFrame> {
    const { transport, request, point } = this.#options;
    const { signal } = this.#silence;
    const call: RemoteSend = {
      signal,
      cancelOnAbort: {
        shouldCancel: (reason) => !this.#isKept(reason),
        ...(this.#options.onCancelFailed && { onFailure: this.#options.onCancelFailed }),
      },
    };
    const taskId = await this.#startedTask(call);
    if (taskId === undefined) {
      this.#events.isAnswer = request.message.taskId !== undefined;
      yield* transport.send(request, call);
    } else if (transport.follow !== undefined) yield* transport.follow(taskId, call);
    else throw outcomeUnknown(point?.messageId);
  }

  /** The task that the message already started; undefined if the message must be sent. */
  async #startedTask(call: RemoteSend): Promise<string | undefined> {
    const { transport, point } = this.#options;
    if (point === undefined || transport.resume === 'resend') return undefined;
    if (point.state === 'working') return point.taskId;
    if (point.state === 'asking' && point.needsConsent !== true) return undefined;
    if (transport.resume === 'none') {
      if (point.state === 'asking') return undefined;
      throw outcomeUnknown(point.messageId);
    }
    const task = await transport.find?.(point, { signal: call.signal });
    if (task === undefined) {
      if (this.#options.resends === true) return undefined;
      throw outcomeUnknown(point.messageId);
    }
    const { state } = task.status;
    if (point.taskId === undefined) return task.id;
    // Once authorized elsewhere, the task accepts no message.
    if (point.state === 'asking') {
      return state === 'TASK_STATE_AUTH_REQUIRED' ? undefined : task.id;
    }
    // A task that still shows the question has not received the answer.
    return isInterrupted(state) && questionIdOf(task) === point.question ? undefined : task.id;
  }

  /** Whether an error of the agent leaves nothing to cancel. */
  #hasEnded(error: unknown): boolean {
    // An unreachable agent can't be cancelled; over a lossy transport an error is the result.
    if (isTransient(error) || this.#options.transport.isLossy === true) return true;
    return error instanceof LegateError && harmless.has(error.code);
  }

  readonly #stop = (): void => {
    const { signal, cancelGraceMs = 0 } = this.#options;
    if (cancelGraceMs === 0 || this.#isKept(signal.reason))
      return this.#silence.abort(signal.reason);
    this.#silence.lift();
    this.#whole.restart({ milliseconds: cancelGraceMs, reason: () => signal.reason as unknown });
    this.#cancelling = this.#cancel();
    return undefined;
  };

  readonly #detachWhenKnown = (): void => {
    const { reason, aborted } = this.#detach.signal;
    // A task at a question isn't working, so it can't be detached.
    if (aborted && this.point.state === 'working') this.#silence.abort(reason);
  };

  #isKept(reason: unknown): boolean {
    if (this.isDetached) return true;
    const { signal, handsOver } = this.#options;
    return signal.aborted && handsOver?.(reason) === true;
  }

  /** Reports failures and otherwise ignores them: the turn ends anyway. */
  async #cancel(): Promise<void> {
    const { transport, cancelTimeoutMs: timeoutMs = 4_000, onCancelFailed } = this.#options;
    // Before the task is known, the transport itself cancels the aborted message.
    if (this.taskId === undefined && transport.resume === 'find') return;
    this.#cancelling ??= transport.cancel(this.point, { timeoutMs }).catch((error: unknown) => {
      onCancelFailed?.(error);
    });
    await this.#cancelling;
  }
}

function outcomeUnknown(messageId: string | undefined): LegateError {
  return new LegateError(
    'UNAVAILABLE',
    `unknown whether the agent received ${messageId === undefined ? 'the message' : `message ${messageId}`}: the process that sent it stopped before the response arrived; send the request again if needed`,
  );
}

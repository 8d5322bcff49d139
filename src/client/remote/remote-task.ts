import { isInterrupted, LegateError, type SendMessageRequest } from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import { isTransient, timeLimit } from '../retry.ts';
import type { AnswerLimits } from './answer-size.ts';
import { type RemoteEvent, RemoteEvents } from './remote-events.ts';
import { questionIdOf, type ResumePoint } from './resume-point.ts';
import type { RemoteFrame, RemoteSend, TaskTransport } from './task-transport.ts';

/**
 * Which message goes to another agent, how long that may take, and what ends it.
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
  /** Where an earlier process or turn left off. @default a new task */
  readonly point?: ResumePoint | undefined;
  /** Sends a message again, under its id, where no task is found for it. @default false */
  readonly resends?: boolean;
  readonly signal: AbortSignal;
  /** The longest the turn may take, in milliseconds. @default no limit */
  readonly timeoutMs?: number;
  /** The longest that the agent may send nothing new, in milliseconds. @default no limit */
  readonly inactivityTimeoutMs?: number;
  /** How long a cancel may take to reach the agent, in milliseconds. @default 4_000 */
  readonly cancelTimeoutMs?: number;
  /** When to detach from the task, in milliseconds, but not before its id is known. @default never */
  readonly detachAfterMs?: number | undefined;
  /** How long a cancelled task may take for its last events, in milliseconds. @default 0 */
  readonly cancelGraceMs?: number;
  /** Whether another process continues the task, so that it isn't cancelled. @default never */
  readonly handsOver?: (reason: unknown) => boolean;
  /** Keeps the resume point: once the task is known, and when it asks. */
  readonly save?: (point: ResumePoint) => Promise<void>;
  /** Gets the error if a task could not be cancelled and may still run. */
  readonly onCancelFailed?: (error: unknown) => void;
  /** How much of the answer is kept. */
  readonly limits?: AnswerLimits | undefined;
}

/** The abort reason of a detached task. */
class Detached extends Error {}

/** Errors after which nothing is cancelled: the task is gone, or the caller may retry. */
const harmless: ReadonlySet<string> = new Set([
  'TASK_NOT_FOUND',
  'UNSUPPORTED_OPERATION',
  'MESSAGE_IN_FLIGHT',
  'REQUEST_TIMEOUT',
]);

/**
 * One turn at another agent, over any transport: sends the message or resumes where an earlier
 * process stopped, follows the task to its end or next question, and cancels an abandoned task.
 *
 * Invariants: a message that may have arrived is sent again only if the agent deduplicates it; no
 * event is delivered twice; an abandoned task is cancelled.
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
  /** The turn ended, or its failure is the agent's: there is nothing to cancel. */
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

  /** Which of the limits has run out. */
  get expired(): 'timeout' | 'inactivity' | undefined {
    if (this.#options.signal.aborted) return undefined;
    if (this.#whole.hasExpired) return 'timeout';
    return this.#silence.hasExpired ? 'inactivity' : undefined;
  }

  /** Whether the task continues without being followed. */
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
   * What happens, until the turn is over, the task was left to itself, or the signal aborts. A
   * question ends the turn when the consumer leaves; pulled on, a task that waits for consent is
   * followed further. Rejects with the signal's reason, and with what failed.
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

  /** The frames of our message, or of the task that it led to before. */
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

  /** The task that the message has led to already; undefined where the message has to be sent. */
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
    // With consent given elsewhere, the task takes no message any more.
    if (point.state === 'asking') {
      return state === 'TASK_STATE_AUTH_REQUIRED' ? undefined : task.id;
    }
    // A task that still asks has not got the answer.
    return isInterrupted(state) && questionIdOf(task) === point.question ? undefined : task.id;
  }

  /** Whether there is nothing to cancel after an error of the agent. */
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
    // A task that shows its question isn't working, and can't be left to itself.
    if (aborted && this.point.state === 'working') this.#silence.abort(reason);
  };

  #isKept(reason: unknown): boolean {
    if (this.isDetached) return true;
    const { signal, handsOver } = this.#options;
    return signal.aborted && handsOver?.(reason) === true;
  }

  /** Failures are reported and otherwise ignored: the turn ends anyway. */
  async #cancel(): Promise<void> {
    const { transport, cancelTimeoutMs: timeoutMs = 4_000, onCancelFailed } = this.#options;
    // Before the task is known, the transport cancels the message that it gave up.
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
    `it is not known whether the agent took message ${messageId ?? ''}: the process that sent it stopped before the answer arrived; send the request again if needed`,
  );
}

import { LegateError, type SendMessageResponse, type Task } from '../protocol/index.ts';
import { Deadline, within } from '../time/index.ts';
import type { SendContext } from './cancel-on-abort.ts';
import type { Delivery } from './delivery.ts';
import type { Settings, StreamOptions } from './options.ts';
import { isTransient, pauseBefore, pollPause, timeLimit } from './retry.ts';
import type { Frame, StreamEvent, TransportCall, TransportStream } from './transport.ts';

export interface Opened {
  readonly frames: AsyncIterable<Frame>;
  /** Whether the task can be followed by subscribing to it, or must be polled. */
  readonly canSubscribe: boolean;
}

/** How a task is opened, resumed and polled. */
export interface Followed {
  /** Known from the start where an existing task is followed. */
  readonly taskId?: string;
  /** Opens the first connection by sending or subscribing, with the retries that are safe. */
  open(call: TransportStream, context: SendContext): Promise<Opened>;
  subscribe(taskId: string, call: TransportStream): Promise<AsyncIterable<Frame>>;
  getTask(taskId: string, call: TransportCall): Promise<Task>;
}

/** How a connection ended. */
type Outcome =
  | { readonly kind: 'ended' }
  /** Closed before the task ended. `wasUseful`: it delivered events. */
  | { readonly kind: 'broken'; readonly wasUseful: boolean; readonly failure?: LegateError }
  /** The peer has no stream for this task. `isNews`: it refused just now, so the task may have ended. */
  | { readonly kind: 'refused'; readonly isNews: boolean };

/**
 * Follows a task to its end over any number of connections, in these states:
 *
 * - **opening**: the first connection is opened. The caller gets its failure.
 * - **streaming**: frames arrive. A terminal event, a plain message, or a close while the task
 *   waits for its caller leads to **ended**; a break, a long silence or a close in mid-work to
 *   **resuming**.
 * - **resuming**: subscribes anew, after the last event seen where events have ids; the message is
 *   never sent again. Frames lead to **streaming**, a refusal to **polling**, too many failures in
 *   a row to an error.
 * - **polling**: fetches the task at growing intervals until it ends.
 */
export class TaskFollower {
  readonly #followed: Followed;
  readonly #delivery: Delivery;
  readonly #settings: Settings;
  readonly #options: StreamOptions;

  constructor(followed: Followed, delivery: Delivery, settings: Settings, options: StreamOptions) {
    this.#followed = followed;
    this.#delivery = delivery;
    this.#settings = settings;
    this.#options = options;
  }

  /** The events of the task, until it ends. */
  async *events(): AsyncGenerator<StreamEvent, void> {
    const { signal, timeoutMs = 0 } = this.#options;
    const whole = new Deadline({
      signal,
      ...timeLimit('the task did not end', timeoutMs),
    });
    try {
      yield* this.#follow(whole.signal);
    } finally {
      whole.close();
    }
  }

  /** Follows the task until it is terminal or waits for its caller. */
  async result(): Promise<SendMessageResponse> {
    for await (const _ of this.events()) {
      // A terminal task is read to the close of its stream: that keeps the connection reusable.
      if (this.#delivery.isWaitingForCaller) break;
    }
    const { result } = this.#delivery;
    if (result !== undefined) return result;
    throw new LegateError('PEER_INVALID', 'the peer answered with neither a task nor a message');
  }

  async *#follow(signal: AbortSignal): AsyncGenerator<StreamEvent, void> {
    const { attempts } = this.#settings.retry;
    let outcome = yield* this.#connection(signal, false);
    for (let failures = 0; outcome.kind === 'broken';) {
      failures = outcome.wasUseful ? 0 : failures + 1;
      if (failures >= attempts) {
        if (outcome.failure !== undefined) throw outcome.failure;
        outcome = { kind: 'refused', isNews: false };
        break;
      }
      const pause = pauseBefore(failures + 1, outcome.failure, this.#settings);
      await this.#settings.sleep(pause, signal);
      outcome = yield* this.#connection(signal, true);
    }
    if (outcome.kind === 'refused') yield* this.#poll(signal, outcome.isNews);
  }

  async *#connection(
    signal: AbortSignal,
    isResumed: boolean,
  ): AsyncGenerator<StreamEvent, Outcome> {
    const { timeoutMs, closingGraceMs } = this.#settings;
    const silenceMs = this.#options.inactivityTimeoutMs ?? this.#settings.inactivityTimeoutMs;
    const deadline = new Deadline({
      signal,
      ...timeLimit('the stream did not open', timeoutMs),
    });
    let isOpen = false;
    let frames = 0;
    let wasUseful = false;
    const silence = {
      milliseconds: silenceMs,
      reason: () => {
        // Not every peer sends keep-alives: silence is not counted as a failure.
        wasUseful = true;
        return silent(silenceMs);
      },
    };
    const closing = { milliseconds: closingGraceMs, reason: () => silent(closingGraceMs) };
    const onActivity = (): void => deadline.restart(silence);
    try {
      const opened = await this.#open(isResumed, { signal: deadline.signal, onActivity }, signal);
      isOpen = true;
      this.#delivery.connected(isResumed || this.#options.lastEventId !== undefined);
      onActivity();
      for await (const frame of opened.frames) {
        frames += 1;
        // A slow consumer must not count as a silent peer.
        deadline.lift();
        for (const event of this.#delivery.accept(frame)) {
          wasUseful = true;
          yield event;
        }
        deadline.restart(this.#delivery.hasEnded ? closing : silence);
      }
      if (this.#delivery.mayEnd) return { kind: 'ended' };
      if (!opened.canSubscribe) return { kind: 'refused', isNews: false };
      this.#refuseLoss(closedEarly(this.#taskId));
      return { kind: 'broken', wasUseful };
    } catch (error) {
      signal.throwIfAborted();
      if (this.#delivery.hasEnded) return { kind: 'ended' };
      this.#refuseLoss(error);
      if (isTransient(error) && (isResumed || isOpen)) {
        return { kind: 'broken', wasUseful, failure: error };
      }
      if (isResumed && frames === 0) return { kind: 'refused', isNews: true };
      throw error;
    } finally {
      deadline.close();
    }
  }

  async #open(
    isResumed: boolean,
    line: Pick<TransportStream, 'signal' | 'onActivity'>,
    signal: AbortSignal,
  ): Promise<Opened> {
    const { headers, cancelOnAbort } = this.#options;
    const lastEventId = this.#delivery.lastEventId;
    const call = { ...line, headers, lastEventId };
    if (!isResumed || this.#taskId === undefined) {
      return this.#followed.open(call, { signal, cancelOnAbort, headers });
    }
    return { frames: await this.#followed.subscribe(this.#taskId, call), canSubscribe: true };
  }

  #look(taskId: string, signal: AbortSignal): Promise<Task> {
    const { timeoutMs } = this.#settings;
    const limit = timeLimit(`getTask of ${taskId} was not answered`, timeoutMs);
    return within({ signal, ...limit }, (signal) =>
      this.#followed.getTask(taskId, { signal, headers: this.#options.headers }),
    );
  }

  /** Throws if the task id is unknown or resuming is disabled. */
  #refuseLoss(reason: unknown): void {
    if (this.#taskId === undefined || !this.#settings.resume) throw reason;
  }

  get #taskId(): string | undefined {
    return this.#delivery.taskId ?? this.#followed.taskId;
  }

  async *#poll(signal: AbortSignal, isDue: boolean): AsyncGenerator<StreamEvent, void> {
    const taskId = this.#taskId;
    if (taskId === undefined) return;
    for (let look = isDue ? 0 : 1; ; look += 1) {
      if (look > 0) await this.#settings.sleep(pollPause(look, this.#settings.poll), signal);
      const task = await this.#look(taskId, signal);
      for (const event of this.#delivery.acceptSnapshot(task)) {
        // A task that changed is polled at the shortest interval again.
        look = 0;
        yield event;
      }
      if (this.#delivery.hasEnded) return;
    }
  }
}

function silent(ms: number): LegateError {
  return new LegateError('PEER_UNREACHABLE', `the peer's stream was silent for ${ms} ms`);
}

function closedEarly(taskId: string | undefined): LegateError {
  return new LegateError(
    'PEER_UNREACHABLE',
    taskId === undefined
      ? 'the peer closed its stream before the first event; it may have accepted the message'
      : `the peer closed its stream before task ${taskId} ended`,
  );
}

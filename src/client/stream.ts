import {
  LegateError,
  type SendMessageRequest,
  type SendMessageResponse,
  type Task,
} from '../protocol/index.ts';
import { Deadline, within } from '../time/index.ts';
import type { CancelOnAbort, InFlightMessage, SendContext } from './cancel-on-abort.ts';
import type { Delivery } from './delivery.ts';
import { singleFrame } from './events.ts';
import type { Settings, StreamOptions } from './options.ts';
import type { Peer } from './peer.ts';
import { isTransient, pauseBefore, pollPause, timeLimit, withRetry } from './retry.ts';
import type { Frame, StreamEvent, TransportCall, TransportStream } from './transport.ts';

interface Opened {
  readonly frames: AsyncIterable<Frame>;
  /** Whether the task can be followed by a subscription; otherwise it is polled. */
  readonly canSubscribe: boolean;
}

/** How a task is opened: with a message, or with a subscription. */
export interface TaskOpening {
  /** Known from the start if an existing task is followed. */
  readonly taskId?: string;
  /** Opens the first connection, with all retries that are safe. */
  open(call: TransportStream, context: SendContext): Promise<Opened>;
}

type FollowedPeer = Pick<Peer, 'settings' | 'subscribe' | 'getTask'>;

/** How a connection ended. */
type Outcome =
  | { readonly kind: 'ended' }
  /** Closed before the task ended. `wasUseful`: the connection delivered events. */
  | { readonly kind: 'broken'; readonly wasUseful: boolean; readonly failure?: LegateError }
  /** The peer has no stream for this task. `isNews`: it refused just now, so the task may have ended. */
  | { readonly kind: 'refused'; readonly isNews: boolean };

/**
 * Follows a task to its end over any number of connections, in these states:
 *
 * - **opening**: the first connection is opened. Its failure is thrown to the caller.
 * - **streaming**: frames arrive. A terminal event, a plain message, or a close while the task is
 *   interrupted leads to **ended**. A broken connection, a long silence, or a close while the task is
 *   working leads to **resuming**.
 * - **resuming**: subscribes again, after the last event received if events have ids. The message is
 *   never resent. Frames lead to **streaming**, a refusal to **polling**, too many consecutive failures
 *   to an error.
 * - **polling**: fetches the task at growing intervals until it ends.
 */
export class TaskFollower {
  readonly #peer: FollowedPeer;
  readonly #opening: TaskOpening;
  readonly #delivery: Delivery;
  readonly #settings: Settings;
  readonly #options: StreamOptions;

  constructor(
    peer: FollowedPeer,
    opening: TaskOpening,
    delivery: Delivery,
    options: StreamOptions,
  ) {
    this.#peer = peer;
    this.#opening = opening;
    this.#delivery = delivery;
    this.#settings = peer.settings;
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

  /** Follows the task until it is terminal or interrupted. */
  async result(): Promise<SendMessageResponse> {
    for await (const _ of this.events()) {
      // A terminal task is read until its stream closes: that keeps the connection reusable.
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
        // A slow consumer doesn't count as a silent peer.
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
      return this.#opening.open(call, { signal, cancelOnAbort, headers });
    }
    return { frames: await this.#peer.subscribe(this.#taskId, call), canSubscribe: true };
  }

  #look(taskId: string, signal: AbortSignal): Promise<Task> {
    const { timeoutMs } = this.#settings;
    const limit = timeLimit(`getTask of ${taskId} was not answered`, timeoutMs);
    return within({ signal, ...limit }, (signal) =>
      this.#peer.getTask(taskId, { signal, headers: this.#options.headers }),
    );
  }

  /** Throws if the task id is unknown or resuming is disabled. */
  #refuseLoss(reason: unknown): void {
    if (this.#taskId === undefined || !this.#settings.resume) throw reason;
  }

  get #taskId(): string | undefined {
    return this.#delivery.taskId ?? this.#opening.taskId;
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

/** Sends a message and follows its task. */
export function sending(
  peer: Peer,
  request: SendMessageRequest,
  cancelOnAbort: CancelOnAbort,
): TaskOpening {
  const send = async (
    call: TransportStream,
    inFlight: InFlightMessage | undefined,
  ): Promise<Opened> => {
    if (!peer.streams) return sendUnstreamed(peer, request, call, inFlight);
    try {
      return { frames: await peer.sendStreaming(request, call, inFlight), canSubscribe: true };
    } catch (error) {
      // The card is wrong about streaming. The peer rejected the message, so resending it is safe.
      if (isRefusal(error)) return sendUnstreamed(peer, request, call, inFlight);
      throw error;
    }
  };
  return {
    open: async (call, context) => {
      const inFlight = cancelOnAbort.watch(peer, request.message, context);
      try {
        return await send(call, inFlight);
      } catch (error) {
        // Between two attempts, no connection handles the abort.
        inFlight?.checkAbort();
        throw error;
      }
    },
  };
}

/** Follows an existing task. */
export function subscribing(peer: Peer, taskId: string): TaskOpening {
  return {
    taskId,
    open: async (call) => {
      if (!peer.streams) return fetchAsStream(peer, taskId, call);
      const subscribe = () => peer.subscribe(taskId, call);
      const frames = await withRetry(peer.settings, call.signal, subscribe);
      return { frames, canSubscribe: true };
    },
  };
}

/** Like `subscribing`, but returns a task that has ended instead of throwing. */
export function awaiting(peer: Peer, taskId: string): TaskOpening {
  const subscription = subscribing(peer, taskId);
  return {
    ...subscription,
    open: async (call, context) => {
      try {
        return await subscription.open(call, context);
      } catch (error) {
        if (isRefusal(error)) return fetchAsStream(peer, taskId, call);
        throw error;
      }
    },
  };
}

async function sendUnstreamed(
  peer: Peer,
  request: SendMessageRequest,
  call: TransportCall,
  inFlight: InFlightMessage | undefined,
): Promise<Opened> {
  // A follow-up blocks: an immediate response could still show the question.
  const { returnImmediately = request.message.taskId === undefined } = request.configuration ?? {};
  const configuration = { ...request.configuration, returnImmediately };
  const response = await peer.send({ ...request, configuration }, call, inFlight);
  return { frames: singleFrame(response), canSubscribe: false };
}

async function fetchAsStream(peer: Peer, taskId: string, call: TransportCall): Promise<Opened> {
  const task = await peer.getTask(taskId, call);
  return { frames: singleFrame({ task }), canSubscribe: false };
}

/** Whether the peer doesn't support the operation. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof LegateError &&
    (error.code === 'UNSUPPORTED_OPERATION' || error.code === 'METHOD_NOT_FOUND')
  );
}

import {
  LegateError,
  type Message,
  type SendMessageResponse,
  type StreamResponse,
} from '../protocol/index.ts';
import { until } from '../time/index.ts';
import { isTransient } from './retry.ts';
import type { Frame, TransportCall, TransportStream } from './transport.ts';

/** What the peer has answered to a message that nobody waits for any more. */
export type LateAnswer =
  | { readonly kind: 'task'; readonly id: string }
  /** There is no task: it refused, or answered with a plain message. */
  | { readonly kind: 'none' }
  /** The connection broke: the peer may have taken the message all the same. */
  | { readonly kind: 'unknown' };

export interface RecallParts {
  readonly message: Message;
  /** Aborts when the sender gives up; a connection that timed out is not given up, but broken. */
  readonly givenUp: AbortSignal;
  /** Goes on with the message in the background; false where it may not. */
  readonly take: (recall: Recall) => boolean;
}

/**
 * A message on its way, as long as its sender does not know the task it leads to.
 *
 * - **unsent**: nothing has left. An abort is an abort.
 * - **out**: the peer may have the message, and has not named its task. When the sender gives up,
 *   the sender is let go at once; the connection is not closed but handed over (`take`), because
 *   what comes over it is the surest way to the task's id. The message is never sent again.
 * - **answered**: the task is known to the sender, who can cancel it. An abort closes the connection.
 */
export class Recall {
  readonly message: Message;
  readonly #parts: RecallParts;
  #isOut = false;
  /** The sender has given up, and whether the message is gone on with is decided. */
  #isLeft = false;
  #isHeld = false;
  /** An attempt before the last one may have reached the peer. */
  #wasOut = false;
  #wire: AbortController | undefined;
  #opened: Promise<AsyncIterator<Frame>> | undefined;
  /** Reads what the last attempt brings; rejects with why it brought nothing. */
  #read: (() => Promise<StreamResponse | undefined>) | undefined;

  constructor(parts: RecallParts) {
    this.message = parts.message;
    this.#parts = parts;
  }

  /** Sends the message for an answer of one piece. */
  async call(
    call: TransportCall,
    send: (call: TransportCall) => Promise<SendMessageResponse>,
  ): Promise<SendMessageResponse> {
    const attempt = this.#begin(call);
    const answer = send(attempt.call);
    this.#read = () => answer;
    const response = await attempt.wait(answer);
    this.#isOut = false;
    return response;
  }

  /** Sends the message for a stream. */
  async stream(
    call: TransportStream,
    send: (call: TransportStream) => Promise<AsyncIterable<Frame>>,
  ): Promise<AsyncIterable<Frame>> {
    const attempt = this.#begin(call);
    const opening = send(attempt.call).then((frames) => frames[Symbol.asyncIterator]());
    this.#opened = opening;
    let first: Promise<IteratorResult<Frame>> | undefined;
    const readFirst = () => (first ??= opening.then((frames) => frames.next()));
    this.#read = async () => {
      const { done, value } = await readFirst();
      return done === true ? undefined : value.response;
    };
    const frames = await attempt.wait(opening);
    return this.#frames(frames, () => attempt.wait(readFirst()));
  }

  /** Has the message gone on with where its sender gave up too early; true where it is. */
  leave(): boolean {
    const { givenUp, take } = this.#parts;
    if (this.#isOut && givenUp.aborted && !this.#isLeft) {
      this.#isLeft = true;
      this.#isHeld = take(this);
    }
    return this.#isHeld;
  }

  /** What comes of the last attempt, however long it takes: `close` ends it. */
  async answer(): Promise<LateAnswer> {
    try {
      const response = await this.#read?.();
      if (response === undefined) return { kind: 'unknown' };
      const id = taskIdOf(response);
      return id === undefined ? { kind: 'none' } : { kind: 'task', id };
    } catch (error) {
      const id = taskInFlight(error);
      if (id !== undefined) return { kind: 'task', id };
      const isUnsent = error === this.#parts.givenUp.reason;
      return { kind: (isUnsent || isRefused(error)) && !this.#wasOut ? 'none' : 'unknown' };
    }
  }

  close(): void {
    this.#wire?.abort();
    // The abort ends whatever is read; what it broke is of no interest any more.
    this.#opened?.then((frames) => frames.return?.()).catch(() => undefined);
  }

  async *#frames(
    frames: AsyncIterator<Frame>,
    first: () => Promise<IteratorResult<Frame>>,
  ): AsyncGenerator<Frame> {
    try {
      let result = await first();
      if (result.done !== true) this.#isOut = false;
      for (; result.done !== true; result = await frames.next()) yield result.value;
    } finally {
      // Held, it is still read, and closed by whoever holds it.
      if (!this.#isHeld) await frames.return?.();
    }
  }

  #begin<C extends TransportCall>(call: C) {
    const { signal } = call;
    const wire = new AbortController();
    this.#wire = wire;
    this.#opened = undefined;
    this.#wasOut = this.#isOut;
    this.#isOut = true;
    const onAbort = (): void => {
      if (!this.leave()) wire.abort(signal?.reason);
    };
    if (signal?.aborted === true) wire.abort(signal.reason);
    // Before anybody else listens: by the time the sender learns of it, it is decided.
    else signal?.addEventListener('abort', onAbort, { once: true });
    const wait = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await until(work, signal);
      } catch (error) {
        if (!this.#isHeld && isRefused(error)) this.#isOut = this.#wasOut;
        throw error;
      }
    };
    return { call: { ...call, signal: wire.signal, sendUntil: signal }, wait };
  }
}

function taskIdOf(response: StreamResponse): string | undefined {
  if ('task' in response) return response.task.id;
  if ('statusUpdate' in response) return response.statusUpdate.taskId;
  return 'artifactUpdate' in response ? response.artifactUpdate.taskId : undefined;
}

/** The task that a message led to which the peer had already: it says so, and works. */
export function taskInFlight(error: unknown): string | undefined {
  if (!(error instanceof LegateError) || error.code !== 'MESSAGE_IN_FLIGHT') return undefined;
  return error.metadata?.taskId;
}

/** The peer has not taken the message, or never got it. */
function isRefused(error: unknown): boolean {
  return error instanceof LegateError && !fateless.has(error.code) && !isTransient(error);
}
/** Errors that leave it open whether the peer works. */
const fateless = new Set([
  'MESSAGE_IN_FLIGHT',
  'PEER_INVALID',
  'REQUEST_TIMEOUT',
  'INTERNAL',
  'INVALID_AGENT_RESPONSE',
]);

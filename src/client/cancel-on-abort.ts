import {
  isTerminal,
  taskIdsOf,
  LegateError,
  type Message,
  type SendMessageResponse,
  type StreamResponse,
} from '../protocol/index.ts';
import { backoff, Deadline, until } from '../time/index.ts';
import type { CancelOnAbortOptions } from './options.ts';
import type { Peer } from './peer.ts';
import { isTransient, timeLimit } from './retry.ts';
import type { Frame, TransportCall, TransportStream } from './transport.ts';

/** The limit per client. Messages beyond it are aborted without cancelling their tasks. */
const MAX_CANCELLING = 100;
const defaultTimeoutMs = 30_000;
/** Pauses before each lookup in the task list. Most peers name the task sooner over the connection. */
const lookupPauses = { initialMs: 250, maximumMs: 5_000 };
const MAX_LOOKUPS = 12;
const lateFailure = 'the task of an aborted message could not be cancelled';

/** How one message is sent. */
export interface SendContext {
  /** Aborts when the sender aborts. A connection that times out doesn't abort it. */
  readonly signal: AbortSignal;
  readonly cancelOnAbort: CancelOnAbortOptions | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/**
 * Cancels the tasks of messages whose sender aborts before the peer has named the task. Runs in the
 * background, limited in number and time.
 *
 * It looks for the task in two ways at once. The connection stays open, because the first response names
 * the task in every binding and version. Meanwhile the client searches the peer's task list for a history
 * that contains the message. That finds the task of a peer that sends nothing before its first result,
 * and works after the connection broke. Message ids are unique, so the task found is always the sender's.
 *
 * The message is never sent again to learn its task: a peer that doesn't deduplicate messages would
 * do the work twice.
 */
export class CancelOnAbort {
  readonly #running = new Map<Promise<void>, Deadline>();

  /**
   * Undefined if there is nothing to cancel: the option is not set, or the message continues a known
   * task.
   */
  watch(peer: Peer, message: Message, context: SendContext): InFlightMessage | undefined {
    const { signal, cancelOnAbort: options, headers } = context;
    if (options === undefined || message.taskId !== undefined) return undefined;
    const { shouldCancel = () => true, onFailure } = options;
    return new InFlightMessage(signal, (inFlight) => {
      if (!shouldCancel(signal.reason)) return false;
      if (this.#running.size >= MAX_CANCELLING) {
        const text = `the task of message ${message.messageId} is not cancelled: ${MAX_CANCELLING} other messages are being cancelled`;
        onFailure?.(new LegateError('UNAVAILABLE', text));
        return false;
      }
      this.#start(inFlight, options, async (abort) => {
        const call = { signal: abort, headers };
        const taskId = await findTask(peer, message, inFlight, call);
        if (taskId !== undefined) await cancelTask(peer, taskId, call);
      });
      return true;
    });
  }

  /** Resolves when all cancellations have ended, after `graceMs` milliseconds at most. */
  async end(graceMs: number): Promise<void> {
    const ms = Math.max(1, graceMs);
    for (const deadline of this.#running.values()) deadline.restart(timeLimit(lateFailure, ms));
    await Promise.all(this.#running.keys());
  }

  #start(
    inFlight: InFlightMessage,
    { timeoutMs = defaultTimeoutMs, onFailure }: CancelOnAbortOptions,
    cancel: (signal: AbortSignal) => Promise<void>,
  ): void {
    const deadline = new Deadline(timeLimit(lateFailure, timeoutMs));
    const run = async (): Promise<void> => {
      try {
        await cancel(deadline.signal);
      } catch (error) {
        onFailure?.(error);
      } finally {
        deadline.close();
        inFlight.close();
        this.#running.delete(running);
      }
    };
    // The sender's promise rejects first.
    const running = Promise.resolve().then(run);
    this.#running.set(running, deadline);
  }
}

/**
 * A message whose task the sender doesn't know yet.
 *
 * - **unsent**: an abort prevents the message from being sent.
 * - **in flight**: the peer can have the message, and hasn't named its task. On abort the sender's
 *   promise rejects at once, and `onAbort` decides whether the connection stays open.
 * - **answered**: the sender knows the task and can cancel it. An abort closes the connection.
 */
export class InFlightMessage {
  readonly #signal: AbortSignal;
  /** Returns true to take over the connection, false to close it. */
  readonly #onAbort: (message: InFlightMessage) => boolean;
  #isInFlight = false;
  /** Whether an attempt before the current one can have reached the peer. */
  #wasInFlight = false;
  /** Whether the connection was taken over; undefined until the sender aborts. */
  #isTakenOver: boolean | undefined;
  #connection: AbortController | undefined;
  #frames: Promise<AsyncIterator<Frame>> | undefined;
  /** Reads the first response to the current attempt. */
  #read: (() => Promise<StreamResponse | undefined>) | undefined;

  constructor(signal: AbortSignal, onAbort: (message: InFlightMessage) => boolean) {
    this.#signal = signal;
    this.#onAbort = onAbort;
  }

  /** Sends the message and waits for a single response. */
  async call(
    call: TransportCall,
    send: (call: TransportCall) => Promise<SendMessageResponse>,
  ): Promise<SendMessageResponse> {
    const attempt = this.#attempt(call);
    const response = send(attempt.call);
    this.#read = () => response;
    const received = await attempt.wait(response);
    this.#isInFlight = false;
    return received;
  }

  /** Sends the message and opens the stream of its responses. */
  async stream(
    call: TransportStream,
    send: (call: TransportStream) => Promise<AsyncIterable<Frame>>,
  ): Promise<AsyncIterable<Frame>> {
    const attempt = this.#attempt(call);
    const opening = send(attempt.call).then((frames) => frames[Symbol.asyncIterator]());
    this.#frames = opening;
    let first: Promise<IteratorResult<Frame>> | undefined;
    const readFirst = () => (first ??= opening.then((frames) => frames.next()));
    this.#read = async () => {
      const { done, value } = await readFirst();
      return done === true ? undefined : value.response;
    };
    const frames = await attempt.wait(opening);
    return this.#readAll(frames, () => attempt.wait(readFirst()));
  }

  /** Called when the sender might have aborted; returns whether the connection was taken over. */
  checkAbort(): boolean {
    if (this.#isInFlight && this.#signal.aborted) this.#isTakenOver ??= this.#onAbort(this);
    return this.#isTakenOver === true;
  }

  /**
   * Waits for the first response, until `close`. Returns the id of the task, `none` if the message
   * started no task, or `unknown` if the connection broke after the peer may have got the message.
   */
  async outcome(): Promise<{ readonly taskId: string } | 'none' | 'unknown'> {
    try {
      const response = await this.#read?.();
      if (response === undefined) return 'unknown';
      const ids = taskIdsOf(response);
      return ids === undefined ? 'none' : { taskId: ids.taskId };
    } catch (error) {
      const taskId = taskInFlight(error);
      if (taskId !== undefined) return { taskId };
      const isUnsent = error === this.#signal.reason;
      return (isUnsent || isRefused(error)) && !this.#wasInFlight ? 'none' : 'unknown';
    }
  }

  close(): void {
    this.#connection?.abort();
    // The abort fails a pending read, whose result is not needed.
    this.#frames?.then((frames) => frames.return?.()).catch(() => undefined);
  }

  async *#readAll(
    frames: AsyncIterator<Frame>,
    first: () => Promise<IteratorResult<Frame>>,
  ): AsyncGenerator<Frame> {
    try {
      let result = await first();
      if (result.done !== true) this.#isInFlight = false;
      for (; result.done !== true; result = await frames.next()) yield result.value;
    } finally {
      if (this.#isTakenOver !== true) await frames.return?.();
    }
  }

  #attempt<C extends TransportCall>(call: C) {
    const { signal } = call;
    const connection = new AbortController();
    this.#connection = connection;
    this.#frames = undefined;
    this.#wasInFlight = this.#isInFlight;
    this.#isInFlight = true;
    const onAbort = (): void => {
      if (!this.checkAbort()) connection.abort(signal?.reason);
    };
    if (signal?.aborted === true) connection.abort(signal.reason);
    // The first listener: the takeover is decided before the sender sees the abort.
    else signal?.addEventListener('abort', onAbort, { once: true });
    const wait = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await until(work, signal);
      } catch (error) {
        if (this.#isTakenOver !== true && isRefused(error)) this.#isInFlight = this.#wasInFlight;
        throw error;
      }
    };
    return { call: { ...call, signal: connection.signal, sendUntil: signal }, wait };
  }
}

/** The id of the running task; undefined if there is none. Rejects if the task can't be found. */
async function findTask(
  peer: Peer,
  message: Message,
  inFlight: InFlightMessage,
  { signal, headers }: { readonly signal: AbortSignal } & TransportCall,
): Promise<string | undefined> {
  const lookups = new Deadline({ signal });
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const answered = inFlight.outcome().then((outcome) => {
    if (outcome !== 'unknown') resolve(outcome === 'none' ? undefined : outcome.taskId);
  });
  const listed = lookUp(peer, message, { signal: lookups.signal, headers }).then((task) => {
    if (task !== undefined) resolve(isTerminal(task.status.state) ? undefined : task.id);
  });
  const notFound = `the task of message ${message.messageId} was not found: the peer may still work on it`;
  Promise.all([answered, listed]).then(
    () => reject(new LegateError('PEER_UNREACHABLE', notFound)),
    reject,
  );
  try {
    return await until(promise, signal);
  } finally {
    lookups.abort();
  }
}

/** Undefined if the peer doesn't list its tasks, or no lookup found the message. */
async function lookUp(
  peer: Peer,
  message: Message,
  call: { readonly signal: AbortSignal } & TransportCall,
): ReturnType<Peer['findTask']> {
  for (let lookup = 1; lookup <= MAX_LOOKUPS; lookup += 1) {
    await peer.settings.sleep(backoff(lookup, lookupPauses), call.signal);
    try {
      const task = await peer.findTask(message, call);
      if (task !== undefined) return task;
    } catch (error) {
      call.signal.throwIfAborted();
      if (!isTransient(error)) return undefined;
    }
  }
  return undefined;
}

async function cancelTask(peer: Peer, id: string, call: TransportCall): Promise<void> {
  try {
    await peer.call('cancelTask', { id }, call);
  } catch (error) {
    // The task ended first.
    if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
  }
}

/** The id of the task that the peer already runs for a duplicate message. */
export function taskInFlight(error: unknown): string | undefined {
  if (!(error instanceof LegateError) || error.code !== 'MESSAGE_IN_FLIGHT') return undefined;
  return error.metadata?.taskId;
}

/** Whether the peer rejected the message or never received it. */
function isRefused(error: unknown): boolean {
  return error instanceof LegateError && !inconclusive.has(error.code) && !isTransient(error);
}
/** After these errors it is unknown whether the peer processes the message. */
const inconclusive = new Set([
  'MESSAGE_IN_FLIGHT',
  'PEER_INVALID',
  'REQUEST_TIMEOUT',
  'INTERNAL',
  'INVALID_AGENT_RESPONSE',
]);

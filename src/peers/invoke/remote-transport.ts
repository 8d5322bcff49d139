import {
  type AnswerLimits,
  type RemoteEvent,
  RemoteTask,
  type ResumePoint,
  type TaskTransport,
} from '../../client/index.ts';
import { toError } from '../../protocol/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import type { TransportKind } from '../directory/transport-kind.ts';
import { textOfParts } from './answers.ts';
import type { Invocation, PeerListener, PeerTransport } from './invocation.ts';

/** The abort reason of a cancelled task. A process that shuts down leaves its tasks to the next one. */
class Cancelled extends Error {}

interface Running {
  readonly task: RemoteTask;
  readonly controller: AbortController;
  /** The message was sent, and no event has arrived yet. */
  isSending: boolean;
}

export interface RemoteTransportOptions {
  readonly transportKind: TransportKind;
  /** The task transport to a peer. */
  readonly open: (invocation: Invocation) => Promise<TaskTransport>;
  /** Runs work on behalf of an invocation. @default calls it */
  readonly within?: <T>(invocation: Invocation, work: () => T) => T;
  /** The invocation is no longer followed. */
  readonly onReleased?: (id: string) => void;
  /** Closes the connections, after all invocations were aborted. */
  readonly close?: () => Promise<void>;
  /** How much of an answer is kept. */
  readonly limits?: AnswerLimits | undefined;
  readonly logger?: Logger | undefined;
}

/**
 * A transport for tasks that this process follows itself, with one `RemoteTask` per invocation. A
 * message that the peer may have received is never sent twice.
 */
export class RemoteTransport implements PeerTransport {
  readonly transportKind: TransportKind;
  readonly deduplicates = false;
  readonly #options: RemoteTransportOptions;
  readonly #logger: Logger;
  readonly #running = new Map<string, Running>();
  #listener: PeerListener | undefined;
  #isStopped = false;

  constructor(options: RemoteTransportOptions) {
    this.#options = options;
    this.transportKind = options.transportKind;
    this.#logger = options.logger ?? silentLogger;
  }

  async start(listener: PeerListener): Promise<void> {
    this.#listener = listener;
  }

  /**
   * Resolves with the first event; rejects with earlier failures. Resolves at once for a peer without
   * tasks, which sends nothing before its answer.
   */
  async send(invocation: Invocation): Promise<void> {
    const point =
      invocation.message.taskId === undefined ? undefined : pointOf(invocation, 'asking');
    const transport = await this.#options.open(invocation);
    const running = this.#run(invocation, transport, point);
    const events = running.task.events();
    if (transport.resume === 'none') return void this.#follow(invocation, running, events);
    try {
      const first = await this.#within(invocation, () => events.next());
      running.isSending = false;
      void this.#follow(invocation, running, events, first);
    } catch (error) {
      this.#release(invocation.id, running);
      throw error;
    }
    return undefined;
  }

  /** Continues a task whose message another process sent or was sending. */
  async resume(invocation: Invocation): Promise<void> {
    const transport = await this.#options.open(invocation);
    const isSending = invocation.state === 'sending' || invocation.remote?.taskId === undefined;
    const point = pointOf(invocation, isSending ? 'sending' : 'working');
    const running = this.#run(invocation, transport, point);
    running.isSending = false;
    void this.#follow(invocation, running, running.task.events());
  }

  /** A task whose id is not known yet is found and cancelled in the background. */
  async cancel(invocation: Invocation): Promise<void> {
    const running = this.#running.get(invocation.id);
    const taskId = invocation.remote?.taskId ?? running?.task.taskId;
    running?.controller.abort(new Cancelled());
    if (taskId === undefined && running?.isSending === true) return;
    const transport = await this.#options.open(invocation);
    const point = { ...pointOf(invocation, 'working'), ...(taskId !== undefined && { taskId }) };
    await transport.cancel(point, { timeoutMs: 10_000 });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { controller } of this.#running.values()) controller.abort();
    await this.#options.close?.();
  }

  #within<T>(invocation: Invocation, work: () => T): T {
    const { within } = this.#options;
    return within === undefined ? work() : within(invocation, work);
  }

  #run(invocation: Invocation, transport: TaskTransport, point: ResumePoint | undefined): Running {
    const { id, agent, message } = invocation;
    const controller = new AbortController();
    const task: RemoteTask = new RemoteTask({
      transport,
      request: { message, metadata: message.metadata ?? {} },
      point,
      limits: this.#options.limits,
      signal: controller.signal,
      // Once its id is known, the task is cancelled by `cancel`.
      handsOver: (reason) => !(reason instanceof Cancelled) || task.taskId !== undefined,
      onCancelFailed: (error) =>
        this.#logger.warn({ invocation: id, agent, error }, 'peers.message.cancel_failed'),
    });
    const running = { task, controller, isSending: true };
    // The stream of an answer replaces the stream of its question.
    this.#running.get(id)?.controller.abort();
    this.#running.set(id, running);
    // A late start must not delay the shutdown.
    if (this.#isStopped) controller.abort();
    return running;
  }

  #follow(
    invocation: Invocation,
    running: Running,
    events: AsyncGenerator<RemoteEvent>,
    first?: IteratorResult<RemoteEvent>,
  ): Promise<void> {
    const { id } = invocation;
    return this.#within(invocation, async () => {
      try {
        let next = first ?? (await this.#next(id, running, events));
        while (next !== undefined && next.done !== true) {
          await this.#notify(id, next.value);
          next = await this.#next(id, running, events);
        }
      } finally {
        this.#release(id, running);
        // If the listener failed, stream and timers end, and the peer's task continues.
        running.controller.abort();
        await events.return(undefined);
      }
    }).catch((error: unknown) => {
      if (!this.#isStopped) this.#logger.error({ invocation: id, error }, 'peers.event.failed');
    });
  }

  /** The next event; undefined after a failure, which the listener gets. */
  async #next(
    id: string,
    { controller }: Running,
    events: AsyncGenerator<RemoteEvent>,
  ): Promise<IteratorResult<RemoteEvent> | undefined> {
    try {
      return await events.next();
    } catch (error) {
      // Our own abort is not a failure of the peer.
      if (this.#isStopped || controller.signal.aborted) return undefined;
      await this.#listener?.(id, { kind: 'error', error: toError(error) });
      return undefined;
    }
  }

  async #notify(id: string, event: RemoteEvent): Promise<void> {
    if (event.kind === 'known') await this.#listener?.(id, event);
    else if (event.kind === 'question') {
      await this.#listener?.(id, { kind: 'answer', response: { task: event.task } });
    } else if (event.kind === 'end') {
      await this.#listener?.(id, { kind: 'answer', response: event.response });
    } else if (event.kind === 'progress') {
      const text = textOfParts(event.parts);
      if (text === '') return;
      // Progress can get lost; the answer must not.
      await this.#listener?.(id, { kind: 'progress', text }).catch((error: unknown) => {
        this.#logger.warn({ invocation: id, error }, 'peers.progress.failed');
      });
    }
  }

  #release(id: string, running: Running): void {
    // A later run follows the same task.
    if (this.#running.get(id) !== running) return;
    this.#running.delete(id);
    this.#options.onReleased?.(id);
  }
}

function pointOf(invocation: Invocation, state: ResumePoint['state']): ResumePoint {
  const { message, remote, question } = invocation;
  return {
    v: 2,
    state,
    messageId: message.messageId,
    ...remote,
    ...(question !== undefined && { question: question.id }),
    ...(question?.needsAuthorization === true && { needsConsent: true }),
    delivered: {},
  };
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '@opentelemetry/api';
import {
  type CallOptions,
  type Client,
  type ClientBinding,
  type ClientOptions,
  type OutgoingRequest,
  type StreamEvent,
} from '../../client/index.ts';
import {
  isInterrupted,
  LegateError,
  type Message,
  type StreamResponse,
  type Task,
} from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import { type Logger, silentLogger, traceHeaders } from '../../telemetry/index.ts';
import type { Directory } from '../directory/index.ts';
import { contentOf, textOfParts } from './answer-text.ts';
import type { Invocation, PeerListener, PeerTransport } from './invocation.ts';
import { InvokeTelemetry, remoteTags } from './invoke-telemetry.ts';
import { PeerClients } from './peer-clients.ts';
import { TaskAssembly } from './task-assembly.ts';

/**
 * How peers are called over HTTP.
 * @example
 * const options: HttpTransportOptions = { directory, grpc: (policy) => grpcBinding({ policy }) };
 */
export interface HttpTransportOptions {
  readonly directory: Directory;
  /** Further options of the clients, such as how they poll. */
  readonly client?: Omit<ClientOptions, 'auth' | 'fetch' | 'bindings'>;
  /** Reaches peers over gRPC instead, within the policy that holds for a peer. */
  readonly grpc?: (policy: UrlPolicy) => ClientBinding;
  readonly telemetry?: InvokeTelemetry;
  readonly logger?: Logger;
}

/** A message that the peer has begun to answer. */
interface Sent {
  readonly first: IteratorResult<StreamEvent>;
  readonly events: AsyncGenerator<StreamEvent>;
  readonly span: Span;
}

/** Errors of peers that do not list tasks, or not to us. */
const unlisted: ReadonlySet<string> = new Set([
  'UNSUPPORTED_OPERATION',
  'METHOD_NOT_FOUND',
  'TASK_NOT_FOUND',
  'PERMISSION_DENIED',
  'PEER_INVALID',
]);

/** Nobody wants the task any more. A program that merely stops leaves it to the next. */
class GivenUp extends Error {}

function isGivenUp(reason: unknown): boolean {
  return reason instanceof GivenUp;
}

/**
 * Peers that speak A2A over HTTP, or over gRPC where it is given. Their tasks are streamed; where a stream breaks it is taken up
 * again, and where there is none the task is polled (from every 2 to every 30 seconds). A message that
 * the peer may have taken is never sent twice: after a takeover its task is looked up by the message's id.
 * @example
 * const transports = [new HttpTransport({ directory, client: { timeoutMs: 30_000 } })];
 * const invoker = new Invoker({ name: 'me', directory, transports, store, memory });
 */
export class HttpTransport implements PeerTransport {
  readonly reach: 'http' | 'grpc';
  readonly knowsRepeats = false;
  readonly #options: HttpTransportOptions;
  readonly #telemetry: InvokeTelemetry;
  readonly #clients: PeerClients;
  /** On whose behalf a client sends its requests: all invocations of a peer share one. */
  readonly #current = new AsyncLocalStorage<Invocation>();
  readonly #underWay = new Map<string, AbortController>();
  /** Invocations whose message is out and has brought no event yet. */
  readonly #sending = new Set<string>();
  /** Spans of tasks that are polled, with how often that was. */
  readonly #polls = new Map<string, { readonly span: Span; count: number }>();
  /** The peers' own ids, from when they are known here. */
  readonly #remotes = new Map<string, NonNullable<Invocation['remote']>>();
  #listener: PeerListener | undefined;
  #isStopped = false;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.reach = options.grpc === undefined ? 'http' : 'grpc';
    this.#telemetry = options.telemetry ?? new InvokeTelemetry();
    const { directory, grpc, client } = options;
    const onRequest = async (request: OutgoingRequest): Promise<void> => {
      if (request.operation === 'getTask') this.#polled(this.#current.getStore());
      for (const [name, value] of Object.entries(traceHeaders())) request.headers.set(name, value);
      await client?.onRequest?.(request);
    };
    this.#clients = new PeerClients({
      directory,
      reach: this.reach,
      grpc,
      client: { ...client, onRequest },
    });
  }

  async start(listener: PeerListener): Promise<void> {
    this.#listener = listener;
  }

  async send(invocation: Invocation, message: Message): Promise<void> {
    const client = await this.#clients.get(invocation.agent);
    const controller = this.#control(invocation.id);
    const { taskId } = message;
    try {
      const isPaused = taskId !== undefined && invocation.question?.needsAuthorization === true;
      if (isPaused && !(await this.#isWaiting(client, taskId, controller))) {
        this.#inBackground(invocation, controller, () =>
          this.#watch(client, invocation, taskId, controller),
        );
        return;
      }
      const sent = await this.#open(client, invocation, controller);
      this.#inBackground(invocation, controller, () => this.#follow(invocation, sent));
    } catch (error) {
      this.#release(invocation.id, controller);
      throw error;
    }
  }

  async resume(invocation: Invocation): Promise<void> {
    const client = await this.#clients.get(invocation.agent);
    const controller = this.#control(invocation.id);
    this.#inBackground(invocation, controller, () => this.#takeUp(client, invocation, controller));
  }

  /** A task whose id the peer has not told yet is found and cancelled in the background. */
  async cancel(invocation: Invocation): Promise<void> {
    const { id, remote } = invocation;
    this.#underWay.get(id)?.abort(new GivenUp());
    // The client calls back what it is sending.
    if (remote?.taskId === undefined && this.#sending.has(id)) return;
    const client = await this.#clients.get(invocation.agent);
    const call = { timeoutMs: 10_000 };
    const taskId = remote?.taskId ?? (await this.#find(client, invocation, call))?.id;
    if (taskId === undefined) return;
    await client.cancelTask(taskId, call).catch((error: unknown) => {
      // It ended first.
      if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const controller of this.#underWay.values()) controller.abort();
    await this.#clients.close();
  }

  #inBackground(
    invocation: Invocation,
    controller: AbortController,
    work: () => Promise<void>,
  ): void {
    void this.#current
      .run(invocation, work)
      .catch((error: unknown) => this.#fail(invocation, error, controller))
      .finally(() => this.#release(invocation.id, controller));
  }

  /** Goes on with what another process sent, or was sending. */
  async #takeUp(
    client: Client,
    invocation: Invocation,
    controller: AbortController,
  ): Promise<void> {
    const { signal } = controller;
    const { id, agent, remote, state, message, question } = invocation;
    if (remote?.taskId === undefined) {
      const found = await this.#find(client, invocation, { signal });
      if (found === undefined) {
        // Sent, perhaps, and never heard of: sending it again might do it twice.
        const text = `it is not known whether ${agent} took the task, for this program stopped in between; ask again if it matters`;
        throw new LegateError('UNAVAILABLE', text);
      }
      await this.#tell(id, { kind: 'known', taskId: found.id, contextId: found.contextId });
      return this.#watch(client, invocation, found.id, controller);
    }
    if (state === 'sending' && message.taskId !== undefined) {
      const task = await client.getTask(message.taskId, { signal });
      // A task that still asks has not got the answer.
      if (isInterrupted(task.status.state) && contentOf({ task }).id === question?.id) {
        return this.#follow(invocation, await this.#open(client, invocation, controller));
      }
    }
    await this.#watch(client, invocation, remote.taskId, controller);
  }

  /** The task that the message of an invocation led to; undefined where the peer shows none. */
  async #find(
    client: Client,
    { message }: Invocation,
    options: CallOptions,
  ): Promise<Task | undefined> {
    try {
      return await client.findTask(message, options);
    } catch (error) {
      if (error instanceof LegateError && unlisted.has(error.code)) return undefined;
      throw error;
    }
  }

  /** Whether a task waits for consent still: with consent given elsewhere, it takes no message. */
  async #isWaiting(client: Client, taskId: string, { signal }: AbortController): Promise<boolean> {
    const { status } = await client.getTask(taskId, { signal });
    return status.state === 'TASK_STATE_AUTH_REQUIRED';
  }

  /** Follows a task that exists. */
  async #watch(
    client: Client,
    invocation: Invocation,
    taskId: string,
    { signal }: AbortController,
  ): Promise<void> {
    this.#telemetry.fellBack(invocation);
    const span = this.#telemetry.dispatch('subscribe_loop', invocation);
    try {
      const task = await client.waitForEnd(taskId, { signal });
      await this.#tell(invocation.id, { kind: 'answer', response: { task } });
    } finally {
      span.end();
    }
  }

  /** Sends the message. Resolves with the first event: what fails before it is the caller's to see. */
  async #open(client: Client, invocation: Invocation, { signal }: AbortController): Promise<Sent> {
    const { id, message } = invocation;
    const { metadata = {} } = message;
    const recall = { isMeant: isGivenUp, onFailure: this.#notRecalled(invocation) };
    const events = client.sendStreamingMessage({ message, metadata }, { signal, recall });
    const isStreaming = client.card.capabilities.streaming === true;
    const kind = isStreaming ? 'streaming_dispatch' : 'http_dispatch';
    const { protocolVersion } = client.interface;
    const span = this.#telemetry.dispatch(kind, invocation, protocolVersion);
    this.#sending.add(id);
    try {
      return { first: await events.next(), events, span };
    } catch (error) {
      span.end();
      throw error;
    } finally {
      this.#sending.delete(id);
    }
  }

  async #follow(invocation: Invocation, sent: Sent): Promise<void> {
    try {
      const count = await this.#read(invocation, sent);
      sent.span.setAttribute('legate.a2a.total_events', count);
    } finally {
      sent.span.end();
    }
  }

  /** Reads a stream to its end; returns how many events came. */
  async #read(invocation: Invocation, { first, events, span }: Sent): Promise<number> {
    const { id, message } = invocation;
    const assembly = new TaskAssembly();
    let isKnown = false;
    let count = 0;
    for (let next = first; next.done !== true; next = await events.next()) {
      const { response } = next.value;
      count += 1;
      this.#telemetry.streamed(invocation);
      assembly.add(response);
      const { ids } = assembly;
      if (!isKnown && ids !== undefined) {
        isKnown = true;
        const remote = { taskId: ids.id, contextId: ids.contextId };
        this.#remotes.set(id, remote);
        span.setAttributes(remoteTags(remote));
        await this.#tell(id, { kind: 'known', ...remote });
      }
      const text = progressOf(response);
      if (text !== '' && !assembly.isOver) await this.#tell(id, { kind: 'progress', text });
      // The opening snapshot may still show the question that was just answered.
      const isOld = count === 1 && message.taskId !== undefined && 'task' in response;
      // The peer keeps this stream open: once the user consents elsewhere, the task goes on by itself.
      if (assembly.state === 'TASK_STATE_AUTH_REQUIRED' && isStatus(response) && !isOld) {
        await this.#answered(invocation, assembly);
      }
    }
    await this.#answered(invocation, assembly);
    return count;
  }

  async #answered({ id, agent }: Invocation, { response, isOver }: TaskAssembly): Promise<void> {
    if (response === undefined || !isOver) {
      throw new LegateError('PEER_INVALID', `${agent} closed its answer before its end`);
    }
    await this.#tell(id, { kind: 'answer', response });
  }

  #polled(invocation: Invocation | undefined): void {
    if (invocation === undefined) return;
    this.#telemetry.polled(invocation);
    const { id } = invocation;
    const remote = this.#remotes.get(id) ?? invocation.remote ?? {};
    const poll = this.#polls.get(id) ?? {
      span: this.#telemetry.dispatch('poll_loop', { ...invocation, remote }),
      count: 0,
    };
    poll.count += 1;
    this.#polls.set(id, poll);
  }

  #notRecalled({ id, agent }: Invocation): (error: unknown) => void {
    const { logger = silentLogger } = this.#options;
    return (error) => logger.warn({ invocation: id, agent, error }, 'peers.message.not_recalled');
  }

  /** An answer takes the place of the stream on which its question came. */
  #control(id: string): AbortController {
    this.#underWay.get(id)?.abort();
    const controller = new AbortController();
    // What comes too late must not keep the program from stopping.
    if (this.#isStopped) controller.abort();
    this.#underWay.set(id, controller);
    return controller;
  }

  #release(id: string, controller: AbortController): void {
    // Another one goes on with the same task.
    if (this.#underWay.get(id) !== controller) return;
    this.#underWay.delete(id);
    const poll = this.#polls.get(id);
    poll?.span.setAttribute('legate.a2a.total_polls', poll.count).end();
    this.#polls.delete(id);
    this.#remotes.delete(id);
  }

  /** What we ended ourselves is no failure of the peer. */
  async #fail(invocation: Invocation, error: unknown, { signal }: AbortController): Promise<void> {
    if (this.#isStopped || signal.aborted) return;
    const failure = error instanceof Error ? error : new Error(String(error));
    await this.#tell(invocation.id, { kind: 'error', error: failure });
  }

  async #tell(...event: Parameters<PeerListener>): Promise<void> {
    await this.#listener?.(...event);
  }
}

function isStatus(event: StreamResponse): boolean {
  return 'task' in event || 'statusUpdate' in event;
}

/**
 * What a peer says on its way, in words.
 * @example
 * for await (const { response } of client.sendStreamingMessage('Hello')) {
 *   console.log(progressOf(response));
 * }
 */
export function progressOf(event: StreamResponse): string {
  if (!('statusUpdate' in event)) return '';
  return textOfParts(event.statusUpdate.status.message?.parts ?? []);
}

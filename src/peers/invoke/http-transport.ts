import type { Span } from '@opentelemetry/api';
import {
  type Client,
  type ClientBinding,
  type ClientOptions,
  connect,
  type StreamEvent,
} from '../../client/index.ts';
import { LegateError, type Message, type StreamResponse } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import { type Logger, silentLogger, traceHeaders } from '../../telemetry/index.ts';
import { clientAuth, type Directory, reachOf } from '../directory/index.ts';
import { textOfParts } from './answer-text.ts';
import type { Invocation, PeerListener, PeerTransport } from './invocation.ts';
import { InvokeTelemetry, remoteTags } from './invoke-telemetry.ts';
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

/** Nobody wants the task any more. A program that merely stops leaves it to the next. */
class GivenUp extends Error {}

function isGivenUp(reason: unknown): boolean {
  return reason instanceof GivenUp;
}

/**
 * Peers that speak A2A over HTTP, or over gRPC where it is given. Their tasks are streamed; where a stream breaks it is taken up
 * again, and where there is none the task is polled (from every 2 to every 30 seconds). A message is
 * never sent twice.
 * @example
 * const transports = [new HttpTransport({ directory, client: { timeoutMs: 30_000 } })];
 * const invoker = new Invoker({ name: 'me', directory, transports, records, memory });
 */
export class HttpTransport implements PeerTransport {
  readonly reach: 'http' | 'grpc';
  readonly knowsRepeats = false;
  readonly #options: HttpTransportOptions;
  readonly #telemetry: InvokeTelemetry;
  readonly #underWay = new Map<string, AbortController>();
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
  }

  async start(listener: PeerListener): Promise<void> {
    this.#listener = listener;
  }

  async send(invocation: Invocation, message: Message): Promise<void> {
    const client = await this.#client(invocation);
    const controller = this.#control(invocation.id);
    const { signal } = controller;
    const { taskId } = message;
    if (taskId !== undefined && invocation.question?.needsAuthorization === true) {
      // The user may have consented elsewhere: a task that went on takes no further message.
      const { status } = await client.getTask(taskId, { signal }).catch((error: unknown) => {
        this.#release(invocation.id, controller);
        throw error;
      });
      if (status.state !== 'TASK_STATE_AUTH_REQUIRED') {
        return this.#watch(client, invocation, taskId, controller);
      }
    }
    const { metadata = {} } = message;
    const recall = { isMeant: isGivenUp, onFailure: this.#notRecalled(invocation) };
    const events = client.sendStreamingMessage({ message, metadata }, { signal, recall });
    const isStreaming = client.card.capabilities.streaming === true;
    const kind = isStreaming ? 'streaming_dispatch' : 'http_dispatch';
    const { protocolVersion } = client.interface;
    const span = this.#telemetry.dispatch(kind, invocation, protocolVersion);
    await this.#begin(invocation, events, controller, span);
  }

  async resume(invocation: Invocation): Promise<void> {
    const taskId = invocation.remote?.taskId;
    if (taskId === undefined) {
      // Sent, perhaps, and never heard of: sending it again might do it twice.
      const text = `it is not known whether ${invocation.agent} took the task, for this program stopped in between; ask again if it matters`;
      await this.#tell(invocation.id, {
        kind: 'error',
        error: new LegateError('UNAVAILABLE', text),
      });
      return;
    }
    const client = await this.#client(invocation);
    this.#watch(client, invocation, taskId, this.#control(invocation.id));
  }

  /** A task whose id the peer has not told yet is found and cancelled in the background. */
  async cancel(invocation: Invocation): Promise<void> {
    this.#underWay.get(invocation.id)?.abort(new GivenUp());
    const taskId = invocation.remote?.taskId;
    if (taskId === undefined) return;
    const client = await this.#client(invocation);
    await client.cancelTask(taskId, { timeoutMs: 10_000 }).catch((error: unknown) => {
      // It ended first.
      if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const controller of this.#underWay.values()) controller.abort();
  }

  /** Follows a task that exists, in the background. */
  #watch(
    client: Client,
    invocation: Invocation,
    taskId: string,
    controller: AbortController,
  ): void {
    this.#telemetry.fellBack(invocation);
    const span = this.#telemetry.dispatch('subscribe_loop', invocation);
    void client
      .waitForEnd(taskId, { signal: controller.signal })
      .then((task) => this.#tell(invocation.id, { kind: 'answer', response: { task } }))
      .catch((error: unknown) => this.#fail(invocation, error, controller))
      .finally(() => {
        span.end();
        this.#release(invocation.id, controller);
      });
  }

  /** Resolves with the first event, so that what fails before it is the caller's to see. */
  async #begin(
    invocation: Invocation,
    events: AsyncGenerator<StreamEvent>,
    controller: AbortController,
    span: Span,
  ): Promise<void> {
    let first: IteratorResult<StreamEvent>;
    try {
      first = await events.next();
    } catch (error) {
      span.end();
      this.#release(invocation.id, controller);
      throw error;
    }
    void this.#follow(invocation, first, events, span)
      .then((count) => span.setAttribute('legate.a2a.total_events', count))
      .catch((error: unknown) => this.#fail(invocation, error, controller))
      .finally(() => {
        span.end();
        this.#release(invocation.id, controller);
      });
  }

  async #follow(
    invocation: Invocation,
    first: IteratorResult<StreamEvent>,
    events: AsyncGenerator<StreamEvent>,
    span: Span,
  ): Promise<number> {
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

  async #client({ agent, ...invocation }: Invocation): Promise<Client> {
    const { directory, grpc } = this.#options;
    const peer = await directory.require(agent);
    const from = peer.origin === 'well-known' ? 'operator' : 'stranger';
    const fetching = directory.cards.fetchFor(from);
    const interfaces = peer.card.supportedInterfaces.filter((each) => reachOf(each) === this.reach);
    const credential = await directory.credential(agent);
    return connect(
      { ...peer.card, supportedInterfaces: interfaces },
      {
        ...this.#options.client,
        // What is added to requests of HTTP would be missing from those of gRPC.
        ...clientAuth(
          grpc === undefined ? credential : credential && { ...credential, allowsPlainHttp: false },
          fetching,
        ),
        ...(grpc !== undefined && { bindings: [grpc(directory.cards.policyFor(from))] }),
        onRequest: async (request) => {
          if (request.operation === 'getTask') this.#polled({ agent, ...invocation });
          for (const [name, value] of Object.entries(traceHeaders())) {
            request.headers.set(name, value);
          }
          await this.#options.client?.onRequest?.(request);
        },
      },
    );
  }

  #polled(invocation: Invocation): void {
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

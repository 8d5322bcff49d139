import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '@opentelemetry/api';
import {
  type Client,
  type ClientBinding,
  type ClientOptions,
  clientTransport,
  type OutgoingRequest,
  type RemoteFrame,
  type TaskTransport,
} from '../../client/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import { type Logger, traceHeaders } from '../../telemetry/index.ts';
import type { Directory } from '../directory/index.ts';
import type { Invocation } from './invocation.ts';
import { InvokeTelemetry, remoteTags } from './invoke-telemetry.ts';
import { PeerClients } from './peer-clients.ts';
import { RemoteTransport } from './remote-transport.ts';

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

/**
 * Peers that speak A2A over HTTP, or over gRPC where it is given. Their tasks are streamed; where a
 * stream breaks it is taken up again, and where there is none the task is polled (from every 2 to
 * every 30 seconds). After a takeover the task of a message is looked up by the message's id.
 * @example
 * const transports = [new HttpTransport({ directory, client: { timeoutMs: 30_000 } })];
 * const invoker = new Invoker({ name: 'me', directory, transports, store, memory });
 */
export class HttpTransport extends RemoteTransport {
  override readonly transportKind: 'http' | 'grpc';
  readonly #telemetry: InvokeTelemetry;
  readonly #clients: PeerClients;
  /** On whose behalf a client sends its requests: all invocations of a peer share one. */
  readonly #current = new AsyncLocalStorage<Invocation>();
  /** Spans of tasks that are polled, with how often that was. */
  readonly #polls = new Map<string, { readonly span: Span; count: number }>();
  /** The peers' own ids, from when they are known here. */
  readonly #remotes = new Map<string, NonNullable<Invocation['remote']>>();

  constructor(options: HttpTransportOptions) {
    super(options);
    const { directory, grpc, client } = options;
    this.transportKind = grpc === undefined ? 'http' : 'grpc';
    this.#telemetry = options.telemetry ?? new InvokeTelemetry();
    const onRequest = async (request: OutgoingRequest): Promise<void> => {
      if (request.operation === 'getTask') this.#polled(this.#current.getStore());
      for (const [name, value] of Object.entries(traceHeaders())) request.headers.set(name, value);
      await client?.onRequest?.(request);
    };
    const transportKind = this.transportKind;
    this.#clients = new PeerClients({
      directory,
      transportKind,
      grpc,
      client: { ...client, onRequest },
    });
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.#clients.close();
  }

  protected override async transportFor(invocation: Invocation): Promise<TaskTransport> {
    const client = await this.#clients.get(invocation.agent);
    const transport = clientTransport(client);
    return {
      ...transport,
      send: (request, call) => this.#sent(client, invocation, transport.send(request, call)),
      follow: (taskId, call) =>
        this.#followed(invocation, client.followTask(taskId, { signal: call.signal })),
    };
  }

  protected override within<T>(invocation: Invocation, work: () => T): T {
    return this.#current.run(invocation, work);
  }

  protected override released(id: string): void {
    const poll = this.#polls.get(id);
    poll?.span.setAttribute('legate.a2a.total_polls', poll.count).end();
    this.#polls.delete(id);
    this.#remotes.delete(id);
  }

  async *#sent(
    { card, interface: { protocolVersion } }: Client,
    invocation: Invocation,
    frames: AsyncIterable<RemoteFrame>,
  ): AsyncGenerator<RemoteFrame> {
    const streams = card.capabilities.streaming === true;
    const kind = streams ? 'streaming_dispatch' : 'http_dispatch';
    const span = this.#telemetry.dispatch(kind, invocation, protocolVersion);
    let count = 0;
    try {
      for await (const frame of frames) {
        count += 1;
        this.#telemetry.streamed(invocation);
        const remote = this.#remotes.has(invocation.id) ? undefined : remoteIn(frame);
        if (remote !== undefined) {
          this.#remotes.set(invocation.id, remote);
          span.setAttributes(remoteTags(remote));
        }
        yield frame;
      }
    } finally {
      if (streams) span.setAttribute('legate.a2a.total_events', count);
      span.end();
    }
  }

  /** Follows a task that exists. */
  async *#followed(
    invocation: Invocation,
    frames: AsyncIterable<RemoteFrame>,
  ): AsyncGenerator<RemoteFrame> {
    this.#telemetry.fellBack(invocation);
    const span = this.#telemetry.dispatch('subscribe_loop', invocation);
    try {
      yield* frames;
    } finally {
      span.end();
    }
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
}

function remoteIn({ response }: RemoteFrame): NonNullable<Invocation['remote']> | undefined {
  if ('task' in response) return { taskId: response.task.id, contextId: response.task.contextId };
  if ('message' in response) return undefined;
  const { taskId, contextId } =
    'statusUpdate' in response ? response.statusUpdate : response.artifactUpdate;
  return { taskId, contextId };
}

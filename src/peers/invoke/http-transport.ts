import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '@opentelemetry/api';
import {
  type AnswerLimits,
  type Client,
  type ClientBinding,
  type ClientOptions,
  clientTransport,
  type RemoteFrame,
} from '../../client/index.ts';
import { taskIdsOf } from '../../protocol/index.ts';
import type { ClientTls, UrlPolicy } from '../../push/index.ts';
import { type Logger, traceHeaders } from '../../telemetry/index.ts';
import type { Directory } from '../directory/directory.ts';
import type { Invocation, PeerTransport } from './invocation.ts';
import { InvokeTelemetry, remoteTags } from './invoke-telemetry.ts';
import { PeerClients } from './peer-clients.ts';
import { RemoteTransport } from './remote-transport.ts';

export interface HttpTransportOptions {
  readonly directory: Directory;
  /** Further options of the clients, such as how they poll. */
  readonly client?: Omit<ClientOptions, 'auth' | 'fetch' | 'bindings'> | undefined;
  /** Reaches peers over gRPC instead, within the URL policy for the peer. */
  readonly grpc?: (policy: UrlPolicy, tls?: ClientTls) => ClientBinding;
  /** How much of an answer is kept. */
  readonly limits?: AnswerLimits | undefined;
  readonly logger?: Logger;
}

type RemoteIds = NonNullable<Invocation['remote']>;

/**
 * Peers that speak A2A over HTTP, or over gRPC where it is given. Their tasks are streamed; a broken
 * stream is resumed, and the task of a peer that doesn't stream is polled. After a takeover the task
 * of a message is looked up by the message's id.
 */
export function httpTransport(options: HttpTransportOptions): PeerTransport {
  const { directory, grpc, client: given, limits, logger } = options;
  const transportKind = grpc === undefined ? 'http' : 'grpc';
  const telemetry = new InvokeTelemetry();
  /** The invocation that a request is sent for: all invocations of a peer share one client. */
  const current = new AsyncLocalStorage<Invocation>();
  /** The peers' own ids, once they are known here. */
  const remotes = new Map<string, RemoteIds>();
  /** Spans of tasks that are polled, with the number of polls. */
  const polls = new Map<string, { readonly span: Span; count: number }>();

  function polled(invocation: Invocation | undefined): void {
    if (invocation === undefined) return;
    telemetry.polled(invocation);
    const { id } = invocation;
    const remote = remotes.get(id) ?? invocation.remote ?? {};
    const poll = polls.get(id) ?? {
      span: telemetry.dispatch('poll_loop', { ...invocation, remote }),
      count: 0,
    };
    poll.count += 1;
    polls.set(id, poll);
  }

  async function* sent(
    { card, interface: { protocolVersion } }: Client,
    invocation: Invocation,
    frames: AsyncIterable<RemoteFrame>,
  ): AsyncGenerator<RemoteFrame> {
    const streams = card.capabilities.streaming === true;
    const kind = streams ? 'streaming_dispatch' : 'http_dispatch';
    const span = telemetry.dispatch(kind, invocation, protocolVersion);
    let count = 0;
    try {
      for await (const frame of frames) {
        count += 1;
        telemetry.streamed(invocation);
        const remote = remotes.has(invocation.id) ? undefined : taskIdsOf(frame.response);
        if (remote !== undefined) {
          remotes.set(invocation.id, remote);
          span.setAttributes(remoteTags(remote));
        }
        yield frame;
      }
    } finally {
      if (streams) span.setAttribute('legate.a2a.total_events', count);
      span.end();
    }
  }

  async function* followed(
    invocation: Invocation,
    frames: AsyncIterable<RemoteFrame>,
  ): AsyncGenerator<RemoteFrame> {
    telemetry.fellBack(invocation);
    const span = telemetry.dispatch('subscribe_loop', invocation);
    try {
      yield* frames;
    } finally {
      span.end();
    }
  }

  const clients = new PeerClients({
    directory,
    transportKind,
    grpc,
    client: {
      ...given,
      async onRequest(request) {
        if (request.operation === 'getTask') polled(current.getStore());
        for (const [name, value] of Object.entries(traceHeaders())) {
          request.headers.set(name, value);
        }
        await given?.onRequest?.(request);
      },
    },
  });
  return new RemoteTransport({
    transportKind,
    limits,
    logger,
    async open(invocation) {
      const client = await clients.get(invocation.agent);
      const transport = clientTransport(client);
      return {
        ...transport,
        send: (request, call) => sent(client, invocation, transport.send(request, call)),
        follow: (taskId, { signal }) => followed(invocation, client.followTask(taskId, { signal })),
      };
    },
    within: (invocation, work) => current.run(invocation, work),
    onReleased(id) {
      const poll = polls.get(id);
      poll?.span.setAttribute('legate.a2a.total_polls', poll.count).end();
      polls.delete(id);
      remotes.delete(id);
    },
    close: () => clients.close(),
  });
}

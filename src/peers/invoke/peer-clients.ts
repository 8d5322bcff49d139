import {
  type Client,
  type ClientBinding,
  type ClientOptions,
  connect,
} from '../../client/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { ClientTls, UrlPolicy } from '../../push/index.ts';
import { clientAuth } from '../directory/card-fetcher.ts';
import type { Directory } from '../directory/directory.ts';
import { transportKindOf } from '../directory/transport-kind.ts';

export interface PeerClientsOptions {
  readonly directory: Directory;
  readonly transportKind: 'http' | 'grpc';
  /** Needed to reach peers over gRPC. */
  readonly grpc: ((policy: UrlPolicy, tls?: ClientTls) => ClientBinding) | undefined;
  readonly client: Omit<ClientOptions, 'auth' | 'fetch' | 'bindings'>;
}

interface Known {
  /** What the client was created from. */
  readonly from: string;
  readonly client: Promise<Client>;
}

/**
 * One client for each peer, so that calls share its connection. A peer whose card, origin or
 * credential has changed gets a new client; the former one is closed once its calls have ended.
 */
export class PeerClients {
  readonly #options: PeerClientsOptions;
  readonly #known = new Map<string, Known>();
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: PeerClientsOptions) {
    this.#options = options;
  }

  async get(agent: string): Promise<Client> {
    const { directory, transportKind, grpc } = this.#options;
    const peer = await directory.requireVerified(agent);
    const { origin } = peer;
    const supportedInterfaces = peer.card.supportedInterfaces.filter(
      (each) => transportKindOf(each) === transportKind,
    );
    const card = { ...peer.card, supportedInterfaces };
    const credential = await directory.credential(agent);
    if (this.#isClosed) {
      throw new LegateError(
        'UNAVAILABLE',
        `${agent} can't be called: this process is shutting down`,
      );
    }
    const from = JSON.stringify([card, origin, credential]);
    const known = this.#known.get(peer.name);
    if (known?.from === from) return known.client;
    const client = connect(card, {
      ...this.#options.client,
      // gRPC doesn't use `fetch`, which adds credentials where plain http is allowed.
      ...clientAuth(
        grpc === undefined ? credential : credential && { ...credential, allowsPlainHttp: false },
        directory.cards.fetchFor(origin),
      ),
      ...(grpc !== undefined && {
        bindings: [grpc(directory.cards.policyFor(origin), directory.cards.tlsFor(origin))],
      }),
    });
    this.#known.set(peer.name, { from, client });
    if (known !== undefined) this.#close(known);
    client.catch(() => {
      // The next call tries again.
      if (this.#known.get(peer.name)?.client === client) this.#known.delete(peer.name);
    });
    return client;
  }

  /** Closes all clients; waits a bounded time until the tasks of aborted messages are cancelled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const known of this.#known.values()) this.#close(known);
    this.#known.clear();
    await Promise.all(this.#closing);
  }

  #close({ client }: Known): void {
    const closing = client.then(
      (made) => made.close(),
      // The connection failed, and its callers have the error.
      () => undefined,
    );
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}

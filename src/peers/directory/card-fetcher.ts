import { type ClientOptions, fetchAgentCard } from '../../client/index.ts';
import { present } from '../../config/index.ts';
import { type ClientTls, readBodyOf } from '../../net/index.ts';
import {
  type AgentCard,
  cardPaths,
  LegateError,
  parseJsonOr,
  toLegateError,
} from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import {
  type GuardedFetch,
  guardedFetch,
  httpsOrLoopbackPolicy,
  operatorPolicy as anywhere,
  type UrlPolicy,
} from '../../push/index.ts';
import type { Peer, PeerCredential, WellKnownPeer } from './peer.ts';
import { readPlainCard } from './plain-card.ts';

/** How cards of peers are fetched. */
export interface CardFetcherOptions {
  /** Allowed addresses of peers that the operator configured. @default http and https, anywhere */
  readonly operatorPolicy?: UrlPolicy;
  /** Allowed addresses of all other peers. @default https, or this machine */
  readonly strangerPolicy?: UrlPolicy;
  /** Certificates for peers that the operator configured; other peers never get them. */
  readonly tls?: ClientTls;
}

const maxCardSize = 256 * 1024;
/** Milliseconds. */
const timeoutMs = 10_000;

/** Fetches agent cards within the URL policies. */
export class CardFetcher {
  readonly #options: CardFetcherOptions;
  readonly #operator: GuardedFetch;
  readonly #stranger: GuardedFetch;

  constructor(options: CardFetcherOptions = {}) {
    this.#options = options;
    this.#operator = guardedFetch(
      this.policyFor('well-known'),
      present({ tls: this.tlsFor('well-known') }),
    );
    this.#stranger = guardedFetch(this.policyFor('announced'));
  }

  /** The `fetch` for a peer: peers of the operator may have private addresses. */
  fetchFor(origin: Peer['origin']): typeof fetch {
    return origin === 'well-known' ? this.#operator : this.#stranger;
  }

  /** The same policy, for transports other than HTTP. */
  policyFor(origin: Peer['origin']): UrlPolicy {
    const { operatorPolicy = anywhere, strangerPolicy = httpsOrLoopbackPolicy } = this.#options;
    return origin === 'well-known' ? operatorPolicy : strangerPolicy;
  }

  /** The same for certificates. */
  tlsFor(origin: Peer['origin']): ClientTls | undefined {
    return origin === 'well-known' ? this.#options.tls : undefined;
  }

  close(): void {
    this.#operator.close();
    this.#stranger.close();
  }

  async fetch(
    url: string,
    {
      origin,
      credential,
      verifyCard,
      signal,
    }: {
      readonly origin: Peer['origin'];
      readonly credential?: PeerCredential | undefined;
      readonly verifyCard?: WellKnownPeer['verifyCard'];
      readonly signal?: AbortSignal;
    },
  ): Promise<AgentCard> {
    using deadline = new Deadline({
      signal,
      milliseconds: timeoutMs,
      reason: () => new LegateError('REQUEST_TIMEOUT', `no card of ${url} within ${timeoutMs} ms`),
    });
    try {
      const { card } = await fetchAgentCard(url, {
        ...clientAuth(credential, this.fetchFor(origin)),
        ...present({ verifyCard }),
        retry: false,
        timeoutMs,
        maxBodySize: maxCardSize,
        signal: deadline.signal,
      });
      return card;
    } catch (error) {
      // Plain cards have no signature.
      const mayBePlain = verifyCard === undefined && toLegateError(error).code === 'PEER_INVALID';
      if (!mayBePlain) throw error;
      const plain = await this.#plainCard(url, this.fetchFor(origin), deadline.signal);
      if (plain === undefined) throw error;
      return plain;
    }
  }

  /** Fetches the card of an agent at `/tasks/send`, which has another format. Never sends credentials. */
  async #plainCard(
    url: string,
    fetching: typeof fetch,
    signal: AbortSignal,
  ): Promise<AgentCard | undefined> {
    const base = url.replace(/\/+$/, '');
    for (const path of cardPaths) {
      const response = await fetching(`${base}${path}`, { signal, redirect: 'error' });
      const text = response.ok ? await boundedText(response) : undefined;
      const card =
        text === undefined ? undefined : readPlainCard(parseJsonOr(text, undefined), base);
      if (card !== undefined) return card;
      if (text === undefined) await response.body?.cancel();
    }
    return undefined;
  }
}

async function boundedText(response: Response): Promise<string | undefined> {
  const { bytes, isCut } = await readBodyOf(response, maxCardSize);
  return isCut ? undefined : bytes.toString('utf8');
}

/**
 * Client options for a peer: its `fetch` and our credential. The client does not send credentials
 * over plain http to other machines; with `allowsPlainHttp` they are added below the client.
 */
export function clientAuth(
  credential: PeerCredential | undefined,
  fetching: typeof fetch,
): Pick<ClientOptions, 'auth' | 'fetch'> {
  if (credential === undefined) return { fetch: fetching };
  const { headerName, headerValue, allowsPlainHttp = false } = credential;
  if (!allowsPlainHttp) {
    return { fetch: fetching, auth: { headers: () => ({ [headerName]: headerValue }) } };
  }
  return {
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set(headerName, headerValue);
      return fetching(input, { ...init, headers });
    },
  };
}

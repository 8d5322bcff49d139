import { fetchAgentCard } from '../../client/index.ts';
import { readBodyOf } from '../../net/index.ts';
import { type AgentCard, LegateError, parseJson } from '../../protocol/index.ts';
import { Deadline } from '../../time/index.ts';
import {
  type GuardedFetch,
  guardedFetch,
  httpsOrLoopbackPolicy,
  type UrlPolicy,
} from '../../push/index.ts';
import { clientAuth } from './peer-http.ts';
import type { PeerCredential } from './peer.ts';
import { readPlainCard } from './plain-card.ts';

/**
 * How cards of peers are fetched.
 * @example const options: CardFetcherOptions = { timeoutMs: 3_000, strangerPolicy: sealedPolicy };
 */
export interface CardFetcherOptions {
  /** Where peers that the operator named may be. @default http and https, anywhere */
  readonly operatorPolicy?: UrlPolicy;
  /** Where peers that others named may be. @default https, or this machine */
  readonly strangerPolicy?: UrlPolicy;
  /** Milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
  /** @default guarded by the policies */
  readonly fetch?: typeof fetch;
}

const anywhere: UrlPolicy = { schemes: ['http', 'https'], allowLoopback: true, allowPrivate: true };
const maxCardSize = 256 * 1024;
const plainPaths = ['/.well-known/agent-card.json', '/.well-known/agent.json'] as const;

/**
 * Fetches agent cards.
 * @example
 * const cards = new CardFetcher({ timeoutMs: 5_000 });
 * const { skills } = await cards.fetch('https://bob.example', 'operator', undefined);
 * cards.close();
 */
export class CardFetcher {
  readonly #options: CardFetcherOptions;
  readonly #policies: Readonly<Record<'operator' | 'stranger', UrlPolicy>>;
  readonly #operator: typeof fetch;
  readonly #stranger: typeof fetch;
  readonly #guarded: readonly GuardedFetch[];

  constructor(options: CardFetcherOptions = {}) {
    this.#options = options;
    this.#policies = {
      operator: options.operatorPolicy ?? anywhere,
      stranger: options.strangerPolicy ?? httpsOrLoopbackPolicy,
    };
    const operator = guardedFetch(this.#policies.operator);
    const stranger = guardedFetch(this.#policies.stranger);
    this.#guarded = [operator, stranger];
    this.#operator = options.fetch ?? operator;
    this.#stranger = options.fetch ?? stranger;
  }

  /** The `fetch` for a peer: peers of the operator may have private addresses. */
  fetchFor(origin: 'operator' | 'stranger'): typeof fetch {
    return origin === 'operator' ? this.#operator : this.#stranger;
  }

  /** The same policy, for transports other than HTTP. */
  policyFor(origin: 'operator' | 'stranger'): UrlPolicy {
    return this.#policies[origin];
  }

  close(): void {
    for (const each of this.#guarded) each.close();
  }

  async fetch(
    url: string,
    from: 'operator' | 'stranger',
    credential: PeerCredential | undefined,
    signal?: AbortSignal,
  ): Promise<AgentCard> {
    const { timeoutMs = 10_000 } = this.#options;
    using deadline = new Deadline({
      signal,
      milliseconds: timeoutMs,
      reason: () => new LegateError('REQUEST_TIMEOUT', `no card of ${url} within ${timeoutMs} ms`),
    });
    try {
      const { card } = await fetchAgentCard(url, {
        ...clientAuth(credential, this.fetchFor(from)),
        retry: false,
        timeoutMs,
        maxBodySize: maxCardSize,
        signal: deadline.signal,
      });
      return card;
    } catch (error) {
      if (!(error instanceof LegateError) || error.code !== 'PEER_INVALID') throw error;
      const plain = await this.#plainCard(url, this.fetchFor(from), deadline.signal);
      if (plain === undefined) throw error;
      return plain;
    }
  }

  /** Agents that are called at `/tasks/send` have a card of their own form. Never with credentials. */
  async #plainCard(
    url: string,
    fetching: typeof fetch,
    signal: AbortSignal,
  ): Promise<AgentCard | undefined> {
    const base = url.replace(/\/+$/, '');
    for (const path of plainPaths) {
      const response = await fetching(`${base}${path}`, { signal, redirect: 'error' });
      const text = response.ok ? await boundedText(response) : undefined;
      const card = text === undefined ? undefined : readPlainCard(tryJson(text), base);
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

function tryJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

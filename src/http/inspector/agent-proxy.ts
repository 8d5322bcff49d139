import type { IncomingMessage } from 'node:http';
import { isLocalName, isLocalRequest } from '../../auth/index.ts';
import {
  checkUrl,
  type GuardedFetch,
  guardedFetch,
  type GuardedFetchOptions,
  publicHttpsPolicy,
  type Resolver,
  type UrlPolicy,
  UrlRefused,
} from '../../push/index.ts';
import type { NetworkExposure } from '../../service/index.ts';

/** Where an operator on the machine itself may go: agents of the machine and of its network, too. */
const anywherePolicy: UrlPolicy = {
  schemes: ['http', 'https'],
  allowLoopback: true,
  allowPrivate: true,
};

/** Agents that may be named at one time; naming one more forgets the one named first. */
const maxNamed = 100;

export interface AgentProxyOptions {
  readonly exposure: NetworkExposure;
  /** Where calls may go, for every client. @default by `exposure` and by client */
  readonly policy?: UrlPolicy | undefined;
  /** @default the operating system's */
  readonly resolver?: Resolver;
}

/**
 * Calls other agents for the page: those that the operator named, and no others, so that a card can't
 * lead the server elsewhere. From a server that others can exposure, and for requests that a proxy
 * forwarded, only public https addresses. Addresses are checked again when connecting.
 */
export class AgentProxy {
  readonly #exposure: NetworkExposure;
  readonly #policy: UrlPolicy | undefined;
  readonly #options: GuardedFetchOptions;
  readonly #fetches = new Map<UrlPolicy, GuardedFetch>();
  readonly #named = new Set<string>();

  constructor({ exposure, policy, resolver }: AgentProxyOptions) {
    this.#exposure = exposure;
    this.#policy = policy;
    this.#options = resolver === undefined ? {} : { resolver };
  }

  /** Lets the page call the agent at this address from now on. */
  name(address: string, request: IncomingMessage): void {
    const url = checkUrl(address, this.#policyFor(request));
    const origin = originOf(url);
    this.#named.delete(origin);
    this.#named.add(origin);
    const [first] = this.#named;
    if (this.#named.size > maxNamed && first !== undefined) this.#named.delete(first);
  }

  async fetch(address: string, init: RequestInit, request: IncomingMessage): Promise<Response> {
    const policy = this.#policyFor(request);
    const url = checkUrl(address, policy);
    if (!this.#named.has(originOf(url))) {
      const problem = `${url.origin} is not an agent that you named; connect to that address to call it`;
      throw new UrlRefused('INVALID_PARAMS', 'url', problem);
    }
    let fetch = this.#fetches.get(policy);
    if (fetch === undefined)
      this.#fetches.set(policy, (fetch = guardedFetch(policy, this.#options)));
    return fetch(url.href, { ...init, redirect: 'manual' });
  }

  close(): void {
    for (const fetch of this.#fetches.values()) fetch.close();
  }

  #policyFor(request: IncomingMessage): UrlPolicy {
    if (this.#policy !== undefined) return this.#policy;
    const isLocal = this.#exposure.isLocalOnly && isLocalRequest(request);
    return isLocal ? anywherePolicy : publicHttpsPolicy;
  }
}

/** A card may call this machine by another of its names than the operator did. */
function originOf(url: URL): string {
  return isLocalName(url.hostname) ? `${url.protocol}//localhost:${url.port}` : url.origin;
}

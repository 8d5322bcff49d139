import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
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
import { invalidParams, LegateError, parseJson } from '../../protocol/index.ts';
import type { NetworkExposure } from '../../service/index.ts';
import { closeSignal, readBody } from '../request.ts';
import type { InspectedTarget } from './options.ts';
import { type ApiCall, audited, bodyOf, type Inspection, type Routes } from './inspection.ts';

/** For operators on this machine: also allows agents on the machine and in its network. */
const anywherePolicy: UrlPolicy = {
  schemes: ['http', 'https'],
  allowLoopback: true,
  allowPrivate: true,
};

/** Maximum number of allowed agents; a further one replaces the oldest. */
const maxAllowed = 100;

interface AgentProxyOptions {
  readonly exposure: NetworkExposure;
  /** The URLs that calls can reach, for every client. @default by `exposure` and by client */
  readonly policy?: UrlPolicy | undefined;
  /** The inspected agent, allowed at any URL because the operator who started the server configured it. */
  readonly target?: InspectedTarget | undefined;
  /** @default the operating system's */
  readonly resolver?: Resolver;
}

/**
 * Calls other agents for the page. It calls only agents that the operator connected to, so that a card
 * can't redirect the server. On a server that other machines can reach, and for requests that a proxy
 * forwarded, it allows only public https URLs. Addresses are checked again when connecting.
 */
export class AgentProxy {
  readonly #exposure: NetworkExposure;
  readonly #policy: UrlPolicy | undefined;
  readonly #options: GuardedFetchOptions;
  readonly #fetches = new Map<UrlPolicy, GuardedFetch>();
  readonly #allowed = new Set<string>();
  readonly #target: InspectedTarget | undefined;
  readonly #targetOrigins: ReadonlySet<string>;

  constructor({ exposure, policy, target, resolver }: AgentProxyOptions) {
    this.#target = target;
    const addresses = [target?.url ?? '', ...(target?.interfaces ?? [])];
    const urls = addresses.map((address) => URL.parse(address)).filter((url) => url !== null);
    this.#targetOrigins = new Set(urls.map(originOf));
    this.#exposure = exposure;
    this.#policy = policy;
    this.#options = resolver === undefined ? {} : { resolver };
  }

  /** Allows the page to call the agent at this URL. */
  allow(address: string, request: IncomingMessage): void {
    if (this.#targetAt(address) !== undefined) return;
    const url = checkUrl(address, this.#policyFor(request));
    const origin = originOf(url);
    this.#allowed.delete(origin);
    this.#allowed.add(origin);
    const [first] = this.#allowed;
    if (this.#allowed.size > maxAllowed && first !== undefined) this.#allowed.delete(first);
  }

  async fetch(address: string, init: RequestInit, request: IncomingMessage): Promise<Response> {
    const target = this.#targetAt(address);
    if (target !== undefined) {
      const { url, headers } = await target.prepare(new URL(address), new Headers(init.headers));
      return target.fetch(url.href, { ...init, headers, redirect: 'manual' });
    }
    const policy = this.#policyFor(request);
    const url = checkUrl(address, policy);
    if (!this.#allowed.has(originOf(url))) throw notConnected(url);
    let fetch = this.#fetches.get(policy);
    if (fetch === undefined)
      this.#fetches.set(policy, (fetch = guardedFetch(policy, this.#options)));
    return fetch(url.href, { ...init, redirect: 'manual' });
  }

  /**
   * The headers of a call that does not use `fetch`. The address can't be checked again when connecting,
   * so only the inspected agent, and operators on this machine, are allowed.
   */
  async prepareDirect(
    url: URL,
    given: Readonly<Record<string, string>>,
    request: IncomingMessage,
  ): Promise<Headers> {
    const headers = new Headers(given);
    const target = this.#targetAt(url.href);
    if (target !== undefined) return (await target.prepare(url, headers)).headers;
    // Cards can list the gRPC interface at another port, so only the host is compared.
    const origins = [...this.#allowed, ...this.#targetOrigins];
    const isAllowed = origins.some((origin) => hostOf(new URL(origin)) === hostOf(url));
    if (!isAllowed) throw notConnected(url);
    if (this.#policyFor(request) === anywherePolicy) return headers;
    throw new UrlRefused(
      'INVALID_PARAMS',
      'url',
      'over gRPC only a server that this machine alone can reach calls other agents',
    );
  }

  #targetAt(address: string): InspectedTarget | undefined {
    const url = URL.parse(address);
    const isTarget = url !== null && this.#targetOrigins.has(originOf(url));
    return isTarget ? this.#target : undefined;
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

function notConnected(url: URL): UrlRefused {
  const problem = `${url.origin} is not an agent that you connected to; connect to that address to call it`;
  return new UrlRefused('INVALID_PARAMS', 'url', problem);
}

/** Maps all local names to localhost: a card can use another name of this machine than the operator. */
function hostOf({ hostname }: URL): string {
  return isLocalName(hostname) ? 'localhost' : hostname;
}

function originOf(url: URL): string {
  return isLocalName(url.hostname) ? `${url.protocol}//localhost:${url.port}` : url.origin;
}

/**
 * Calls another agent for the page after the operator connected to it. The status and headers of the
 * agent's response are sent in separate headers, so that browsers don't apply them to this server.
 */
export const proxyRoutes: Routes = [
  ['POST', 'agents', allowAgent],
  ['POST', 'proxy', forward],
];

function requireProxy({ proxy }: Inspection): AgentProxy {
  if (proxy !== undefined) return proxy;
  throw new LegateError(
    'UNSUPPORTED_OPERATION',
    'the proxy of the inspector is off; enable it to call other agents through this server',
  );
}

async function allowAgent(inspection: Inspection, call: ApiCall): Promise<object> {
  const { url } = await bodyOf(call, z.object({ url: z.string() }));
  requireProxy(inspection).allow(url, call.request);
  audited(inspection, call, 'audit.agent_named', { origin: new URL(url).origin });
  return {};
}

const methods = ['GET', 'POST', 'DELETE'];

async function forward(inspection: Inspection, call: ApiCall): Promise<void> {
  const proxy = requireProxy(inspection);
  const { request, response } = call;
  const method = headerOf(request, 'x-inspect-method');
  if (!methods.includes(method)) {
    const description = `must be one of ${methods.join(', ')}, but is ${JSON.stringify(method.slice(0, 100))}`;
    throw invalidParams({ field: 'method', description });
  }
  const headers = forwardedHeaders(request);
  const body = await readBody(request, call.limits);
  const signal = closeSignal(response);
  const answer = await proxy.fetch(
    headerOf(request, 'x-inspect-url'),
    { method, headers, signal, ...(method === 'POST' && { body }) },
    request,
  );
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'cache-control': 'no-store, no-transform',
    'x-content-type-options': 'nosniff',
    'x-inspect-status': String(answer.status),
    'x-inspect-headers': encodeURIComponent(JSON.stringify([...answer.headers])),
  });
  if (answer.body === null) return void response.end();
  response.flushHeaders();
  // When the page disconnects, the call is aborted. When the agent disconnects, the response is cut off.
  await pipeline(answer.body, response).catch(() => response.destroy());
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  return String(headers[name] ?? '');
}

/** Headers that the page can't set. */
const ownHeaders = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
]);

/** Decodes the headers from percent-encoded JSON: header values are Latin-1, JSON is not. */
function forwardedHeaders(request: IncomingMessage): Record<string, string> {
  let given: Record<string, string>;
  try {
    const json = decodeURIComponent(headerOf(request, 'x-inspect-headers') || '{}');
    given = z.record(z.string(), z.string()).parse(parseJson(json));
  } catch {
    const description = 'must be a JSON object, percent-encoded';
    throw invalidParams({ field: 'headers', description });
  }
  const entries = Object.entries(given);
  return Object.fromEntries(entries.filter(([name]) => !ownHeaders.has(name.toLowerCase())));
}

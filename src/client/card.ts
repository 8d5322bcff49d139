import {
  type AgentCard,
  cardUrls,
  invalidConfiguration,
  LegateError,
  parseJsonOr,
  readAgentCard,
} from '../protocol/index.ts';
import { failureOf, readText } from './http-response.ts';
import { discard, type Http, type HttpRequest, targetOf } from './http.ts';
import { isCallable } from './interface-choice.ts';
import { decodeAnswer } from './operation-codecs.ts';
import type { TransportCall } from './transport.ts';

/**
 * A card with the URL and ETag to fetch it again.
 * @example
 * const known: FetchedCard = await fetchAgentCard('https://agent.example');
 * const isSame = (await fetchAgentCard(known)) === known; // asks with the ETag
 */
export interface FetchedCard {
  readonly card: AgentCard;
  /** The raw JSON, for instance to verify its signatures. */
  readonly json: unknown;
  readonly url: string;
  readonly etag?: string;
}

/**
 * Fetches the card of an agent from the well-known paths below its address, or from the address itself if
 * that names a card (`.../card.json`, `.../.well-known/...`).
 */
export async function fetchCard(
  address: string,
  http: Http,
  call: TransportCall = {},
): Promise<FetchedCard> {
  const candidates = cardUrls(callable(address));
  for (const url of candidates) {
    const fetched = await requestCard(url, http, call);
    if (fetched !== undefined) return fetched;
  }
  throw new LegateError(
    'PEER_INVALID',
    `there is no agent card at ${candidates.map((url) => url.origin + url.pathname).join(' or ')}: check the address, or give the URL of the card`,
  );
}

/** Fetches a card again with its ETag; returns the same object if it hasn't changed. */
export async function refetchCard(
  known: FetchedCard,
  http: Http,
  call: TransportCall = {},
): Promise<FetchedCard> {
  const fetched = await requestCard(new URL(known.url), http, call, known);
  if (fetched !== undefined) return fetched;
  throw new LegateError('PEER_INVALID', `the agent card at ${known.url} is gone`);
}

function callable(address: string): URL {
  const url = URL.parse(address);
  if (url === null || !isCallable(url)) {
    // An address with a user name can contain a password.
    const given = address.includes('@') ? '' : `, not ${JSON.stringify(address)}`;
    throw invalidConfiguration(
      `the address of an agent must be an http or https URL without user and password, such as http://localhost:8000${given}`,
    );
  }
  return url;
}

/** Undefined if there is no card at the address. */
async function requestCard(
  url: URL,
  http: Http,
  call: TransportCall,
  known?: FetchedCard,
): Promise<FetchedCard | undefined> {
  const request: HttpRequest = {
    method: 'GET',
    url,
    operation: 'card',
    headers: {
      Accept: 'application/json',
      'A2A-Version': '1.0',
      // fetch would add `no-cache` to conditional requests, and servers would answer in full.
      ...(known?.etag !== undefined && {
        'If-None-Match': known.etag,
        'Cache-Control': 'max-age=0',
      }),
      ...call.headers,
    },
    signal: call.signal,
    followsRedirects: true,
  };
  const response = await send(request, http);
  if (response.status === 304 && known !== undefined) {
    await discard(response);
    return known;
  }
  if ([404, 405, 410].includes(response.status)) {
    await discard(response);
    return undefined;
  }
  if (!response.ok) throw await failureOf(response, request, http, () => undefined);
  const etag = response.headers.get('ETag');
  const json = parseJsonOr(await readText(response, request, http), undefined);
  const verified = await http.verifyCard(json);
  const card = decodeAnswer(readAgentCard, verified, targetOf(request));
  return { card, json, url: url.href, ...(etag !== null && { etag }) };
}

/**
 * Sends the credentials with the first request: the operator configured them for this address, and a
 * server that protects its card would log a request without them as denied. If the client can't send them
 * (plain http to another machine), it still reads a public card without them.
 */
async function send(request: HttpRequest, http: Http): Promise<Response> {
  if (!http.credentials.exist || http.credentials.maySendTo(request.url)) return http.send(request);
  const response = await http.send({ ...request, isAnonymous: true });
  if (response.status !== 401 && response.status !== 403) return response;
  await discard(response);
  // Throws an error that explains why the credentials are not sent.
  return http.send(request);
}

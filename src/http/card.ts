import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Cards, statedVersion } from '../service/index.ts';
import { etagOf } from '../store/index.ts';
import type { HttpService } from './options.ts';
import { sendJson } from './respond.ts';

/** Sends the agent card. */
export function sendCard(
  { cards, protectsCard }: HttpService,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): void {
  sendCacheable(request, response, {
    ...cards.rendered(statedVersion(request.headers, query).trim()),
    isProtected: protectsCard,
    headers: { vary: response.hasHeader('vary') ? 'Origin, A2A-Version' : 'A2A-Version' },
  });
}

export const cataloguePath = '/.well-known/ai-catalog.json';

/** One agent in the catalogue. */
export interface CatalogueAgent {
  /** The path segment of the agent. */
  readonly name: string;
  readonly url: string;
  readonly cards: Cards;
}

/**
 * Sends the agents of a server as an AI Catalog: the URL of each card and a summary. The catalogue is
 * generated for each request because cards change.
 */
export function sendCatalogue(
  request: IncomingMessage,
  response: ServerResponse,
  catalogue: {
    readonly host: string;
    readonly agents: readonly CatalogueAgent[];
    readonly isProtected: boolean;
  },
): void {
  const { host, agents, isProtected } = catalogue;
  const text = JSON.stringify({
    specVersion: '1.0',
    host: { displayName: host, identifier: host },
    entries: agents.map(({ name, url, cards }) => {
      const { description, version, skills } = cards.current;
      const tags = [...new Set(skills.flatMap((skill) => skill.tags))];
      return {
        identifier: `urn:air:${host}:a2a:${name}`,
        type: 'application/a2a-agent-card+json',
        url: `${url}/.well-known/agent-card.json`,
        description,
        version,
        ...(tags.length > 0 && { tags }),
      };
    }),
  });
  const etag = etagOf(text);
  const headers = { 'content-type': 'application/ai-catalog+json' };
  sendCacheable(request, response, { text, etag, isProtected, headers });
}

/** Sends cacheable JSON, or 304 to clients with a fresh copy. */
function sendCacheable(
  request: IncomingMessage,
  response: ServerResponse,
  shown: {
    readonly text: string;
    readonly etag: string;
    readonly modified?: string;
    /** Whether shared caches must not store the response. */
    readonly isProtected: boolean;
    readonly headers: Readonly<Record<string, string>>;
  },
): void {
  const { text, etag, modified, isProtected } = shown;
  const headers = {
    etag,
    'cache-control': `${isProtected ? 'private' : 'public'}, max-age=60`,
    ...(modified !== undefined && { 'last-modified': modified }),
    ...(!isProtected && { 'access-control-allow-origin': '*' }),
    ...shown.headers,
  };
  if (isFresh(request, etag, modified)) response.writeHead(304, headers).end();
  else sendJson(response, 200, text, headers);
}

/** `If-None-Match` takes precedence over `If-Modified-Since` (RFC 9110, 13.2.2). */
function isFresh(
  { headers }: IncomingMessage,
  etag: string,
  modified: string | undefined,
): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) {
    return tags === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return modified !== undefined && !Number.isNaN(since) && Date.parse(modified) <= since;
}

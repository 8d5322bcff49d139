import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Cards, statedVersion } from '../service/index.ts';
import { etagOf } from '../store/index.ts';
import type { HttpService } from './options.ts';
import { sendJson } from './respond.ts';

/** Answers a GET of the card. */
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

/** One agent of the catalogue. */
export interface CatalogueAgent {
  /** Its segment of the path. */
  readonly name: string;
  readonly url: string;
  readonly cards: Cards;
}

/**
 * Answers a GET of the agents of a server as an AI Catalog: where the card of each is, and what it
 * says of itself in short. Made anew for each request, since cards change.
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

/** Sends JSON that clients may keep, or 304 where they have it already. */
function sendCacheable(
  request: IncomingMessage,
  response: ServerResponse,
  shown: {
    readonly text: string;
    readonly etag: string;
    readonly modified?: string;
    /** Keeps it out of shared caches. */
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

/** An entity tag decides where there is one; the time only where there is none. */
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

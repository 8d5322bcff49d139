import type { IncomingMessage, ServerResponse } from 'node:http';
import { hash } from 'node:crypto';
import type { Cards } from './cards.ts';
import { sendJson } from './respond.ts';

export const cataloguePath = '/.well-known/ai-catalog.json';

/** One agent of the catalogue. */
export interface CatalogueAgent {
  /** Its segment of the path. */
  readonly name: string;
  readonly url: string;
  readonly cards: Cards;
}

/**
 * The agents of a server as an AI Catalog (`application/ai-catalog+json`): where the card of each is,
 * and what it says of itself in short. Made anew for each request, since cards change.
 */
export function catalogueOf(host: string, agents: readonly CatalogueAgent[]): object {
  return {
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
  };
}

/** Answers a GET of the catalogue; `isProtected` keeps it out of shared caches. */
export function sendCatalogue(
  request: IncomingMessage,
  response: ServerResponse,
  catalogue: object,
  isProtected: boolean,
): void {
  const text = JSON.stringify(catalogue);
  const etag = `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;
  const headers = {
    etag,
    'content-type': 'application/ai-catalog+json',
    'cache-control': `${isProtected ? 'private' : 'public'}, max-age=60`,
    ...(!isProtected && { 'access-control-allow-origin': '*' }),
  };
  if (request.headers['if-none-match'] === etag) response.writeHead(304, headers).end();
  else sendJson(response, 200, text, headers);
}

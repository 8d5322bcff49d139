import type { IncomingMessage } from 'node:http';
import { negotiateVersion } from '../protocol/index.ts';

/** The version a request speaks, and whether it says so. The header goes before the query. */
export function versionOf(
  request: IncomingMessage,
  query: URLSearchParams,
): { readonly version: '0.3' | '1.0'; readonly isStated: boolean } {
  const header = request.headers['a2a-version'];
  const stated =
    (typeof header === 'string' && header !== '' ? header : undefined) ??
    query.get('A2A-Version') ??
    '';
  return { version: negotiateVersion({ header: stated }), isStated: stated !== '' };
}

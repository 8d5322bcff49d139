import { readUrl, type Section } from '../../config/index.ts';

const kinds = ['api_key', 'token', 'oauth'] as const;

/** Reads one of `api_key`, `token` and `oauth`. Secrets in them must come from the environment. */
export function readAuthentication(section: Section) {
  const given = kinds.filter((kind) => section.has(kind));
  const [kind, second] = given;
  if (second !== undefined) {
    section.get(second)?.keyError(`"${kind}" is there already`, { hint: 'keep one of them' });
  }
  const key = section.secret('api_key');
  const headerName = section.name('header_name') ?? 'Authorization';
  const format = section.get('header_format');
  const headerFormat = format?.name() ?? 'Bearer {key}';
  if (!headerFormat.includes('{key}')) format?.error('must hold {key}');
  const token = section.secret('token');
  const oauth = section.mapping('oauth', readOauth);
  if (kind === 'api_key') {
    return key === undefined ? undefined : { kind, key, headerName, headerFormat };
  }
  if (kind === 'token') return token === undefined ? undefined : { kind, token };
  return oauth;
}

function readOauth(section: Section) {
  const clientId = section.require('client_id')?.name();
  const clientSecret = section.require('client_secret')?.secret();
  const tokenUrl = readUrl(section.require('token_url'));
  const scope = section.name('scope');
  const audience = section.name('audience');
  // Seconds.
  const timeout = section.number('timeout', { minimum: 0 });
  if (clientId === undefined || clientSecret === undefined || tokenUrl === undefined)
    return undefined;
  return { kind: 'oauth', clientId, clientSecret, tokenUrl, scope, audience, timeout } as const;
}

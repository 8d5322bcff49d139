import type { Field, Section } from '../../config/index.ts';
import type { Use } from '../domain/index.ts';
import type { Authentication } from './model.ts';

/** An absolute http or https URL without credentials in it. */
export function readUrl(field: Field | undefined): string | undefined {
  const text = field?.name();
  if (field === undefined || text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    field.error('must be a URL that begins with http:// or https://');
    return undefined;
  }
  if (url.username === '' && url.password === '') return text;
  field.error('must not hold a user name or a password', 'configure authentication instead');
  return undefined;
}

/** `llm: {model_group: name}`. */
export function readModelGroupName(section: Section, uses: Use[]): string | undefined {
  const llm = section.section('llm');
  if (llm === undefined) return undefined;
  const field = llm.get('model_group');
  const name = field?.name();
  if (field === undefined || name === undefined) {
    llm.entries();
    llm.field.keyError('"model_group" is missing', {
      hint: 'describe the model under model_groups in endpoints.yml',
    });
    return undefined;
  }
  uses.push({ kind: 'model_group', name, field });
  llm.finish();
  return name;
}

/**
 * The path of a file of the project, noted as needed; answers its key in `Project.files`. What an
 * agent refers to may lie in the agent's own folder.
 */
export function readFilePath(
  field: Field | undefined,
  as: 'template' | 'card',
  uses: Use[],
  agentFolder?: string,
): string | undefined {
  const path = field?.name();
  if (field === undefined || path === undefined) return undefined;
  const key = agentFolder === undefined ? path : `sub_agents/${agentFolder}/${path}`;
  uses.push({ kind: 'file', key, path, as, field });
  return key;
}

/** An IANA time zone. */
export function readTimezone(section: Section): string {
  const field = section.get('timezone');
  const name = field?.name();
  if (name === undefined) return 'UTC';
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    field?.error('is not a time zone', 'write one like Europe/Berlin');
    return 'UTC';
  }
}

const kinds = ['api_key', 'token', 'oauth'] as const;

/** One of `api_key`, `token` and `oauth`; what is secret in them must come from the environment. */
export function readAuthentication(section: Section): Authentication | undefined {
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
  const oauth = readOauth(section.section('oauth'));
  if (kind === 'api_key') {
    return key === undefined ? undefined : { kind, key, headerName, headerFormat };
  }
  if (kind === 'token') return token === undefined ? undefined : { kind, token };
  return oauth;
}

function readOauth(section: Section | undefined): Authentication | undefined {
  if (section === undefined) return undefined;
  const clientId = section.require('client_id')?.name();
  const clientSecret = section.require('client_secret')?.secret();
  const tokenUrl = readUrl(section.require('token_url'));
  const scope = section.name('scope');
  const audience = section.name('audience');
  const timeout = section.number('timeout', { minimum: 0 });
  section.finish();
  if (clientId === undefined || clientSecret === undefined || tokenUrl === undefined)
    return undefined;
  return { kind: 'oauth', clientId, clientSecret, tokenUrl, scope, audience, timeout };
}

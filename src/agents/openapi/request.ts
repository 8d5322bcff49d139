import { z } from 'zod';
import { requireSecureTransport } from '../../mcp/index.ts';
import { readBodyOf } from '../../net/index.ts';
import {
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJsonOr,
  textOfValue,
} from '../../protocol/index.ts';
import type { Credential } from '../tools/credentials.ts';
import type { ApiDocument, Operation, Parameter } from './operation.ts';
import type { SchemaResolver } from './resolve-schema.ts';

export interface ApiRequest {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** The response of an API. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: JsonValue;
}

/** The place of a credential in a request. */
const placement = z.union([
  z
    .object({
      type: z.literal('apiKey'),
      in: z.enum(['header', 'query', 'cookie']),
      name: z.string(),
    })
    .transform(({ in: location, name }) => ({ kind: 'api-key', location, name }) as const),
  z
    .object({
      type: z.literal('http'),
      scheme: z
        .string()
        .toLowerCase()
        .pipe(z.enum(['bearer', 'basic'])),
    })
    .transform(({ scheme: kind }) => ({ kind })),
  z
    .object({ type: z.enum(['oauth2', 'openIdConnect']) })
    .transform(() => ({ kind: 'bearer' }) as const),
]);

/** A security scheme, and the place of its credential. */
export interface Scheme {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly placement: z.infer<typeof placement>;
}

/**
 * The schemes that an operation needs: the first alternative whose schemes are all supported. An
 * alternative without schemes takes precedence.
 */
export function schemesOf(
  { security, name }: Operation,
  { components: { securitySchemes } }: ApiDocument,
  resolver: SchemaResolver,
): readonly Scheme[] {
  if (security.length === 0 || security.some((each) => Object.keys(each).length === 0)) return [];
  for (const alternative of security) {
    const schemes = Object.entries(alternative).map(([scheme, scopes]) => {
      const isDeclared = Object.hasOwn(securitySchemes, scheme);
      const found = placement.safeParse(isDeclared && resolver.follow(securitySchemes[scheme]));
      return found.success ? { name: scheme, scopes, placement: found.data } : undefined;
    });
    if (schemes.every((each) => each !== undefined)) return schemes;
  }
  throw invalidConfiguration(
    `operation ${name} needs credentials of a kind that cannot be sent: use bearer, basic, an API key, OAuth 2 or OpenID Connect`,
  );
}

/** Adds a credential to a request; throws for plain http to other machines. */
export function applyCredential(
  { name, placement: place }: Scheme,
  credential: Credential,
  { url, headers }: Pick<ApiRequest, 'url' | 'headers'>,
): void {
  requireSecureTransport(url.href, `credentials for ${name}`);
  if (place.kind === 'basic' && credential.type === 'basic') {
    const pair = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
    headers.set('Authorization', `Basic ${pair}`);
    return;
  }
  if (place.kind === 'basic' || credential.type === 'basic') {
    throw invalidConfiguration(
      `the credential given for ${name} is of another kind than the API asks for (${place.kind})`,
    );
  }
  const secret = credential.type === 'bearer' ? credential.token : credential.value;
  if (place.kind !== 'api-key') headers.set('Authorization', `Bearer ${secret}`);
  else if (place.location === 'header') headers.set(place.name, secret);
  else if (place.location === 'query') url.searchParams.set(place.name, secret);
  else headers.append('Cookie', `${place.name}=${encodeURIComponent(secret)}`);
}

/** Builds the request of an operation from an input. */
export function toRequest(operation: Operation, base: string, input: JsonObject): ApiRequest {
  const { parameters, bodyKind } = operation;
  const headers = new Headers({ Accept: 'application/json, text/*;q=0.9' });
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (whole, name: string) => {
    const parameter = parameters.find((each) => each.location === 'path' && each.name === name);
    const value = parameter && input[parameter.key];
    return value === undefined ? whole : pathSegment(value, name);
  });
  const url = new URL(base.replace(/\/+$/, '') + path);
  for (const parameter of parameters) {
    const value = input[parameter.key];
    if (value === undefined || value === null) continue;
    if (parameter.location === 'query') addQuery(url.searchParams, parameter, value);
    else if (parameter.location === 'header') headers.set(parameter.name, textOfValue(value));
    else if (parameter.location === 'cookie') {
      headers.append('Cookie', `${parameter.name}=${encodeURIComponent(textOfValue(value))}`);
    }
  }
  const { body } = input;
  if (bodyKind === undefined || body === undefined) return { url, headers, body: undefined };
  headers.set('Content-Type', bodyKind);
  if (bodyKind === 'text/plain') return { url, headers, body: textOfValue(body) };
  if (bodyKind === 'application/json') return { url, headers, body: JSON.stringify(body) };
  const form = new URLSearchParams();
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  for (const [key, value] of fields) form.append(key, textOfValue(value));
  return { url, headers, body: form.toString() };
}

/** Encodes a value as one path segment. `..` would change the path even when escaped. */
function pathSegment(value: JsonValue, name: string): string {
  const text = textOfValue(value);
  if (text === '' || text === '.' || text === '..') {
    throw new Error(`"${text}" cannot be the value of ${name}, which is part of the path`);
  }
  return encodeURIComponent(text);
}

function addQuery(
  query: URLSearchParams,
  { name, isDeepObject }: Parameter,
  value: JsonValue,
): void {
  if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value))
      query.append(isDeepObject ? `${name}[${key}]` : key, textOfValue(item));
  } else {
    for (const item of [value].flat()) query.append(name, textOfValue(item));
  }
}

/** Reads a response up to `maxBytes`; a truncated body is returned as text. */
export async function readAnswer(response: Response, maxBytes: number): Promise<ApiAnswer> {
  const { status } = response;
  const type = response.headers.get('Content-Type') ?? '';
  const { bytes, isCut } = await readBodyOf(response, maxBytes);
  if (!/json|text|xml|yaml|urlencoded|^$/i.test(type)) {
    return { status, body: `[${bytes.length} bytes of ${type}]` };
  }
  const text = bytes.toString('utf8');
  if (isCut) return { status, body: `${text}\n[cut after ${maxBytes} bytes]` };
  return { status, body: /json/i.test(type) ? fromJson(text) : text };
}

function fromJson(text: string): JsonValue {
  // Invalid JSON is returned as text, which the model can still read.
  return text === '' ? null : parseJsonOr(text, text);
}

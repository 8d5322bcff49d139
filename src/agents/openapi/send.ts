import { readBodyOf } from '../../net/index.ts';
import { type JsonObject, type JsonValue, parseJson } from '../../protocol/index.ts';
import type { Operation, Parameter } from './operation.ts';

export interface ApiRequest {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** What an API answered. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: JsonValue;
}

/** The request that an input makes of an operation. */
export function toRequest(operation: Operation, base: string, input: JsonObject): ApiRequest {
  const headers = new Headers({ Accept: 'application/json, text/*;q=0.9' });
  const given = (parameter: Parameter): JsonValue | undefined => input[parameter.key];
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (whole, name: string) => {
    const parameter = operation.parameters.find(
      (each) => each.location === 'path' && each.name === name,
    );
    const value = parameter === undefined ? undefined : given(parameter);
    return value === undefined ? whole : pathSegment(value, name);
  });
  const url = new URL(base.replace(/\/+$/, '') + path);
  for (const parameter of operation.parameters) {
    const value = given(parameter);
    if (value === undefined || value === null) continue;
    if (parameter.location === 'query') addQuery(url.searchParams, parameter, value);
    else if (parameter.location === 'header') headers.set(parameter.name, plain(value));
    else if (parameter.location === 'cookie') {
      headers.append('Cookie', `${parameter.name}=${encodeURIComponent(plain(value))}`);
    }
  }
  const { body: form } = operation;
  const body = input['body'];
  if (form === undefined || body === undefined) return { url, headers, body: undefined };
  headers.set('Content-Type', form.kind);
  return { url, headers, body: encodeBody(form.kind, body) };
}

/** A value that stays within its path segment: `..` would climb, even when escaped. */
function pathSegment(value: JsonValue, name: string): string {
  const text = plain(value);
  if (text === '' || text === '.' || text === '..') {
    throw new Error(`"${text}" cannot be the value of ${name}, which is part of the path`);
  }
  return encodeURIComponent(text);
}

function addQuery(query: URLSearchParams, parameter: Parameter, value: JsonValue): void {
  const { name, isDeepObject } = parameter;
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) query.append(name, plain(item));
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      query.append(isDeepObject ? `${name}[${key}]` : key, plain(item));
    }
  } else {
    query.append(name, plain(value));
  }
}

function encodeBody(kind: string, body: JsonValue): string {
  if (kind === 'text/plain') return plain(body);
  if (kind === 'application/json') return JSON.stringify(body);
  const form = new URLSearchParams();
  if (typeof body === 'object' && body !== null) {
    for (const [key, value] of Object.entries(body)) form.append(key, plain(value));
  }
  return form.toString();
}

function plain(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
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
  if (text === '') return null;
  try {
    return parseJson(text);
  } catch {
    // Declared as JSON but invalid: the model may still read it.
    return text;
  }
}

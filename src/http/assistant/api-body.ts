import type { ServerResponse } from 'node:http';
import {
  idProblem,
  invalidParams,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '../../protocol/index.ts';
import { readBody } from '../body.ts';
import { sendJson } from '../respond.ts';
import type { ApiCall, ApiOptions } from './api.ts';

/** The body of a request, which must be JSON. */
export async function bodyOf({ limits }: ApiOptions, { request }: ApiCall): Promise<JsonValue> {
  const text = await readBody(request, limits);
  return parseJson(text, { maxDepth: limits.maxJsonDepth }) as JsonValue;
}

/** The body, which must be an object; nothing at all counts as an empty one. */
export async function objectOf(api: ApiOptions, call: ApiCall): Promise<JsonObject> {
  if (call.request.headers['content-length'] === '0') return {};
  const body = await bodyOf(api, call);
  if (isObject(body)) return body;
  throw invalidParams({ field: 'body', description: 'must be a JSON object' });
}

/** Refuses ids of conversations that a store cannot keep, as A2A does. */
export function checkConversationId(id: string, field: string): void {
  const description = idProblem(id);
  if (description !== undefined) throw invalidParams({ field, description });
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function reply(response: ServerResponse, value: unknown): void {
  sendJson(response, 200, JSON.stringify(value));
}

export function replyNothing(response: ServerResponse): void {
  response.writeHead(204).end();
}

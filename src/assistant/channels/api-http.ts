import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  idProblem,
  invalidParams,
  type JsonObject,
  type JsonValue,
  type LegateError,
  parseJson,
  statusOf,
  toPublicError,
} from '../../protocol/index.ts';
import { readBody, sendJson } from '../../http/index.ts';
import { errorHeaders, type RequestLimits } from '../../service/index.ts';
import { NoModelError } from './model-holder.ts';

/** The body of a request, which must be JSON. */
export async function jsonBody(
  request: IncomingMessage,
  limits: RequestLimits,
): Promise<JsonValue> {
  const text = await readBody(request, limits);
  return parseJson(text, { maxDepth: limits.maxJsonDepth }) as JsonValue;
}

/** The body, which must be an object; nothing at all counts as an empty one. */
export async function objectBody(
  request: IncomingMessage,
  limits: RequestLimits,
): Promise<JsonObject> {
  if (request.headers['content-length'] === '0') return {};
  return requireObject(await jsonBody(request, limits), 'body');
}

export function requireObject(value: JsonValue | undefined, field: string): JsonObject {
  if (isObject(value)) return value;
  throw invalidParams({ field, description: 'must be a JSON object' });
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function requireText(value: JsonValue | undefined, field: string): string {
  if (typeof value === 'string') return value;
  throw invalidParams({ field, description: 'must be a text' });
}

/** Refuses ids of conversations that a store cannot keep, as A2A does. */
export function checkConversationId(id: string, field: string): void {
  const description = idProblem(id);
  if (description !== undefined) throw invalidParams({ field, description });
}

export function reply(response: ServerResponse, value: unknown): void {
  sendJson(response, 200, JSON.stringify(value));
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'NotAuthenticated',
  403: 'NotAuthorized',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  413: 'PayloadTooLarge',
  503: 'ServiceUnavailable',
};

/** Answers with what went wrong, in the form that clients of Rasa know. */
export function failureSender(
  version: string,
): (response: ServerResponse, error: LegateError) => void {
  return (response, error) => {
    // An answer that has begun can only be broken off.
    if (response.headersSent) return void response.destroy();
    const { message, violations = [] } = toPublicError(error);
    const code = error instanceof NoModelError ? 409 : statusOf(error.code).http;
    const body = {
      version,
      status: 'failure',
      reason: reasons[code] ?? 'ServerError',
      message,
      details: Object.fromEntries(violations.map(({ field, description }) => [field, description])),
      help: null,
      code,
    };
    sendJson(response, code, JSON.stringify(body), errorHeaders(error));
  };
}

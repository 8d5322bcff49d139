import type { ServerResponse } from 'node:http';
import {
  idProblem,
  invalidParams,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type LegateError,
  statusOf,
  toPublicError,
} from '../../protocol/index.ts';
import { sendJson } from '../../http/index.ts';
import { errorHeaders } from '../../service/index.ts';
import { NoModelError } from './model-holder.ts';

export function requireObject(value: JsonValue, field: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw invalidParams({ field, description: 'must be a JSON object' });
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

/** Responds with an error in Rasa's format. */
export function failureSender(
  version: string,
): (response: ServerResponse, error: LegateError) => void {
  return (response, error) => {
    // The headers are sent, so the only way to report the failure is to close the connection.
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

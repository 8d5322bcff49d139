import { isObject } from './decode/reader.ts';
import {
  errorDetails,
  type ErrorProfile,
  readErrorDetails,
  statusOf,
  textOf,
  toErrorCode,
  toPublicError,
} from './error-details.ts';
import { type ErrorCode, LegateError } from './errors.ts';
import { codeOfJsonRpc, toJsonRpcError } from './json-rpc.ts';

/** How an error is encoded over REST. */
export interface RestErrorOptions {
  /** The version that determines the form of the body. @default '1.0' */
  readonly version?: '1.0' | '0.3';
  /** @default '1.0.1' */
  readonly profile?: ErrorProfile;
}

/**
 * Converts any thrown value to a REST response: in 1.x `{ error: { code, status, message, details } }`
 * with the HTTP and gRPC status, in 0.3 the bare JSON-RPC error object.
 */
export function toRestError(
  thrown: unknown,
  { version = '1.0', profile = '1.0.1' }: RestErrorOptions = {},
): { readonly status: number; readonly body: object } {
  const error = toPublicError(thrown);
  const { http, grpc } = statusOf(error.code, profile);
  if (version === '0.3') return { status: http, body: toJsonRpcError(error) };
  const details = errorDetails(error);
  return {
    status: http,
    body: { error: { code: http, status: grpc, message: error.message, details } },
  };
}

/** The code by HTTP status, for bodies without one. */
const codesByStatus: { readonly [status: number]: ErrorCode } = {
  400: 'INVALID_PARAMS',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'CONTENT_TYPE_NOT_SUPPORTED',
  422: 'INVALID_PARAMS',
  429: 'RATE_LIMITED',
  501: 'UNSUPPORTED_OPERATION',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/**
 * Reads a peer's error response over REST, in any form. The reason in its details determines the code,
 * then a JSON-RPC number or an error's name, then the HTTP status and the text.
 */
export function fromRestError(status: number, body: unknown): LegateError {
  const outer = isObject(body) ? body : {};
  const inner = isObject(outer.error) ? outer.error : outer;
  const { code: reason, ...details } = readErrorDetails(inner.details ?? inner.data);
  const message =
    textOf(inner.message) || textOf(outer.detail) || textOf(outer.error) || textOf(outer.title);
  const code =
    reason ??
    codeOfJsonRpc(inner.code) ??
    toErrorCode(nameOfType(inner.type)) ??
    toErrorCode(inner.name) ??
    codeOfStatus(status, message);
  return new LegateError(code, message || `the peer answered with HTTP status ${status}`, details);
}

/** The name of an error's type: a class name, or the last segment of a URI of RFC 9457. */
function nameOfType(type: unknown): string {
  return textOf(type)
    .replace(/^https:\/\/a2a-protocol\.org\/errors\//, '')
    .replaceAll('-', '_');
}

/** Matches a text about a task, but not a path, such as `Cannot POST /tasks/task-1:subscribe`. */
const aboutTask = /(?<![/\w])task(?!s\b)/i;

/**
 * Gateways and web frameworks answer 404 and 409, too, but not with a text about a task. The SDKs of 0.3
 * for Python send nothing but such a text.
 */
function codeOfStatus(status: number, message: string): ErrorCode {
  if (status === 404) return aboutTask.test(message) ? 'TASK_NOT_FOUND' : 'ROUTE_NOT_FOUND';
  if (status === 409 && aboutTask.test(message) && /cancel/i.test(message)) {
    return 'TASK_NOT_CANCELABLE';
  }
  return codesByStatus[status] ?? (status >= 400 && status < 500 ? 'INVALID_REQUEST' : 'INTERNAL');
}

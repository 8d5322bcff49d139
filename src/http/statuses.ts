import { AuthError } from '../auth/index.ts';
import { type LegateError, statusOf } from '../protocol/index.ts';

/** Errors that a JSON-RPC answer tells by its HTTP status too: proxies and retries go by it. */
const transportErrors = new Set<string>([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'STORE_FAILED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_ENCODING',
  'REQUEST_TIMEOUT',
  'MESSAGE_IN_FLIGHT',
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
]);

/** The HTTP status of a JSON-RPC answer that tells of an error. */
export function jsonRpcStatus(error: LegateError): number {
  return transportErrors.has(error.code) ? statusOf(error.code).http : 200;
}

/** Headers that go with an error: when to come again, and how to authenticate. */
export function errorHeaders(error: LegateError): Record<string, string | string[]> {
  return {
    ...(error.retryAfter !== undefined && { 'retry-after': String(Math.ceil(error.retryAfter)) }),
    ...(error instanceof AuthError && { 'www-authenticate': [...error.challenges] }),
  };
}

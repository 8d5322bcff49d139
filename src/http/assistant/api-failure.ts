import type { ServerResponse } from 'node:http';
import { type LegateError, statusOf, toPublicError } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { sendJson } from '../respond.ts';
import { errorHeaders } from '../statuses.ts';
import { NoModelError } from './model-holder.ts';

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

/** Answers with what went wrong, in the form that clients of such an API know. */
export function sendFailure(
  response: ServerResponse,
  error: LegateError,
  { version, logger }: { readonly version: string; readonly logger: Logger },
): void {
  if (error.code === 'INTERNAL') {
    logger.error({ error: error.cause ?? error }, 'http.internal_error');
  }
  // An answer that has begun can only be broken off.
  if (response.headersSent) return void response.destroy();
  const shown = toPublicError(error);
  const code = error instanceof NoModelError ? 409 : statusOf(error.code).http;
  const details = Object.fromEntries(
    (shown.violations ?? []).map(({ field, description }) => [field, description]),
  );
  const body = {
    version,
    status: 'failure',
    reason: reasons[code] ?? 'ServerError',
    message: shown.message,
    details,
    help: null,
    code,
  };
  sendJson(response, code, JSON.stringify(body), errorHeaders(error));
}

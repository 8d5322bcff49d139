import type { IncomingMessage } from 'node:http';
import type { Caller } from '../agents/index.ts';
import { AuthError } from '../auth/index.ts';
import type { LegateError } from '../protocol/index.ts';
import { UrlRefused } from '../push/index.ts';
import { counter, type Logger } from '../telemetry/index.ts';

/** What a door knows of a request that was refused. Nothing of it may be secret. */
export interface DeniedRequest {
  /** The address of the other end of the connection. */
  readonly address: string;
  /** `POST /message:send`, `SendMessage`: never a query, which may hold a key. */
  readonly what: string;
  readonly caller?: Caller | undefined;
}

const denials = counter('legate.http.denied');

/** Longest path that is told. */
const maxPathLength = 200;

/** Event names, by the code of the refusal. Those of 401 are what operators' alerts already know. */
const events: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: 'a2a_server.sanic_app.auth_rejected',
  PERMISSION_DENIED: 'audit.forbidden',
  RATE_LIMITED: 'audit.limited',
};

/**
 * Tells who was refused what, one line each, marked by `audit: 'denied'`. Errors that are no matter of
 * security are left alone, so every error of a door may be given.
 */
export class AuditLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  denied(error: LegateError, { address, what, caller }: DeniedRequest): void {
    const event = error instanceof UrlRefused ? 'audit.url_refused' : events[error.code];
    if (event === undefined) return;
    denials.add(1, { code: error.code });
    this.#logger.warn(
      {
        audit: 'denied',
        code: error.code,
        what,
        address,
        ...(caller !== undefined && {
          tenant: caller.tenant,
          subject: caller.subject,
          method: caller.method,
        }),
        ...(error instanceof AuthError && error.reasons.length > 0 && { reasons: error.reasons }),
        ...(error instanceof UrlRefused && { reasons: [error.message] }),
      },
      event,
    );
  }

  /** Something that only an operator does: a certificate taken up, an open door. */
  action(event: string, fields: Readonly<Record<string, unknown>>): void {
    this.#logger.info({ audit: 'action', ...fields }, event);
  }
}

/** A request in the words of the audit log. */
export function describeRequest(request: IncomingMessage): Omit<DeniedRequest, 'caller'> {
  const { method = '', url = '' } = request;
  const path = url.split('?', 1)[0] ?? '';
  return {
    address: request.socket.remoteAddress ?? '',
    what: `${method} ${path.slice(0, maxPathLength)}`,
  };
}

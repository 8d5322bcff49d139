import type { Caller } from '../agents/index.ts';
import { AuthError } from '../auth/index.ts';
import { BodyBudgetExceeded } from '../net/index.ts';
import type { LegateError } from '../protocol/index.ts';
import { UrlRefused } from '../push/index.ts';
import { counter, type Logger, LogSummary } from '../telemetry/index.ts';

/** A refused request, as its transport describes it. Contains no secrets. */
export interface DeniedRequest {
  /** The remote address of the connection; on the bus, the reply queue of the sender. */
  readonly address: string;
  /** `POST /message:send`, `SendMessage`: never with the query, which can contain a key. */
  readonly what: string;
  readonly caller?: Caller | undefined;
}

const denials = counter('legate.http.denied');

/** Event names, by the code of the refusal. */
const events: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: 'audit.unauthenticated',
  PERMISSION_DENIED: 'audit.forbidden',
  RATE_LIMITED: 'audit.limited',
};

/** Refusals that clients can cause at any rate: summarised, not logged one by one. */
const summarised = new Set(['audit.limited', 'audit.bodies_over_budget']);

/**
 * Logs refused requests with `audit: 'denied'`: one line for each refusal of a credential, a permission
 * or a URL. Refusals by a limit are logged when they start, and then at most once every ten seconds for
 * each client, with their number in `refused`. Errors that are not security events are ignored, so
 * transports pass every error.
 */
export class AuditLog {
  readonly #logger: Logger;
  readonly #summary: LogSummary;

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#summary = new LogSummary(logger, 'refused');
  }

  denied(error: LegateError, request: DeniedRequest): void {
    const event = eventOf(error);
    if (event === undefined) return undefined;
    denials.add(1, { code: error.code });
    const { address, what, caller } = request;
    const common = { audit: 'denied', code: error.code };
    const fields = {
      ...common,
      what,
      address,
      ...(caller !== undefined && {
        tenant: caller.tenant,
        subject: caller.subject,
        method: caller.method,
      }),
      ...(error instanceof AuthError && error.reasons.length > 0 && { reasons: error.reasons }),
      ...(error instanceof UrlRefused && { reasons: [error.message] }),
    };
    if (!summarised.has(event)) return this.#logger.warn(fields, event);
    const client = JSON.stringify([address, caller?.tenant, caller?.subject]);
    return this.#summary.warn(fields, event, client, common);
  }

  /** Logs an action of an operator, such as a server without authentication. */
  action(event: string, fields: Readonly<Record<string, unknown>>): void {
    this.#logger.info({ audit: 'action', ...fields }, event);
  }
}

function eventOf(error: LegateError): string | undefined {
  if (error instanceof UrlRefused) return 'audit.url_refused';
  if (error instanceof BodyBudgetExceeded) return 'audit.bodies_over_budget';
  return events[error.code];
}

import type { IncomingMessage } from 'node:http';
import { LegateError } from '../protocol/index.ts';
import type { TlsPeer } from './mtls.ts';

/**
 * A refusal with challenges for `WWW-Authenticate`. The message is the same for all reasons; only the log
 * has the reason.
 * @example if (error instanceof AuthError) response.setHeader('www-authenticate', error.challenges);
 */
export class AuthError extends LegateError {
  /** The values of `WWW-Authenticate`, one header line each. */
  readonly challenges: readonly string[];
  /** What exactly was wrong, for the log. Never sent. */
  readonly reasons: readonly string[];

  constructor(
    code: 'UNAUTHENTICATED' | 'PERMISSION_DENIED',
    message: string,
    challenges: readonly string[],
    reasons: readonly string[] = [],
  ) {
    super(code, message);
    this.challenges = challenges;
    this.reasons = reasons;
  }
}

/**
 * Thrown by a verifier for an invalid credential of its kind. `reason` is for the log and
 * never reaches the caller; it must not contain the credential.
 * @example throw new CredentialRefused('the token has expired');
 */
export class CredentialRefused extends LegateError {
  readonly reason: string;

  constructor(reason: string) {
    super('UNAUTHENTICATED', 'authentication failed: the credentials are missing or not valid');
    this.reason = reason;
  }
}

/**
 * The part of a request that authentication reads.
 * @example
 * const request: AuthRequest = { headers: { 'x-api-key': 'lgk_q0V8...' } };
 * const caller = await auth.authenticate(request);
 */
export interface AuthRequest {
  /** By their names in lower case, as `node:http` and gRPC metadata have them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query?: URLSearchParams;
  /** The certificate that the connection proved to hold. */
  readonly tlsPeer?: TlsPeer;
}

/**
 * The headers of a request to `node:http`, with an `Authorization` that comes twice as a list: Node
 * keeps the first and drops the others without a word.
 * @example const caller = await auth.authenticate({ headers: authHeaders(request) });
 */
export function authHeaders({ headers, rawHeaders }: IncomingMessage): AuthRequest['headers'] {
  if (headers.authorization === undefined) return headers;
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  );
  return values.length < 2 ? headers : { ...headers, authorization: values };
}

/** Longest credential that is looked at, in characters. */
export const maxCredentialLength = 16_384;

/** The token of `Authorization: Bearer`; undefined when the header is absent or of another scheme. */
export function bearerToken(request: AuthRequest): string | undefined {
  const value = singleHeader(request, 'authorization');
  const match = value === undefined ? null : /^bearer(?: +(?<token>\S+))? *$/i.exec(value);
  if (match === null) return undefined;
  const token = match.groups?.['token'];
  if (token === undefined) throw new CredentialRefused('empty bearer token');
  return token;
}

/** One header that must not come twice: which of two would be meant? */
export function singleHeader(request: AuthRequest, name: string): string | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  const single = typeof value === 'string' ? value : value[0];
  if (typeof value !== 'string' && value.length > 1) {
    throw new CredentialRefused(`several ${name} headers`);
  }
  if (single !== undefined && single.length > maxCredentialLength) {
    throw new CredentialRefused(`${name} header too long`);
  }
  return single;
}

import type { IncomingMessage } from 'node:http';
import { errors, importSPKI, jwtVerify } from 'jose';
import type { Caller } from '../../agents/index.ts';
import {
  AuthError,
  bearerIn,
  hasUsableExpiry,
  isLocalRequest,
  isSameSecret,
} from '../../auth/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { ownSender } from './sender-access.ts';

export interface ApiAccessOptions {
  /** The query parameter `token` that every request must have. */
  readonly token?: string;
  /** Verifies JWTs in `Authorization: Bearer`. */
  readonly jwt?: ApiJwtOptions;
  /**
   * Authenticates callers by `a2a_server.auth` instead of a token or JWT of the HTTP API. The subjects in
   * `admins` are administrators. Other callers can only access the conversation whose id is their subject.
   */
  readonly callers?: { readonly admins: readonly string[] };
}

export interface ApiJwtOptions {
  /** A shared secret, or a public key in PEM. */
  readonly secret: string;
  readonly algorithm: string;
  /** Rejects tokens without `exp`, which never expire. @default true */
  readonly requireExpiry?: boolean;
}

/** `admin` has full access; `user` can only access the conversation whose id is the user's name. */
export type ApiRole = 'admin' | 'user';

/**
 * Authorizes requests to the HTTP API by a static token, a JWT or the authentication of A2A callers.
 * Without any of them, only local clients are admitted, unless the operator allows anonymous remote
 * clients.
 */
export class ApiAccess {
  readonly #options: ApiAccessOptions;
  readonly #allowsAnonymousRemote: boolean;

  constructor(options: ApiAccessOptions, allowsAnonymousRemote = false) {
    // An empty token would match a request without one and admit anonymous clients.
    if (options.token === '' || options.jwt?.secret === '') {
      throw invalidConfiguration(
        'the token (AUTH_TOKEN) or the JWT secret (JWT_SECRET) of the HTTP API is empty; ' +
          'give it a value, or leave it out',
      );
    }
    if (options.callers !== undefined && (options.token ?? options.jwt) !== undefined) {
      throw invalidConfiguration(
        'the HTTP API has http_api.auth in endpoints.yml, and a token (--auth-token) or JWT (--jwt-secret) of its ' +
          'own; keep one of them',
      );
    }
    this.#options = options;
    this.#allowsAnonymousRemote = allowsAnonymousRemote;
  }

  get isOpen(): boolean {
    const { token, jwt, callers } = this.#options;
    return token === undefined && jwt === undefined && callers === undefined;
  }

  /**
   * Returns the role of the client; throws if the request is not authorized. `conversation`: the
   * conversation id in the request, if any. `authenticate`: identifies the caller by `a2a_server.auth`.
   */
  async check(
    request: IncomingMessage,
    query: URLSearchParams,
    conversation: string | undefined,
    authenticate?: () => Caller | Promise<Caller>,
  ): Promise<ApiRole> {
    const { token, jwt, callers } = this.#options;
    if (callers !== undefined) return roleOf(await authenticate?.(), callers, conversation);
    if (this.isOpen) {
      if (!this.#allowsAnonymousRemote) requireLocal(request);
      return 'admin';
    }
    const { authorization } = request.headers;
    const given = token === undefined ? [] : query.getAll('token');
    const isSigned = jwt !== undefined && authorization !== undefined;
    // Two credentials in one request are ambiguous.
    if (given.length + (isSigned ? 1 : 0) > 1) throw unauthenticated();
    if (token !== undefined && isSameSecret(token, given[0] ?? '')) return 'admin';
    const bearer = bearerIn(authorization);
    if (jwt === undefined || bearer === undefined) throw unauthenticated();
    const user = await userOf(bearer, jwt);
    if (user.role === 'admin') return 'admin';
    const isOwn = conversation !== undefined && conversation === user.username;
    if (user.role === 'user' && isOwn) return 'user';
    throw new AuthError('PERMISSION_DENIED', 'the user may not do this', []);
  }
}

/** The role of a caller. The inspector has its own login and passes no caller, so it is rejected here. */
function roleOf(
  caller: Caller | undefined,
  { admins }: NonNullable<ApiAccessOptions['callers']>,
  conversation: string | undefined,
): ApiRole {
  if (caller === undefined || caller.subject === '') throw unauthenticated();
  if (caller.tenant === '' && admins.includes(caller.subject)) return 'admin';
  if (conversation !== undefined && conversation === ownSender(caller)) return 'user';
  const reason = 'not the conversation of the caller, who is not among http_api.admins';
  throw new AuthError('PERMISSION_DENIED', 'the user may not do this', [], [reason]);
}

function requireLocal(request: IncomingMessage): void {
  if (isLocalRequest(request)) return;
  throw new AuthError(
    'PERMISSION_DENIED',
    'the HTTP API has no authentication, so it only accepts local clients; set a token ' +
      '(--auth-token) or a JWT secret (--jwt-secret) to use it from elsewhere or through a proxy',
    [],
  );
}

async function userOf(
  bearer: string,
  { secret, algorithm, requireExpiry = true }: ApiJwtOptions,
): Promise<{ readonly username?: unknown; readonly role?: unknown }> {
  try {
    const key = secret.startsWith('-----BEGIN')
      ? await importSPKI(secret, algorithm)
      : new TextEncoder().encode(secret);
    const { payload } = await jwtVerify(bearer, key, {
      algorithms: [algorithm],
      requiredClaims: requireExpiry ? ['exp'] : [],
    });
    if (!hasUsableExpiry(payload)) throw unauthenticated();
    const { user } = payload;
    return typeof user === 'object' && user !== null ? user : {};
  } catch (error) {
    // The signature is valid, so a holder of the key made the claims: the reason can be disclosed.
    if (isWithoutExpiry(error)) {
      throw unauthenticated(
        'authentication failed: the token never expires; give it an exp claim, or let such tokens ' +
          'in with --jwt-without-expiry (in code api.jwt.requireExpiry: false)',
      );
    }
    // Clients don't learn which other check failed.
    throw unauthenticated();
  }
}

function isWithoutExpiry(error: unknown): boolean {
  return (
    error instanceof errors.JWTClaimValidationFailed &&
    error.claim === 'exp' &&
    error.reason === 'missing'
  );
}

function unauthenticated(
  message = 'authentication failed: the credentials are missing or not valid',
): AuthError {
  return new AuthError('UNAUTHENTICATED', message, ['Bearer realm="legate"']);
}

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { jwtVerify } from 'jose';
import { AuthError } from '../../auth/index.ts';

export interface ApiAccessOptions {
  /** `?token=` of every request. */
  readonly token?: string;
  /** Verifies `Authorization: Bearer` with this secret. */
  readonly jwt?: { readonly secret: string; readonly algorithm: string };
}

/**
 * Who may use the HTTP API: whoever has the token, or a signed user. An `admin` may do everything, a
 * `user` only what concerns the conversation of that name.
 */
export class ApiAccess {
  readonly #options: ApiAccessOptions;

  constructor(options: ApiAccessOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#options.token === undefined && this.#options.jwt === undefined;
  }

  /** Throws unless the request may be served. `conversation`: what it is about, if about one. */
  async check(
    request: IncomingMessage,
    query: URLSearchParams,
    conversation: string | undefined,
  ): Promise<void> {
    const { token, jwt } = this.#options;
    if (this.isOpen) return;
    if (token !== undefined && isSame(token, query.get('token') ?? '')) return;
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (jwt === undefined || bearer === undefined) throw unauthenticated();
    const user = await userOf(bearer, jwt);
    if (user.role === 'admin') return;
    if (user.role === 'user' && conversation !== undefined && conversation === user.username)
      return;
    throw new AuthError('PERMISSION_DENIED', 'the user may not do this', []);
  }
}

async function userOf(
  bearer: string,
  jwt: { readonly secret: string; readonly algorithm: string },
): Promise<{ readonly username?: unknown; readonly role?: unknown }> {
  try {
    const key = new TextEncoder().encode(jwt.secret);
    const { payload } = await jwtVerify(bearer, key, { algorithms: [jwt.algorithm] });
    const { user } = payload;
    return typeof user === 'object' && user !== null ? user : {};
  } catch {
    // Which check failed is nobody's business.
    throw unauthenticated();
  }
}

function unauthenticated(): AuthError {
  return new AuthError('UNAUTHENTICATED', 'the credentials are missing or not valid', [
    'Bearer realm="legate"',
  ]);
}

function isSame(expected: string, given: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}

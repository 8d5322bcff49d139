import type { IncomingMessage } from 'node:http';
import { createHash, timingSafeEqual } from 'node:crypto';
import { importSPKI, jwtVerify } from 'jose';
import { AuthError } from '../../auth/index.ts';
import { LegateError } from '../../protocol/index.ts';

export interface ApiAccessOptions {
  /** `?token=` of every request. */
  readonly token?: string;
  /** Verifies `Authorization: Bearer`: with a secret, or with a public key in PEM. */
  readonly jwt?: { readonly secret: string; readonly algorithm: string };
}

/** `admin` may do everything, `user` only what concerns the conversation of that name. */
export type ApiRole = 'admin' | 'user';

/** Who may use the HTTP API: whoever has the token, or a signed user. */
export class ApiAccess {
  readonly #options: ApiAccessOptions;

  constructor(options: ApiAccessOptions) {
    // What is empty would be the same as what is missing, and let everybody in.
    if (options.token === '' || options.jwt?.secret === '') {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        'the token (AUTH_TOKEN) or the JWT secret (JWT_SECRET) of the HTTP API is empty; ' +
          'give it a value, or leave it out',
      );
    }
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
  ): Promise<ApiRole> {
    const { token, jwt } = this.#options;
    if (this.isOpen) return 'admin';
    if (token !== undefined && isSame(token, query.get('token') ?? '')) return 'admin';
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (jwt === undefined || bearer === undefined) throw unauthenticated();
    const user = await userOf(bearer, jwt);
    if (user.role === 'admin') return 'admin';
    const isOwn = conversation !== undefined && conversation === user.username;
    if (user.role === 'user' && isOwn) return 'user';
    throw new AuthError('PERMISSION_DENIED', 'the user may not do this', []);
  }
}

async function userOf(
  bearer: string,
  { secret, algorithm }: { readonly secret: string; readonly algorithm: string },
): Promise<{ readonly username?: unknown; readonly role?: unknown }> {
  try {
    const key = secret.startsWith('-----BEGIN')
      ? await importSPKI(secret, algorithm)
      : new TextEncoder().encode(secret);
    const { payload } = await jwtVerify(bearer, key, { algorithms: [algorithm] });
    const { user } = payload;
    return typeof user === 'object' && user !== null ? user : {};
  } catch {
    // Which check failed is nobody's business.
    throw unauthenticated();
  }
}

function unauthenticated(): AuthError {
  return new AuthError(
    'UNAUTHENTICATED',
    'authentication failed: the credentials are missing or not valid',
    ['Bearer realm="legate"'],
  );
}

function isSame(expected: string, given: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}

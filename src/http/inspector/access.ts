import type { IncomingMessage } from 'node:http';
import { createHmac, randomBytes } from 'node:crypto';
import type { Caller } from '../../agents/index.ts';
import {
  type Authenticator,
  AuthError,
  bearerIn,
  hostPort,
  isSameSecret,
} from '../../auth/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { authRequestOf } from '../request.ts';

/** One way to authenticate operators. */
export interface InspectorAccess {
  /** Whether it accepts anonymous callers. */
  readonly isOpen: boolean;
  /** Returns the operator; throws `AuthError` for other callers. */
  admit(request: IncomingMessage, query: URLSearchParams): Promise<Caller>;
}

/** Admits authenticated callers of the server that can see the tasks of all callers. */
export function callersAccess(
  auth: Authenticator,
  isOperator: (caller: Caller) => boolean = hasScope,
): InspectorAccess {
  return {
    isOpen: auth.isOpen,
    async admit(request, query) {
      const caller = await auth.authenticate(authRequestOf(request, query));
      auth.requireIdentity(caller);
      if (isOperator(caller)) return caller;
      throw new AuthError(
        'PERMISSION_DENIED',
        'the inspector shows the tasks of all callers: it needs the scope inspect',
        auth.challenges({ error: 'insufficient_scope', scopes: ['inspect'] }),
      );
    },
  };
}

function hasScope(caller: Caller): boolean {
  return caller.scopes?.includes('inspect') === true;
}

const tokenHolder: Caller = Object.freeze({ tenant: '', subject: '', method: 'inspector-token' });

/** Bytes of a random token. */
const tokenBytes = 32;

/**
 * The secret of one inspector. The operator opens a link with it once. The browser then gets a cookie
 * that is derived from the token, so that replicas with the same token share sessions.
 */
export class InspectorToken implements InspectorAccess {
  readonly isOpen = false;
  readonly #token: string;
  readonly #session: string;

  /** @param token - @default a random one */
  constructor(token = randomBytes(tokenBytes).toString('base64url')) {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw invalidConfiguration(
        'the token of the inspector (--inspect-token, INSPECT_TOKEN) must be printable ASCII without ' +
          'spaces, and not empty; leave it out for a random one',
      );
    }
    this.#token = token;
    this.#session = createHmac('sha256', token).update('inspector session').digest('base64url');
  }

  /** Admits the session cookie, or the token as a bearer token. */
  async admit(request: IncomingMessage): Promise<Caller> {
    if (this.#hasCookie(request)) return tokenHolder;
    return this.redeem([bearerIn(request.headers.authorization) ?? '']);
  }

  /** Returns the operator; rejects with `AuthError` unless one of `given` is the token. */
  async redeem(given: readonly string[]): Promise<Caller> {
    if (given.some((each) => isSameSecret(this.#token, each))) return tokenHolder;
    throw new AuthError(
      'UNAUTHENTICATED',
      'the inspector needs its token: open the link that the server printed when it started ' +
        '(…/inspect/?token=…), or start it with a token of your own (--inspect-token)',
      [],
    );
  }

  /** The link that opens the inspector of a server. */
  linkBelow(url: string): string {
    return `${url}/inspect/?token=${encodeURIComponent(this.#token)}`;
  }

  #hasCookie(request: IncomingMessage): boolean {
    const name = cookieName(request);
    // Pages of other ports and paths can set further cookies with the same name.
    const values = (request.headers.cookie ?? '').split(';').flatMap((pair) => {
      const mark = pair.indexOf('=');
      return pair.slice(0, mark).trim() === name ? [pair.slice(mark + 1).trim()] : [];
    });
    return values.some((value) => isSameSecret(this.#session, value));
  }

  /**
   * `Set-Cookie` for a browser that opened the link: a session cookie. Without a path, browsers use the
   * folder of the page, which can differ from the server's path behind a proxy.
   */
  cookieFor(request: IncomingMessage): string {
    const isSecure = isEncrypted(request) || request.headers['x-forwarded-proto'] === 'https';
    return [
      `${cookieName(request)}=${this.#session}`,
      'HttpOnly',
      'SameSite=Strict',
      ...(isSecure ? ['Secure'] : []),
    ].join('; ');
  }
}

/** All ports of a host share cookies, so the name contains the port of the request. */
function cookieName(request: IncomingMessage): string {
  const port = hostPort(request.headers.host) ?? (isEncrypted(request) ? 443 : 80);
  return `legate_inspect_${port}`;
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}

/**
 * Returns the operator from the first of `ways` that admits the request. Skips ways that accept anonymous
 * callers.
 */
export async function admitOperator(
  ways: readonly InspectorAccess[],
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Caller> {
  refuseOtherPages(request);
  let refusal: unknown;
  for (const way of ways.filter(({ isOpen }) => !isOpen)) {
    try {
      return await way.admit(request, query);
    } catch (error) {
      // An authenticated caller without permission gets 403, not a request to authenticate.
      const isKnown = error instanceof AuthError && error.code === 'PERMISSION_DENIED';
      if (refusal === undefined || isKnown) refusal = error;
    }
  }
  throw refusal;
}

/**
 * Only the inspector's own page can call its API; `cors` of the agents does not apply. Browsers send the
 * origin of a request.
 */
function refuseOtherPages({ headers }: IncomingMessage): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const isOwn =
    (site === undefined || site === 'same-origin' || site === 'none') &&
    (origin === undefined || URL.parse(origin)?.host === host?.toLowerCase());
  if (isOwn) return;
  throw new AuthError('PERMISSION_DENIED', 'only the inspector itself may call this', []);
}

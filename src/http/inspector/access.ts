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
  /** The operator; throws `AuthError` for other callers. */
  admit(request: IncomingMessage, query: URLSearchParams): Promise<Caller>;
}

/** Admits callers of the server that may see the tasks of all callers. */
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
 * The secret of one inspector. It travels once, in the link that the operator opens; the browser then
 * proves itself by a cookie that is derived from it, so that replicas with one token share sessions.
 */
export class InspectorToken implements InspectorAccess {
  readonly isOpen = false;
  readonly #token: string;
  readonly #session: string;

  /** @param token - A fixed one; random without it. */
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

  /** Admits the cookie of the link, or the token as a bearer token. */
  async admit(request: IncomingMessage): Promise<Caller> {
    if (this.#hasCookie(request)) return tokenHolder;
    return this.redeem([bearerIn(request.headers.authorization) ?? '']);
  }

  /** The operator; rejects with `AuthError` unless one of these is the token. */
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
    // Pages of other ports and paths may have set further ones of that name.
    const values = (request.headers.cookie ?? '').split(';').flatMap((pair) => {
      const mark = pair.indexOf('=');
      return pair.slice(0, mark).trim() === name ? [pair.slice(mark + 1).trim()] : [];
    });
    return values.some((value) => isSameSecret(this.#session, value));
  }

  /**
   * `Set-Cookie` for a browser that opened the link, until the browser closes. Without a path, browsers use
   * the folder of the page, which may differ from ours behind a proxy.
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

/** Cookies are shared by all ports of a host, so the name has the port that the browser called. */
function cookieName(request: IncomingMessage): string {
  const port = hostPort(request.headers.host) ?? (isEncrypted(request) ? 443 : 80);
  return `legate_inspect_${port}`;
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}

/**
 * The operator, by the first way that admits the request. Ways that accept anonymous callers are
 * skipped.
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
 * Only the inspector's own page may call its API, whatever `cors` allows for the agents. Browsers send
 * the origin of a request.
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

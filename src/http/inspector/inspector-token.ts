import type { IncomingMessage } from 'node:http';
import { createHmac, randomBytes } from 'node:crypto';
import type { Caller } from '../../agents/index.ts';
import { AuthError, hostPort, isSameSecret } from '../../auth/index.ts';
import { LegateError } from '../../protocol/index.ts';

const holder: Caller = Object.freeze({ tenant: '', subject: '', method: 'inspector-token' });

/** Bytes of a token that nobody configured. */
const tokenBytes = 32;

/**
 * The secret of one inspector. It travels once, in the link that the operator opens; the browser then
 * proves itself by a cookie that is derived from it, so that replicas with one token share sessions.
 */
export class InspectorToken {
  readonly #token: string;
  readonly #session: string;

  /** @param token - A fixed one; random without it. */
  constructor(token = randomBytes(tokenBytes).toString('base64url')) {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        'the token of the inspector (--inspect-token, INSPECT_TOKEN) must be printable ASCII without ' +
          'spaces, and not empty; leave it out for a random one',
      );
    }
    this.#token = token;
    this.#session = createHmac('sha256', token).update('inspector session').digest('base64url');
  }

  /** Who holds the token; rejects with `AuthError` unless one of these is it. */
  async holder(given: readonly string[]): Promise<Caller> {
    if (given.some((each) => isSameSecret(this.#token, each))) return holder;
    throw new AuthError(
      'UNAUTHENTICATED',
      'the inspector needs its token: open the link that the server printed when it started ' +
        '(…/inspect/?token=…), or start it with a token of your own (--inspect-token)',
      [],
    );
  }

  /** The address to open: of the inspector below a server's address. */
  linkBelow(url: string): string {
    return `${url}/inspect/?token=${encodeURIComponent(this.#token)}`;
  }

  /** Who holds the token, by the cookie; undefined without a valid one. */
  holderByCookie(request: IncomingMessage): Caller | undefined {
    const name = cookieName(request);
    // Pages of other ports and paths may have set further ones of that name.
    const values = (request.headers.cookie ?? '').split(';').flatMap((pair) => {
      const mark = pair.indexOf('=');
      return pair.slice(0, mark).trim() === name ? [pair.slice(mark + 1).trim()] : [];
    });
    return values.some((value) => isSameSecret(this.#session, value)) ? holder : undefined;
  }

  /**
   * `Set-Cookie` for the browser that showed the token, until the browser closes. Without a path: browsers then
   * take the folder of the page, which only they know where a proxy serves it below a path of its own.
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

import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../agents/index.ts';
import { type Authenticator, AuthError, authHeaders } from '../../auth/index.ts';
import { peerOf } from '../request.ts';
import type { InspectorToken } from './inspector-token.ts';

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
      const peer = peerOf(request);
      const caller = await auth.authenticate({
        headers: authHeaders(request),
        query,
        ...(peer !== undefined && { tlsPeer: peer }),
      });
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

/** Admits the holder of the inspector's token: by the cookie of its link, or as a bearer token. */
export function tokenAccess(token: InspectorToken): InspectorAccess {
  return {
    isOpen: false,
    async admit(request) {
      const holder = token.holderByCookie(request);
      if (holder !== undefined) return holder;
      const bearer = /^Bearer +(?<token>\S+)$/i.exec(request.headers.authorization ?? '');
      return token.holder([bearer?.groups?.['token'] ?? '']);
    },
  };
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

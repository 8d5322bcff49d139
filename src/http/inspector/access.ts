import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Caller } from '../../agents/index.ts';
import { type Authenticator, AuthError, authHeaders, tlsPeer } from '../../auth/index.ts';
import type { InspectorToken } from './inspector-token.ts';

/** One way to prove that one may look. */
export interface InspectorAccess {
  /** Whether nobody has to prove anything. */
  readonly isOpen: boolean;
  /** Who looks; throws `AuthError` for whoever may not. */
  admit(request: IncomingMessage, query: URLSearchParams): Promise<Caller>;
}

/** The callers of a server, those of them that may look at everybody's tasks. */
export function callersAccess(
  auth: Authenticator,
  isOperator: (caller: Caller) => boolean = hasScope,
): InspectorAccess {
  return {
    isOpen: auth.isOpen,
    async admit(request, query) {
      const { socket } = request;
      const peer = 'encrypted' in socket ? tlsPeer(socket as TLSSocket) : undefined;
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

/** Whoever opened the link of the inspector: by its cookie, or by the token as a bearer token. */
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
 * Who looks, by the first of the ways that admits. A way that asks for nothing proves nothing: it is
 * passed over.
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
      // Somebody known who may not look is told so, rather than to prove who they are.
      const isKnown = error instanceof AuthError && error.code === 'PERMISSION_DENIED';
      if (refusal === undefined || isKnown) refusal = error;
    }
  }
  throw refusal;
}

/**
 * What the inspector tells is for its own page, whatever pages may call the agents: browsers say
 * where a request comes from.
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

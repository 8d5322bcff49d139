import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Caller } from '../../agents/index.ts';
import { AuthError, type Authenticator, tlsPeer } from '../../auth/index.ts';
import { addressKind } from '../../push/index.ts';
import { refuseForeignNames } from '../browser-guard.ts';

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
      const { socket, headers } = request;
      const peer = 'encrypted' in socket ? tlsPeer(socket as TLSSocket) : undefined;
      const caller = await auth.authenticate({
        headers,
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

const local: Caller = Object.freeze({ tenant: '', subject: '', method: 'anonymous' });

/**
 * Who looks, by the first of the ways that admits. Where none asks for anything, the inspector is for
 * this machine alone: a request must come from it and call it by a local name.
 */
export async function admitOperator(
  ways: readonly InspectorAccess[],
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<Caller> {
  refuseOtherPages(request);
  const closed = ways.filter(({ isOpen }) => !isOpen);
  if (closed.length === 0) {
    if (addressKind(request.socket.remoteAddress ?? '') !== 'loopback') {
      throw new AuthError(
        'PERMISSION_DENIED',
        'the inspector answers this machine alone, for the server asks nobody who they are; ' +
          'configure authentication to use it from elsewhere',
        [],
      );
    }
    refuseForeignNames(request, []);
    return local;
  }
  let refusal: unknown;
  for (const way of closed) {
    try {
      return await way.admit(request, query);
    } catch (error) {
      refusal ??= error;
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

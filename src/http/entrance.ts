import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Caller } from '../agents/index.ts';
import { authHeaders, type TlsPeer, tlsPeer } from '../auth/index.ts';
import { operations, type Operation } from '../protocol/index.ts';
import { refuseForeignPages } from './browser-guard.ts';
import type { Service } from './service.ts';

/** Who sends a request, before anything of it is read. */
export function authenticate(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): Caller | Promise<Caller> {
  refuseForeignPages(request, response, service.corsOrigins);
  const { everybody } = service.auth;
  if (everybody !== undefined) return everybody;
  const peer = peerOf(request);
  return service.callerLimits.authentication(request.socket.remoteAddress ?? '', () =>
    service.auth.authenticate({
      headers: authHeaders(request),
      query,
      ...(peer !== undefined && { tlsPeer: peer }),
    }),
  );
}

/** Client certificates of connections: reading one costs more than many a request. */
const peers = new WeakMap<TLSSocket, TlsPeer | undefined>();

function peerOf({ socket }: IncomingMessage): TlsPeer | undefined {
  if (!('encrypted' in socket)) return undefined;
  const secure = socket as TLSSocket;
  if (!peers.has(secure)) peers.set(secure, tlsPeer(secure));
  return peers.get(secure);
}

/**
 * A place among the caller's requests under way; dispose of it once the answer is sent. A caller that
 * leaves gives it back, however long the answer takes.
 */
export function enter(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
): Disposable | Promise<Disposable> {
  service.load.note();
  const place = service.callerLimits.request(caller, request.socket.remoteAddress ?? '');
  const leave = (held: Disposable): Disposable => {
    response.on('close', () => held[Symbol.dispose]());
    return held;
  };
  return place instanceof Promise ? place.then(leave) : leave(place);
}

/**
 * A place among the caller's open streams, for operations that stream. Streams are counted apart from
 * calls: the call's own place is given back, so that open streams never keep a caller from cancelling.
 */
export function openStream(
  service: Service,
  request: IncomingMessage,
  caller: Caller,
  operation: Operation,
  call: Disposable,
): Disposable | undefined {
  if (!operations[operation].streams) return undefined;
  const stream = service.callerLimits.stream(caller, request.socket.remoteAddress ?? '');
  call[Symbol.dispose]();
  return stream;
}

import type { Caller } from '../agents/index.ts';
import type { AuthRequest } from '../auth/index.ts';
import type { Service } from './service.ts';

/** Who sends a request, before anything of it is read. `address`: the other end of the connection. */
export function authenticate(
  { auth, callerLimits }: Service,
  address: string,
  request: () => AuthRequest,
): Caller | Promise<Caller> {
  return auth.everybody ?? callerLimits.authentication(address, () => auth.authenticate(request()));
}

/** A permit for one request of a caller; dispose of it once the answer is sent. */
export function admit(
  { load, callerLimits }: Service,
  caller: Caller,
  address: string,
): Disposable | Promise<Disposable> {
  load.note();
  return callerLimits.request(caller, address);
}

/**
 * A permit for an open stream of a caller. Streams are counted apart from requests: the permit of the
 * request is given back, so that open streams never keep a caller from cancelling.
 */
export function admitStream(
  { callerLimits }: Service,
  caller: Caller,
  address: string,
  request: Disposable,
): Disposable {
  const stream = callerLimits.stream(caller, address);
  request[Symbol.dispose]();
  return stream;
}

import type { ClientOptions } from '../../client/index.ts';
import type { PeerCredential } from './peer.ts';

/**
 * How a client of a peer is to be made: which `fetch`, and what proves us. The client itself keeps
 * credentials off plain http to other machines; where the operator wants them there all the same,
 * they are added below it.
 * @example
 * const credential = await directory.credential(peer.name);
 * const client = await connect(peer.card, clientAuth(credential, fetch));
 */
export function clientAuth(
  credential: PeerCredential | undefined,
  fetching: typeof fetch,
): Pick<ClientOptions, 'auth' | 'fetch'> {
  if (credential === undefined) return { fetch: fetching };
  const { headerName, headerValue, allowsPlainHttp = false } = credential;
  if (!allowsPlainHttp) {
    return { fetch: fetching, auth: { headers: () => ({ [headerName]: headerValue }) } };
  }
  return {
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set(headerName, headerValue);
      return fetching(input, { ...init, headers });
    },
  };
}

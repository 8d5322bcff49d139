import type { ClientOptions } from '../../client/index.ts';
import type { PeerCredential } from './peer.ts';

/**
 * Client options for a peer: its `fetch` and our credential. The client does not send credentials
 * over plain http to other machines; with `allowsPlainHttp` they are added below the client.
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

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { publicKeySet, type SigningKey } from '../push/index.ts';

/** An OpenID Connect issuer on 127.0.0.1, for tests: discovery and keys. */
export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  readonly jwksUrl: string;
  /** Requests answered so far, failures included. */
  readonly fetches: () => number;
  publish(keys: readonly SigningKey[]): void;
  /** Answers 500 until keys are published again. */
  fail(): void;
  /** Answers with the function until keys are published again. */
  answer(how: (response: ServerResponse) => void): void;
  /** Publishes its keys at another path from now on; the former one answers 404. */
  move(path: string): void;
}

export async function startIssuer(
  keys: readonly SigningKey[],
  options: { readonly claimedIssuer?: string } = {},
): Promise<TestIssuer> {
  let published = keys;
  let answer: ((response: ServerResponse) => void) | undefined;
  let fetches = 0;
  let jwksPath = '/jwks';
  let url = '';
  const server = createServer((request, response) => {
    fetches += 1;
    if (answer !== undefined) return answer(response);
    const isDiscovery = request.url === '/.well-known/openid-configuration';
    if (!isDiscovery && request.url !== jwksPath) return void response.writeHead(404).end();
    const body = isDiscovery
      ? { issuer: options.claimedIssuer ?? url, jwks_uri: `${url}${jwksPath}` }
      : publicKeySet(published);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    jwksUrl: `${url}/jwks`,
    fetches: () => fetches,
    publish(next) {
      published = next;
      answer = undefined;
    },
    fail() {
      answer = (response) => void response.writeHead(500).end();
    },
    answer(how) {
      answer = how;
    },
    move(path) {
      jwksPath = path;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

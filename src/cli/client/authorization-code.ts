import { createHash, randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { openLocalServer } from '../local-server.ts';
import { byCode, protectedUrl, reasonOf, refused, type TokenRequest } from './oauth.ts';
import type { StoredToken } from './token-file.ts';

export interface CodeRequest extends TokenRequest {
  readonly authorizationUrl: string;
  /** The expected issuer; an answer that names another one is refused (RFC 9207). */
  readonly issuer?: string;
  /** Binds the ID token to this login, so that an older one is refused. */
  readonly nonce?: string;
  /** The port of the redirect URI. @default any free port */
  readonly port?: number;
  /** Milliseconds to wait for the browser. */
  readonly timeoutMs: number;
  /** Shows the login page to the user. */
  readonly tell: (url: string) => void;
}

/** Grace period for the last response to the browser, in milliseconds. */
const lastWordsMs = 500;

/**
 * Authorization code flow of a native app: the browser redirects to a loopback port (RFC 8252), with
 * a code that only this process can redeem (PKCE, RFC 7636).
 */
export async function byAuthorizationCode(request: CodeRequest): Promise<StoredToken> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  await using inlet = await openInlet(request, state);
  const url = protectedUrl(request.authorizationUrl);
  const { scope, nonce } = request;
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: inlet.url,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(scope !== '' && { scope }),
    ...(nonce !== undefined && { nonce }),
  })) {
    url.searchParams.set(name, value);
  }
  request.tell(url.href);
  const value = await inlet.code;
  return byCode(request, { value, verifier, redirectUri: inlet.url });
}

interface Inlet extends AsyncDisposable {
  readonly url: string;
  readonly code: Promise<string>;
}

/** Waits on the loopback interface for one redirect of the browser. */
async function openInlet(request: CodeRequest, state: string): Promise<Inlet> {
  const { signal, timeoutMs } = request;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // Awaited by the caller later; marked as handled so that an early failure does not end the process.
  promise.catch(() => undefined);
  const listener: RequestListener = (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const page = (status: number, words: string): void => {
      response.writeHead(status, {
        'Content-Type': 'text/plain; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'",
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-store',
        Connection: 'close',
      });
      response.end(`${words}\n`);
    };
    if (pathname !== '/callback') return page(404, 'There is nothing here.');
    // Another local program that finds the port cannot inject a code of its own.
    if (searchParams.get('state') !== state)
      return page(400, 'This redirect does not belong to the login.');
    const code = searchParams.get('code');
    const failure = failureOf(searchParams, request);
    if (failure !== undefined) reject(refused(failure));
    else if (code !== null) resolve(code);
    return failure === undefined
      ? page(200, 'You are signed in. You can close this page.')
      : page(403, 'You are not signed in. You can close this page.');
  };
  const { port = 0 } = request;
  const server = await openLocalServer(listener, {
    port,
    graceMs: lastWordsMs,
    refused: (cause) =>
      refused(`the browser cannot be redirected to port ${port}: ${cause.message}`),
  });
  const timer = setTimeout(() => reject(refused('the login in the browser timed out')), timeoutMs);
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  return {
    url: `http://127.0.0.1:${server.port}/callback`,
    code: promise,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      await server[Symbol.asyncDispose]();
    },
  };
}

function failureOf(answer: URLSearchParams, { issuer }: CodeRequest): string | undefined {
  const from = answer.get('iss');
  if (issuer !== undefined && from !== null && from !== issuer) {
    return `another authorization server answered: ${from.slice(0, 200)}`;
  }
  if (answer.has('error'))
    return `the authorization server refused: ${reasonOf(Object.fromEntries(answer))}`;
  return answer.has('code') ? undefined : 'the authority gave no code';
}

import { hash, randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { present } from '../../config/index.ts';
import { within } from '../../time/index.ts';
import { openLocalServer } from '../local-server.ts';
import { type LoginRequest, protectedUrl, reasonOf, refused, requestToken } from './oauth.ts';
import type { StoredToken } from './tokens.ts';

export interface CodeRequest extends LoginRequest {
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
  readonly prompt: (url: string) => void;
}

/** Grace period for the last response to the browser, in milliseconds. */
const closeGraceMs = 500;

/**
 * Authorization code flow of a native app: the browser redirects to a loopback port (RFC 8252), with
 * a code that only this process can redeem (PKCE, RFC 7636).
 */
export async function byAuthorizationCode(request: CodeRequest): Promise<StoredToken> {
  const { authorizationUrl, clientId, scope, nonce, port = 0, signal, timeoutMs } = request;
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const redirect = Promise.withResolvers<string>();
  // Awaited after the server has started; an earlier rejection must not end the process.
  redirect.promise.catch(() => undefined);
  await using server = await openLocalServer(redirectListener(request, state, redirect), {
    port,
    graceMs: closeGraceMs,
    refused: (cause) =>
      refused(`the browser cannot be redirected to port ${port}: ${cause.message}`),
  });
  const redirectUri = `http://127.0.0.1:${server.port}/callback`;
  const url = protectedUrl(authorizationUrl);
  const parameters = present({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
    scope: scope === '' ? undefined : scope,
    nonce,
  });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  request.prompt(url.href);
  const reason = () => refused('the login in the browser timed out');
  const code = await within({ signal, milliseconds: timeoutMs, reason }, () => redirect.promise);
  return await requestToken(request, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
}

/** Settles the promise with the redirect of the browser. */
function redirectListener(
  { issuer }: CodeRequest,
  state: string,
  { resolve, reject }: PromiseWithResolvers<string>,
): RequestListener {
  return (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const page = (status: number, text: string): void => {
      response.writeHead(status, {
        'Content-Type': 'text/plain; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'",
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-store',
        Connection: 'close',
      });
      response.end(`${text}\n`);
    };
    if (pathname !== '/callback') return page(404, 'There is nothing here.');
    // Another local program that finds the port cannot inject a code of its own.
    if (searchParams.get('state') !== state)
      return page(400, 'This redirect does not belong to the login.');
    const code = searchParams.get('code');
    const failure = failureOf(searchParams, issuer);
    if (code === null || failure !== undefined) {
      reject(refused(failure ?? 'the authorization server returned no code'));
      return page(403, 'You are not signed in. You can close this page.');
    }
    resolve(code);
    return page(200, 'You are signed in. You can close this page.');
  };
}

function failureOf(answer: URLSearchParams, issuer: string | undefined): string | undefined {
  const from = answer.get('iss');
  if (issuer !== undefined && from !== null && from !== issuer) {
    return `another authorization server answered: ${from.slice(0, 200)}`;
  }
  if (!answer.has('error')) return undefined;
  return `the authorization server refused: ${reasonOf(Object.fromEntries(answer))}`;
}

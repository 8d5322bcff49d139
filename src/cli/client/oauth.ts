import { isJsonObject, LegateError, parseJson } from '../../protocol/index.ts';
import { isProtected } from '../check/probe.ts';
import { CommandFailure } from './failure.ts';
import type { StoredToken } from './token-file.ts';

type Fetch = typeof globalThis.fetch;
type Fields = Readonly<Record<string, string>>;

/** A response of the authorization server, as received. */
export type TokenAnswer = Readonly<Record<string, unknown>>;

/** The client, and the endpoint that issues tokens. */
export interface TokenRequest {
  readonly fetch: Fetch;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** How to send the client secret: in a header, or among the fields. @default 'basic' */
  readonly secretPlace?: 'basic' | 'post';
  readonly scope: string;
  /** Verifies the granted token; rejects when it is not trusted. */
  readonly verify?: (answer: TokenAnswer) => Promise<void>;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

const longestAnswer = 256 * 1024;

/** OAuth 2.1, section 4.2: client credentials. */
export async function byClientCredentials(request: TokenRequest): Promise<StoredToken> {
  return tokenOf(
    request,
    await post(request, request.tokenUrl, {
      grant_type: 'client_credentials',
      ...(request.scope !== '' && { scope: request.scope }),
    }),
  );
}

/** RFC 8628: device authorization; the user confirms in a browser on any device. */
export async function byDeviceCode(
  request: TokenRequest & {
    readonly deviceAuthorizationUrl: string;
    readonly tell: (url: string, code: string) => void;
  },
): Promise<StoredToken> {
  const { deviceAuthorizationUrl, scope, tell, now, wait } = request;
  const begun = await post(request, deviceAuthorizationUrl, { ...(scope !== '' && { scope }) });
  const { device_code: deviceCode, user_code: code, verification_uri: url } = begun;
  if (typeof deviceCode !== 'string' || typeof code !== 'string' || typeof url !== 'string') {
    throw refused(
      `${new URL(deviceAuthorizationUrl).origin} gave no device code: ${reasonOf(begun)}`,
    );
  }
  const complete = begun['verification_uri_complete'];
  tell(typeof complete === 'string' ? complete : url, code);
  const ends = now() + seconds(begun['expires_in'], 600);
  let pause = seconds(begun['interval'], 5);
  while (now() < ends) {
    await wait(pause);
    const answer = await post(request, request.tokenUrl, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: deviceCode,
    });
    const { error } = answer;
    if (error === 'slow_down') pause += 5_000;
    else if (error !== 'authorization_pending') return tokenOf(request, answer);
  }
  throw refused('the code was not confirmed in time');
}

/** OAuth 2.1, section 4.1: authorization code; the browser redirects to this process. */
export async function byCode(
  request: TokenRequest,
  code: { readonly value: string; readonly verifier: string; readonly redirectUri: string },
): Promise<StoredToken> {
  const answer = await post(request, request.tokenUrl, {
    grant_type: 'authorization_code',
    code: code.value,
    redirect_uri: code.redirectUri,
    code_verifier: code.verifier,
  });
  return tokenOf(request, answer);
}

/** Refreshes an expired token. */
export async function refreshed(request: TokenRequest, refreshToken: string): Promise<StoredToken> {
  const answer = await post(request, request.tokenUrl, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });
  return { refreshToken, ...(await tokenOf(request, answer)) };
}

async function tokenOf(
  { tokenUrl, clientId, secretPlace, now, verify }: TokenRequest,
  answer: TokenAnswer,
): Promise<StoredToken> {
  const { access_token: accessToken, refresh_token: refreshToken } = answer;
  if (typeof accessToken !== 'string' || accessToken === '') {
    throw refused(`${new URL(tokenUrl).origin} gave no token: ${reasonOf(answer)}`);
  }
  await verify?.(answer);
  const lifetime = answer['expires_in'];
  return {
    accessToken,
    tokenUrl,
    clientId,
    ...(secretPlace !== undefined && { secretPlace }),
    ...(typeof lifetime === 'number' && { expiresAt: now() + lifetime * 1_000 }),
    ...(typeof refreshToken === 'string' && { refreshToken }),
  };
}

async function post(
  { fetch, clientId, clientSecret, secretPlace = 'basic', signal }: TokenRequest,
  url: string,
  fields: Fields,
): Promise<TokenAnswer> {
  const target = protectedUrl(url);
  const isBasic = clientSecret !== undefined && secretPlace === 'basic';
  const basic = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`;
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal,
    headers: {
      Accept: 'application/json',
      'Content-Type': 'application/x-www-form-urlencoded',
      ...(isBasic && {
        Authorization: `Basic ${Buffer.from(basic).toString('base64')}`,
      }),
    },
    body: new URLSearchParams({
      ...fields,
      ...(!isBasic && { client_id: clientId }),
      ...(!isBasic && clientSecret !== undefined && { client_secret: clientSecret }),
    }).toString(),
  }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new LegateError('PEER_UNREACHABLE', `can't reach ${target.origin}`, { cause });
  });
  return readAnswer(response, target);
}

/** A URL of the authorization server; refuses unencrypted ones. */
export function protectedUrl(url: string): URL {
  const target = URL.parse(url);
  if (target !== null && isProtected(target)) return target;
  throw refused(`the card names ${url}, which is not https: credentials were not sent`);
}

/** The JSON object of a response. */
export async function readAnswer(response: Response, { origin }: URL): Promise<TokenAnswer> {
  const text = await response.text();
  try {
    const value = text.length > longestAnswer ? null : parseJson(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
  }
  throw refused(`${origin} answered ${response.status} with a body that is not JSON`);
}

export function refused(message: string): CommandFailure {
  return new CommandFailure({ code: 'A2ACLI_ERR_AUTH_FAILED', message });
}

export function reasonOf(answer: TokenAnswer): string {
  const { error, error_description: description } = answer;
  const words = [error, description].filter((word) => typeof word === 'string').join(': ');
  return words === '' ? 'no reason given' : words.slice(0, 300);
}

function seconds(value: unknown, usual: number): number {
  const number = typeof value === 'number' && value >= 0 ? value : usual;
  return Math.min(number, 3_600) * 1_000;
}

import { present } from '../../config/index.ts';
import { isEncryptedOrLocal, isJsonObject, LegateError, parseJson } from '../../protocol/index.ts';
import { readAtMost } from '../usage.ts';
import { CommandFailure } from './failure.ts';
import type { StoredToken } from './tokens.ts';

type Fields = Readonly<Record<string, string>>;

/** A response of the authorization server, as received. */
export type TokenAnswer = Readonly<Record<string, unknown>>;

/** The client, and the endpoint that issues tokens. */
export interface TokenRequest {
  readonly fetch: typeof globalThis.fetch;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** How to send the client secret: in a header, or among the fields. @default 'client_secret_basic' */
  readonly authMethod?: StoredToken['authMethod'];
  /** Verifies the granted token; rejects when it is not trusted. */
  readonly verify?: (answer: TokenAnswer) => Promise<void>;
  readonly signal: AbortSignal;
}

/** For flows in which the user confirms. */
export interface LoginRequest extends TokenRequest {
  readonly scope: string;
}

const kibibyte = 1024;
const maxAnswerBytes = 256 * kibibyte;

/** Exchanges a grant (OAuth 2.1, section 4) for a token. */
export async function requestToken(request: TokenRequest, grant: Fields): Promise<StoredToken> {
  return tokenOf(request, await post(request, request.tokenUrl, grant));
}

/** RFC 8628: device authorization; the user confirms in a browser on any device. */
export async function byDeviceCode(
  request: LoginRequest & {
    readonly deviceAuthorizationUrl: string;
    /** Shows the page and the code to the user. */
    readonly prompt: (url: string, code: string) => void;
    /** Milliseconds since 1970. */
    readonly now: () => number;
    readonly wait: (ms: number) => Promise<void>;
  },
): Promise<StoredToken> {
  const { deviceAuthorizationUrl, scope, prompt, now, wait } = request;
  const started = await post(request, deviceAuthorizationUrl, { ...(scope !== '' && { scope }) });
  const { device_code: deviceCode, user_code: code, verification_uri: url } = started;
  if (typeof deviceCode !== 'string' || typeof code !== 'string' || typeof url !== 'string') {
    throw refused(
      `${new URL(deviceAuthorizationUrl).origin} returned no device code: ${reasonOf(started)}`,
    );
  }
  const complete = started['verification_uri_complete'];
  prompt(typeof complete === 'string' ? complete : url, code);
  const expiresAt = now() + seconds(started['expires_in'], 600);
  let interval = seconds(started['interval'], 5);
  while (now() < expiresAt) {
    await wait(interval);
    const answer = await post(request, request.tokenUrl, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: deviceCode,
    });
    const { error } = answer;
    if (error === 'slow_down') interval += 5_000;
    else if (error !== 'authorization_pending') return tokenOf(request, answer);
  }
  throw refused('the code was not confirmed in time');
}

async function tokenOf(
  { tokenUrl, clientId, authMethod, verify }: TokenRequest,
  answer: TokenAnswer,
): Promise<StoredToken> {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: lifetime } = answer;
  if (typeof accessToken !== 'string' || accessToken === '') {
    throw refused(`${new URL(tokenUrl).origin} returned no token: ${reasonOf(answer)}`);
  }
  await verify?.(answer);
  return {
    accessToken,
    tokenUrl,
    clientId,
    ...present({ authMethod }),
    ...(typeof lifetime === 'number' && { expiresAt: Date.now() + lifetime * 1_000 }),
    ...(typeof refreshToken === 'string' && { refreshToken }),
  };
}

async function post(request: TokenRequest, url: string, fields: Fields): Promise<TokenAnswer> {
  const { clientId, clientSecret, authMethod = 'client_secret_basic' } = request;
  const isBasic = clientSecret !== undefined && authMethod === 'client_secret_basic';
  const basic = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`;
  const { answer } = await fetchJson(url, request, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      ...(isBasic && { Authorization: `Basic ${Buffer.from(basic).toString('base64')}` }),
    },
    body: new URLSearchParams({
      ...fields,
      ...(!isBasic && { client_id: clientId }),
      ...(!isBasic && clientSecret !== undefined && { client_secret: clientSecret }),
    }).toString(),
  });
  return answer;
}

/** The JSON object that an authorization server answers with. */
export async function fetchJson(
  url: string,
  { fetch, signal }: Pick<TokenRequest, 'fetch' | 'signal'>,
  init: { method?: string; headers?: Fields; body?: string } = {},
): Promise<{ readonly isOk: boolean; readonly status: number; readonly answer: TokenAnswer }> {
  const { origin } = protectedUrl(url);
  const headers = { Accept: 'application/json', ...init.headers };
  const unreachable = (cause: unknown): never => {
    signal.throwIfAborted();
    throw new LegateError('PEER_UNREACHABLE', `can't reach ${origin}`, { cause });
  };
  const response = await fetch(url, { ...init, headers, redirect: 'error', signal }).catch(
    unreachable,
  );
  const { ok: isOk, status } = response;
  const body = await readAtMost(response.body ?? [], maxAnswerBytes).catch(unreachable);
  if (body === undefined) {
    throw refused(`${origin} answered with more than ${maxAnswerBytes / kibibyte} KiB`);
  }
  try {
    const answer = parseJson(body.toString('utf8'));
    if (isJsonObject(answer)) return { isOk, status, answer };
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
  }
  throw refused(`${origin} answered ${status} with a body that is not JSON`);
}

/** A URL of the authorization server; refuses unencrypted ones. */
export function protectedUrl(url: string): URL {
  const target = URL.parse(url);
  if (target !== null && isEncryptedOrLocal(target)) return target;
  throw refused(`the card names ${url}, which is not https: credentials were not sent`);
}

export function refused(message: string): CommandFailure {
  return new CommandFailure('A2ACLI_ERR_AUTH_FAILED', message);
}

export function reasonOf({ error, error_description: description }: TokenAnswer): string {
  const reasons = [error, description].filter((reason) => typeof reason === 'string').join(': ');
  return reasons === '' ? 'no reason given' : reasons.slice(0, 300);
}

function seconds(value: unknown, standard: number): number {
  const number = typeof value === 'number' && value >= 0 ? value : standard;
  return Math.min(number, 3_600) * 1_000;
}

import type { HeaderProvider } from '../client/index.ts';
import { readBodyOf } from '../net/index.ts';
import {
  invalidConfiguration,
  isEncryptedOrLocal,
  isJsonObject,
  LegateError,
} from '../protocol/index.ts';
import { Deadline } from '../time/index.ts';

/** Credentials for a server that we call. */
export type Authentication =
  | {
      readonly kind: 'api_key';
      readonly key: string;
      /** @default 'Authorization' */
      readonly headerName?: string;
      /** The value of the header, with `{key}` for the key. @default 'Bearer {key}' */
      readonly headerFormat?: string;
    }
  | { readonly kind: 'token'; readonly token: string }
  /** OAuth 2 client credentials. */
  | {
      readonly kind: 'oauth';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly tokenUrl: string;
      readonly scope?: string | undefined;
      readonly audience?: string | undefined;
      /** Timeout of a token request, in seconds. @default 10 */
      readonly timeout?: number | undefined;
    };

export interface AuthenticationOptions {
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** @default Date */
  readonly clock?: { now(): number };
}

/**
 * Authentication headers. Tokens are cached until shortly before they expire, or until the server
 * rejects them. The sender of the headers checks that the transport is secure.
 */
export function authenticationHeaders(
  authentication: Authentication,
  options: AuthenticationOptions = {},
): HeaderProvider {
  switch (authentication.kind) {
    case 'api_key': {
      const { key, headerName = 'Authorization', headerFormat = 'Bearer {key}' } = authentication;
      if (!headerFormat.includes('{key}')) {
        throw invalidConfiguration('the format of an API key header must contain {key}');
      }
      const headers = { [headerName]: headerFormat.replaceAll('{key}', () => key) };
      return () => headers;
    }
    case 'token': {
      const headers = { Authorization: `Bearer ${authentication.token}` };
      return () => headers;
    }
    case 'oauth': {
      const source = new TokenSource(authentication, options);
      return async ({ isRejected }) => ({
        Authorization: `Bearer ${await source.token({ isRejected })}`,
      });
    }
  }
}

type ClientCredentials = Extract<Authentication, { kind: 'oauth' }>;

interface Token {
  readonly value: string;
  /** Milliseconds since 1970; some time before it expires. */
  readonly renewAt: number;
}

/**
 * A token that expires this soon could expire before the server checks it. For a token of less than two
 * minutes, half of its life.
 */
const maxLeewayMs = 60_000;
/** The lifetime of a token whose response has no `expires_in`. */
const assumedLifeMs = 300_000;
const maxAnswerSize = 64 * 1024;

/**
 * OAuth 2 client credentials (RFC 6749, 4.4). Caches one token; concurrent callers share one token
 * request.
 */
class TokenSource {
  readonly #options: ClientCredentials;
  readonly #url: URL;
  readonly #fetch: typeof globalThis.fetch;
  readonly #clock: { now(): number };
  #token: Token | undefined;
  #fetching: Promise<Token> | undefined;

  constructor(
    options: ClientCredentials,
    { fetch = globalThis.fetch, clock = Date }: AuthenticationOptions,
  ) {
    this.#options = options;
    this.#url = requireSecureTransport(options.tokenUrl, 'token_url');
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** `isRejected`: the server rejected the last token. */
  async token({ isRejected = false } = {}): Promise<string> {
    if (isRejected) this.#token = undefined;
    const known = this.#token;
    if (known !== undefined && known.renewAt > this.#clock.now()) return known.value;
    this.#fetching ??= this.#request().finally(() => {
      this.#fetching = undefined;
    });
    this.#token = await this.#fetching;
    return this.#token.value;
  }

  async #request(): Promise<Token> {
    const { clientId, clientSecret, scope, audience, timeout = 10 } = this.#options;
    const identity = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scope !== undefined) form.set('scope', scope);
    if (audience !== undefined) form.set('audience', audience);
    let status: number;
    let text: string;
    using deadline = new Deadline({
      milliseconds: timeout * 1000,
      reason: () => new Error(`no answer within ${timeout} s`),
    });
    try {
      const response = await this.#fetch(this.#url.href, {
        method: 'POST',
        headers: {
          Authorization: `Basic ${Buffer.from(identity).toString('base64')}`,
          'Content-Type': 'application/x-www-form-urlencoded',
          Accept: 'application/json',
        },
        body: form.toString(),
        // A redirect must not forward our secret.
        redirect: 'error',
        signal: deadline.signal,
      });
      ({ status } = response);
      const { bytes, isCut } = await readBodyOf(response, maxAnswerSize);
      if (isCut) throw new Error(`more than ${maxAnswerSize} bytes`);
      text = bytes.toString('utf8');
    } catch (cause) {
      throw this.#failure('PEER_UNREACHABLE', 'did not answer', cause);
    }
    if (status !== 200) {
      const code = status === 400 || status === 401 ? 'UNAUTHENTICATED' : 'UNAVAILABLE';
      throw this.#failure(code, `answered ${status}${errorIn(text)}`);
    }
    const { access_token: value, expires_in: seconds } = fieldsOf(text);
    if (typeof value !== 'string' || value === '') {
      throw this.#failure('PEER_INVALID', 'answered without an access_token');
    }
    const life = Number(seconds);
    const lifeMs = Number.isFinite(life) && life > 0 ? life * 1000 : assumedLifeMs;
    const leewayMs = Math.min(maxLeewayMs, lifeMs / 2);
    return { value, renewAt: this.#clock.now() + lifeMs - leewayMs };
  }

  #failure(
    code: 'PEER_UNREACHABLE' | 'UNAUTHENTICATED' | 'UNAVAILABLE' | 'PEER_INVALID',
    what: string,
    cause?: unknown,
  ): LegateError {
    return new LegateError(code, `the token server at ${this.#url.origin} ${what}`, { cause });
  }
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The `error` field of RFC 6749 is one of a few fixed codes, never a secret. */
function errorIn(text: string): string {
  const { error } = fieldsOf(text);
  return typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : '';
}

/** Parses a URL that credentials can be sent to: https, or loopback. */
export function requireSecureTransport(address: string, what: string): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidConfiguration(`${what} must be an http or https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidConfiguration(`${what} must not hold a user or password`);
  }
  if (isEncryptedOrLocal(url)) return url;
  throw invalidConfiguration(
    `${what}: credentials are not sent to ${url.origin}, since plain http is not encrypted: use https, or a loopback address`,
  );
}

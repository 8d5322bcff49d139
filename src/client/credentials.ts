import { invalidConfiguration, isEncryptedOrLocal, LegateError } from '../protocol/index.ts';

/**
 * An API key, and where it is sent.
 * @example const apiKey: ApiKey = { name: 'key', location: 'query', value: secret };
 */
export interface ApiKey {
  readonly name: string;
  /** Browsers don't let a page set cookies. @default 'header' */
  readonly location?: 'header' | 'query' | 'cookie';
  readonly value: string;
}

/**
 * The input of a header provider.
 * @example
 * const tokenFor = ({ url, isRejected }: CredentialRequest) =>
 *   isRejected ? tokens.renew(new URL(url).origin) : tokens.get(new URL(url).origin);
 */
export interface CredentialRequest {
  /** The URL of the request, without its query. */
  readonly url: string;
  /** Whether the peer answered the previous headers with 401, so that they must be renewed. */
  readonly isRejected: boolean;
}

/**
 * Provides the credential headers. The client calls it again when the peer rejects them.
 * @example
 * const headers: HeaderProvider = async ({ isRejected }) => ({
 *   Authorization: `Bearer ${await tokens.get({ isForced: isRejected })}`,
 * });
 */
export type HeaderProvider = (
  request: CredentialRequest,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;

/**
 * Credentials: a bearer token, an API key, or a function that provides the headers and is called again
 * when the peer rejects them.
 * @example { bearer: token }
 * @example { apiKey: { name: 'X-API-Key', value: key } }
 * @example { headers: async ({ isRejected }) => ({ Authorization: `Bearer ${await token(isRejected)}` }) }
 */
export type Auth =
  | { readonly bearer: string }
  | { readonly apiKey: ApiKey }
  | { readonly headers: HeaderProvider };

/** Shorter values would redact ordinary words. */
const shortestSecret = 4;
const MAX_SECRETS = 16;

/** Adds credentials to requests, refuses unencrypted connections, and redacts errors. */
export class Credentials {
  readonly #auth: Auth | undefined;
  /** Recently sent secrets, which are redacted in errors that a peer sends. */
  readonly #secrets: string[] = [];

  constructor(auth: Auth | undefined) {
    this.#auth = auth;
    if (auth !== undefined && 'bearer' in auth) this.#remember(auth.bearer);
    if (auth !== undefined && 'apiKey' in auth) this.#remember(auth.apiKey.value);
  }

  get exist(): boolean {
    return this.#auth !== undefined;
  }

  /** Whether the provider can return other credentials after a 401. */
  get areRenewable(): boolean {
    return this.#auth !== undefined && 'headers' in this.#auth;
  }

  /** Whether the connection to this address is encrypted, or doesn't leave this machine. */
  maySendTo(url: URL): boolean {
    return isEncryptedOrLocal(url);
  }

  /** Adds the credentials to `headers`, or to the returned URL. */
  async apply(url: URL, headers: Headers, isRejected: boolean): Promise<URL> {
    if (this.#auth === undefined) return url;
    refusePlainHttp(url);
    if ('bearer' in this.#auth) {
      setHeader(headers, 'Authorization', `Bearer ${this.#auth.bearer}`);
    } else if ('apiKey' in this.#auth) {
      return applyApiKey(this.#auth.apiKey, url, headers);
    } else {
      const target = url.origin + url.pathname;
      const provided = await this.#auth.headers({ url: target, isRejected });
      for (const [name, value] of Object.entries(provided)) {
        this.#remember(value);
        setHeader(headers, name, value);
      }
    }
    return url;
  }

  /** The same error with all credentials redacted. */
  redact(error: LegateError): LegateError {
    const clean = (text: string): string =>
      this.#secrets.reduce((result, secret) => result.replaceAll(secret, '[redacted]'), text);
    const texts = [error.message, ...Object.values(error.metadata ?? {})];
    for (const { field, description } of error.violations ?? []) texts.push(field, description);
    if (texts.every((text) => clean(text) === text)) return error;
    const { metadata, violations, retryAfter } = error;
    return new LegateError(error.code, clean(error.message), {
      ...(metadata !== undefined && {
        metadata: Object.fromEntries(
          Object.entries(metadata).map(([key, value]) => [key, clean(value)]),
        ),
      }),
      ...(violations !== undefined && {
        violations: violations.map(({ field, description }) => ({
          field: clean(field),
          description: clean(description),
        })),
      }),
      ...(retryAfter !== undefined && { retryAfter }),
    });
  }

  /** Stores the whole value and the part after its scheme: `Basic abc` and `abc`. */
  #remember(value: string): void {
    const bare = value.slice(value.indexOf(' ') + 1);
    for (const secret of value === bare ? [value] : [value, bare]) {
      if (secret.length < shortestSecret || this.#secrets.includes(secret)) continue;
      this.#secrets.push(secret);
      if (this.#secrets.length > MAX_SECRETS) this.#secrets.shift();
    }
  }
}

function applyApiKey(key: ApiKey, url: URL, headers: Headers): URL {
  switch (key.location) {
    case 'query': {
      const keyed = new URL(url);
      keyed.searchParams.set(key.name, key.value);
      return keyed;
    }
    case 'cookie': {
      const cookies = headers.get('Cookie');
      const own = `${key.name}=${encodeURIComponent(key.value)}`;
      setHeader(headers, 'Cookie', cookies === null ? own : `${cookies}; ${own}`);
      return url;
    }
    default:
      setHeader(headers, key.name, key.value);
      return url;
  }
}

/** Sets a header. The error for an invalid value doesn't quote it: it can be a secret. */
export function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw invalidConfiguration(
      `the value given for the header ${JSON.stringify(name)} cannot be sent: a header name is a word, and a value has no line breaks and no characters beyond Latin-1`,
    );
  }
}

const credentialHeader =
  /^(?:authorization|proxy-authorization|cookie)$|api-?key|token|secret|password/i;

/** Refuses credential headers over unencrypted connections, including headers that the caller set. */
export function refuseExposure(url: URL, headers: Headers): void {
  for (const name of headers.keys()) {
    if (credentialHeader.test(name)) refusePlainHttp(url);
  }
}

function refusePlainHttp(url: URL): void {
  if (isEncryptedOrLocal(url)) return;
  throw invalidConfiguration(
    `credentials are not sent to ${url.origin} over an unencrypted connection: use https, or a loopback address`,
  );
}

import { present } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { protectedUrl, readAnswer, refused, type TokenAnswer } from './oauth.ts';

type Fetch = typeof globalThis.fetch;

/** The metadata of an OpenID provider. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly authorizationUrl?: string;
  readonly deviceAuthorizationUrl?: string;
  readonly keysUrl?: string;
  readonly grants: readonly string[];
  readonly secretPlace: 'basic' | 'post';
}

const wellKnown = '/.well-known/openid-configuration';

/** OpenID Connect Discovery 1.0, section 4: fetches the endpoints of a provider. */
export async function discover(
  address: string,
  { fetch, signal }: { readonly fetch: Fetch; readonly signal: AbortSignal },
): Promise<OpenIdProvider> {
  const url = protectedUrl(address);
  // A card may name the issuer instead of the URL of its metadata.
  if (!url.pathname.includes('/.well-known/')) {
    url.pathname = `${url.pathname.replace(/\/+$/, '')}${wellKnown}`;
  }
  const init = { headers: { Accept: 'application/json' }, redirect: 'error', signal } as const;
  const response = await fetch(url.href, init).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new LegateError('PEER_UNREACHABLE', `can't reach ${url.origin}`, { cause });
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw refused(`${url.href} answered ${response.status}: it is not an OpenID provider`);
  }
  return providerOf(await readAnswer(response, url), url);
}

/** The metadata must name the issuer it was fetched from, or any host could claim to be it (section 4.3). */
function providerOf(document: TokenAnswer, url: URL): OpenIdProvider {
  const issuer = textOf(document['issuer']);
  const tokenUrl = textOf(document['token_endpoint']);
  if (issuer === undefined || tokenUrl === undefined) {
    throw refused(`${url.href} is not the metadata of an OpenID provider`);
  }
  if (`${issuer.replace(/\/+$/, '')}${wellKnown}` !== url.href) {
    throw refused(`${url.href} belongs to another issuer: ${issuer.slice(0, 200)}`);
  }
  const authorizationUrl = textOf(document['authorization_endpoint']);
  const deviceAuthorizationUrl = textOf(document['device_authorization_endpoint']);
  const keysUrl = textOf(document['jwks_uri']);
  const places = textsOf(document['token_endpoint_auth_methods_supported']);
  const isPostOnly =
    places.includes('client_secret_post') && !places.includes('client_secret_basic');
  return {
    issuer,
    tokenUrl,
    ...present({ authorizationUrl, deviceAuthorizationUrl, keysUrl }),
    grants: textsOf(document['grant_types_supported']),
    secretPlace: isPostOnly ? 'post' : 'basic',
  };
}

/**
 * OpenID Connect Core 1.0, section 3.1.3.7: verifies the ID token and returns its subject. Undefined
 * without an ID token; rejects an invalid one.
 */
export async function identityOf(
  { id_token: token }: TokenAnswer,
  expected: {
    readonly provider: OpenIdProvider;
    readonly clientId: string;
    readonly nonce?: string;
    readonly fetch: Fetch;
  },
): Promise<string | undefined> {
  if (typeof token !== 'string') return undefined;
  const { provider, clientId, nonce, fetch } = expected;
  if (provider.keysUrl === undefined) {
    throw refused(`${provider.issuer} publishes no keys to verify ID tokens`);
  }
  const { createRemoteJWKSet, customFetch, jwtVerify } = await import('jose');
  const keys = createRemoteJWKSet(protectedUrl(provider.keysUrl), { [customFetch]: fetch });
  const { payload } = await jwtVerify(token, keys, {
    issuer: provider.issuer,
    audience: clientId,
    clockTolerance: 60,
  }).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : 'unknown failure';
    throw refused(`${provider.issuer} issued an invalid ID token: ${why}`);
  });
  if (nonce !== undefined && payload['nonce'] !== nonce) {
    throw refused(`${provider.issuer} issued an ID token for another login`);
  }
  return payload.sub;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

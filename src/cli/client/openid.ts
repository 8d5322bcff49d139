import type { JWK } from 'jose';
import { z } from 'zod';
import { present } from '../../config/index.ts';
import { errorMessage, isJsonObject } from '../../protocol/index.ts';
import { fetchJson, protectedUrl, refused, type TokenAnswer, type TokenRequest } from './oauth.ts';
import type { StoredToken } from './tokens.ts';

/** The metadata of an OpenID provider. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly authorizationUrl?: string;
  readonly deviceAuthorizationUrl?: string;
  readonly keysUrl?: string;
  readonly grants: readonly string[];
  readonly authMethod: NonNullable<StoredToken['authMethod']>;
}

const text = z.string().min(1);
const optional = text.optional().catch(undefined);
const metadata = z.object({
  issuer: text,
  token_endpoint: text,
  authorization_endpoint: optional,
  device_authorization_endpoint: optional,
  jwks_uri: optional,
  grant_types_supported: z.array(z.string()).catch([]),
  token_endpoint_auth_methods_supported: z.array(z.string()).catch([]),
});

const keySet = z.object({ keys: z.array(z.custom<JWK>(isJsonObject)) });

const wellKnown = '/.well-known/openid-configuration';

/**
 * OpenID Connect Discovery 1.0, section 4: fetches the endpoints of a provider. The metadata must name
 * the issuer it was fetched from, or any host could claim to be it (section 4.3).
 */
export async function discover(
  address: string,
  fetching: Pick<TokenRequest, 'fetch' | 'signal'>,
): Promise<OpenIdProvider> {
  const url = protectedUrl(address);
  // A card may name the issuer instead of the URL of its metadata.
  if (!url.pathname.includes('/.well-known/')) {
    url.pathname = `${url.pathname.replace(/\/+$/, '')}${wellKnown}`;
  }
  const { isOk, status, answer } = await fetchJson(url.href, fetching);
  if (!isOk) throw refused(`${url.href} answered ${status}: it is not an OpenID provider`);
  const parsed = metadata.safeParse(answer);
  if (!parsed.success) throw refused(`${url.href} is not the metadata of an OpenID provider`);
  const { issuer, token_endpoint: tokenUrl, ...more } = parsed.data;
  if (`${issuer.replace(/\/+$/, '')}${wellKnown}` !== url.href) {
    throw refused(`${url.href} belongs to another issuer: ${issuer.slice(0, 200)}`);
  }
  const methods = more.token_endpoint_auth_methods_supported;
  const isPostOnly =
    methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
  return {
    issuer,
    tokenUrl,
    ...present({
      authorizationUrl: more.authorization_endpoint,
      deviceAuthorizationUrl: more.device_authorization_endpoint,
      keysUrl: more.jwks_uri,
    }),
    grants: more.grant_types_supported,
    authMethod: isPostOnly ? 'client_secret_post' : 'client_secret_basic',
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
    readonly nonce: string | undefined;
    readonly fetch: typeof globalThis.fetch;
    readonly signal: AbortSignal;
  },
): Promise<string | undefined> {
  if (typeof token !== 'string') return undefined;
  const { provider, clientId, nonce } = expected;
  if (provider.keysUrl === undefined) {
    throw refused(`${provider.issuer} publishes no keys to verify ID tokens`);
  }
  const { href } = protectedUrl(provider.keysUrl);
  const published = keySet.safeParse((await fetchJson(href, expected)).answer);
  if (!published.success) throw refused(`${href} is not a set of keys`);
  const { createLocalJWKSet, jwtVerify } = await import('jose');
  const { payload } = await jwtVerify(token, createLocalJWKSet(published.data), {
    issuer: provider.issuer,
    audience: clientId,
    clockTolerance: 60,
  }).catch((cause: unknown) => {
    const why = errorMessage(cause);
    throw refused(`${provider.issuer} issued an invalid ID token: ${why}`);
  });
  if (nonce !== undefined && payload['nonce'] !== nonce) {
    throw refused(`${provider.issuer} issued an ID token for another login`);
  }
  return payload.sub;
}

import { LegateError } from '../protocol/index.ts';
import type { ApiKeys } from './api-keys.ts';
import {
  type AuthRequest,
  CredentialRefused,
  maxCredentialLength,
  singleHeader,
} from './auth-request.ts';
import { digestOf } from './secrets.ts';
import { checkIdentity, type Identity, toCaller, type Verifier } from './verifier.ts';

/**
 * Which keys hold, and where they travel.
 * @example
 * const options: ApiKeyVerifierOptions = {
 *   keys: [{ key: process.env.PARTNER_KEY ?? '', subject: 'partner', scopes: ['orders:read'] }],
 *   stored: new ApiKeys({ records: store.records }), // asked for what is not among `keys`
 * };
 */
export interface ApiKeyVerifierOptions {
  /** Keys fixed by the configuration. They are never stored. */
  readonly keys?: readonly (Identity & { readonly key: string })[];
  /** Keys made and revoked while the server runs. */
  readonly stored?: ApiKeys;
  /** @default 'X-Api-Key' */
  readonly header?: string;
  /** A query parameter that may hold the key instead. Addresses end up in logs: prefer the header. */
  readonly queryParameter?: string;
  /** In the card. @default 'apiKey' */
  readonly schemeName?: string;
}

/**
 * Accepts API keys, each of which stands for an identity.
 * @example apiKeyVerifier({ stored: new ApiKeys({ records: store.records }) })
 */
export function apiKeyVerifier(options: ApiKeyVerifierOptions): Verifier {
  const { header = 'X-Api-Key', queryParameter, schemeName = 'apiKey', stored } = options;
  const name = header.toLowerCase();
  const fixed = new Map(
    (options.keys ?? []).map(({ key, ...identity }) => {
      if (key === '') throw new LegateError('CONFIGURATION_INVALID', 'an API key is empty');
      checkIdentity(identity, 'API key');
      return [digestOf(key), toCaller('api-key', identity)];
    }),
  );
  const read = (request: AuthRequest): string | undefined => {
    const fromHeader = singleHeader(request, name);
    if (fromHeader !== undefined || queryParameter === undefined) return fromHeader;
    return request.query?.get(queryParameter) ?? undefined;
  };
  return {
    method: 'api-key',
    challenge: 'ApiKey',
    schemes: {
      [schemeName]: { apiKeySecurityScheme: { location: 'header', name: header } },
      ...(queryParameter !== undefined && {
        [`${schemeName}Query`]: {
          apiKeySecurityScheme: { location: 'query' as const, name: queryParameter },
        },
      }),
    },
    async verify(request) {
      const key = read(request);
      if (key === undefined) return undefined;
      if (key === '' || key.length > maxCredentialLength)
        throw new CredentialRefused('unusable key');
      const known = fixed.get(digestOf(key));
      if (known !== undefined) return known;
      const record = await stored?.find(key);
      if (record === undefined) throw new CredentialRefused('unknown key');
      return toCaller('api-key', record);
    },
  };
}

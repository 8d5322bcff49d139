import { z } from 'zod';
import { allowedName } from '../../config/index.ts';
import { publicKeySource } from '../../auth/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { publicKeySet, signingKeyFiles } from '../../push/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import type { UnsignedSender } from '../exchange.ts';
import { MessageSigner } from './signer.ts';
import { MessageVerifier, type TrustedIssuer } from './verifier.ts';

/**
 * Our identity on the bus, and the trusted senders.
 * @example
 * const identity: BusIdentity = { signer, verifier, requireSigned: true };
 * await using network = await joinPeers({ name: 'desk', store, links: [busLink({ bus, ...identity })] });
 */
export interface BusIdentity {
  readonly signer?: MessageSigner;
  readonly verifier?: MessageVerifier;
  readonly requireSigned?: boolean;
  readonly unsigned?: readonly UnsignedSender[];
}

const file = z.string().min(1).optional();

const schema = z.looseObject({
  signing_key: z.string().min(1).optional(),
  trusted: z
    .array(
      z.strictObject({
        issuer: z.string().min(1),
        keys: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(100)]).optional(),
        jwks_url: z.string().min(1).optional(),
        openid_issuer: z.string().min(1).optional(),
        /** How keys are fetched. */
        tls: z.strictObject({ ca: file, cert: file, key: file }).optional(),
        allowed_names: z.array(z.string().toLowerCase().regex(allowedName)).max(100).optional(),
        unsigned: z.boolean().optional(),
        may_vouch: z.boolean().optional(),
        scopes: z.array(z.string().min(1)).max(1_000).optional(),
      }),
    )
    .max(1_000)
    .optional(),
  require_signed: z.boolean().optional(),
});

/**
 * Reads the keys in the section `bus` of a configuration:
 *
 * - `signing_key`: a file with a private key, PEM or JWK.
 * - `trusted`: a list of `{ issuer, keys, may_vouch?, scopes? }`. `keys` names files with public keys, PEM or
 *   JWKS. `jwks_url` or `openid_issuer` replaces it with keys that are published; `tls` and `allowed_names`
 *   configure how those are fetched. `{ issuer, unsigned: true, scopes? }` trusts a sender without keys.
 * - `require_signed`: refuses messages without a token.
 *
 * Changed files are read again. Paths are relative to `directory`. Our own messages are signed as `issuer`.
 * Throws `CONFIGURATION_INVALID` with the invalid key, never with its value.
 * @example
 * const section = { signing_key: 'alice.pem', trusted: [{ issuer: 'bob', keys: 'bob.json' }] };
 * const identity = await readBusIdentity(section, { directory: 'keys', issuer: 'alice' });
 * await using host = await hostOnBus(agent, { bus, ...identity });
 */
export async function readBusIdentity(
  section: unknown,
  options: {
    readonly directory: string;
    readonly issuer: string;
    /** Logs reloaded keys. */
    readonly logger?: Logger;
  },
): Promise<BusIdentity> {
  const parsed = schema.safeParse(section);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${['bus', ...path].join('.')}: ${message}`,
    );
    throw invalidConfiguration(problems.join('; '));
  }
  const { signing_key: keyFile, trusted, require_signed: requireSigned } = parsed.data;
  const { logger = defaultLogger } = options;
  const issuers: TrustedIssuer[] = [];
  const unsigned: UnsignedSender[] = [];
  for (const [index, entry] of (trusted ?? []).entries()) {
    const { issuer, scopes, may_vouch: mayVouch, jwks_url: jwksUrl } = entry;
    const { keys = [], openid_issuer: openIdIssuer } = entry;
    const key = `bus.trusted[${index}]`;
    const { tls, allowed_names: allowedNames } = entry;
    const places = { keys: [keys].flat(), jwksUrl, openIdIssuer, tls, allowedNames };
    const hasKeys = places.keys.length > 0 || jwksUrl !== undefined || openIdIssuer !== undefined;
    if (hasKeys === (entry.unsigned === true)) {
      throw invalidConfiguration(
        `${key}.keys: set its public keys (keys, jwks_url or openid_issuer), or unsigned: true, not both`,
      );
    }
    if (!hasKeys) {
      if (mayVouch === true)
        throw invalidConfiguration(`${key}: a sender without keys can't vouch for others`);
      unsigned.push({ name: issuer, ...(scopes !== undefined && { scopes }) });
      continue;
    }
    issuers.push({
      issuer,
      keys: publicKeySource(places, {
        what: `${key}.keys`,
        settings: {
          keys: `${key}.keys`,
          jwksUrl: `${key}.jwks_url`,
          openIdIssuer: `${key}.openid_issuer`,
        },
        directory: options.directory,
        logger,
      }),
      ...(mayVouch !== undefined && { mayVouch }),
      ...(scopes !== undefined && { scopes }),
    });
  }
  if (requireSigned === true && trusted === undefined) {
    throw invalidConfiguration(
      'bus.require_signed: no issuer is trusted; add at least one in bus.trusted',
    );
  }
  const { directory } = options;
  const keys =
    keyFile === undefined
      ? undefined
      : signingKeyFiles([keyFile], { directory, logger, what: 'bus.signing_key' });
  const key = keys && { current: async () => (await keys.current())[0] };
  const isListed = issuers.some(({ issuer }) => issuer === options.issuer);
  if (key !== undefined && issuers.length > 0 && !isListed) {
    // Other processes of this agent sign its announcements with the same issuer.
    issuers.push({
      issuer: options.issuer,
      keys: { current: async () => publicKeySet([await key.current()]) },
    });
  }
  return {
    ...(key !== undefined && { signer: new MessageSigner({ issuer: options.issuer, key }) }),
    ...(issuers.length > 0 && { verifier: new MessageVerifier({ trusted: issuers }) }),
    ...(unsigned.length > 0 && { unsigned }),
    ...(requireSigned !== undefined && { requireSigned }),
  };
}

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { LegateError, parseJson } from '../../protocol/index.ts';
import { readSigningKey } from '../../push/index.ts';
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
}

const schema = z.looseObject({
  signing_key: z.string().min(1).optional(),
  trusted: z
    .array(
      z.strictObject({
        issuer: z.string().min(1),
        keys: z.string().min(1),
        may_vouch: z.boolean().optional(),
        scopes: z.array(z.string().min(1)).max(1_000).optional(),
      }),
    )
    .max(1_000)
    .optional(),
  require_signed: z.boolean().optional(),
});

const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

/**
 * Reads the keys in the section `bus` of a configuration: `signing_key` (a file with a private
 * key, PEM or JWK), `trusted` (a list of `{ issuer, keys, may_vouch?, scopes? }`, where `keys` is a file with
 * a public key set) and `require_signed`. Paths are relative to `directory`; our own messages are
 * signed as `issuer`. Throws `CONFIGURATION_INVALID` with the key at fault, and never with a value.
 * @example
 * const section = { signing_key: 'alice.pem', trusted: [{ issuer: 'bob', keys: 'bob.json' }] };
 * const identity = await readBusIdentity(section, { directory: 'keys', issuer: 'alice' });
 * await using host = await hostOnBus(agent, { bus, ...identity });
 */
export async function readBusIdentity(
  section: unknown,
  options: { readonly directory: string; readonly issuer: string },
): Promise<BusIdentity> {
  const parsed = schema.safeParse(section);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${['bus', ...path].join('.')}: ${message}`,
    );
    throw new LegateError('CONFIGURATION_INVALID', problems.join('; '));
  }
  const { signing_key: keyFile, trusted, require_signed: requireSigned } = parsed.data;
  const read = (key: string, file: string): Promise<string> =>
    readFile(resolve(options.directory, file), 'utf8').catch((cause: unknown) => {
      throw invalid(`${key}: the file ${file} can't be read`, cause);
    });
  const issuers: TrustedIssuer[] = [];
  for (const [index, { issuer, keys, scopes, may_vouch: mayVouch }] of (trusted ?? []).entries()) {
    const key = `bus.trusted[${index}].keys`;
    issuers.push({
      issuer,
      keys: readKeySet(key, keys, await read(key, keys)),
      ...(mayVouch !== undefined && { mayVouch }),
      ...(scopes !== undefined && { scopes }),
    });
  }
  if (requireSigned === true && trusted === undefined) {
    throw invalid('bus.require_signed: no issuer is trusted; add at least one in bus.trusted');
  }
  return {
    ...(keyFile !== undefined && {
      signer: new MessageSigner({
        issuer: options.issuer,
        key: readSigningKey(await read('bus.signing_key', keyFile)),
      }),
    }),
    ...(trusted !== undefined && { verifier: new MessageVerifier({ trusted: issuers }) }),
    ...(requireSigned !== undefined && { requireSigned }),
  };
}

function readKeySet(key: string, file: string, text: string): JSONWebKeySet {
  try {
    return keySet.parse(parseJson(text));
  } catch (cause) {
    throw invalid(`${key}: ${file} is not a public key set (JWKS)`, cause);
  }
}

function invalid(message: string, cause?: unknown): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message, { cause });
}

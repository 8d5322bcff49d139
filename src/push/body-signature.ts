import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
} from 'node:crypto';
import { createLocalJWKSet, FlattenedSign, flattenedVerify, type JSONWebKeySet } from 'jose';
import { invalidConfiguration, LegateError } from '../protocol/index.ts';

/** Signed in addition to the body: audience, time and id of the delivery. */
interface SignedFacts {
  /** The address of the webhook, so that one receiver cannot replay the call to another. */
  readonly audience: string;
  /** The delivery's `Idempotency-Key`. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Signs the bodies of webhook calls, so that receivers can detect forgeries.
 * @example
 * const answer = async (signer: BodySigner) => Response.json(await signer.jwks()); // at /.well-known/jwks.json
 */
export interface BodySigner {
  /** The value of `X-A2A-Signature`: a JWS with the body as detached payload. */
  sign(body: string, facts: SignedFacts): Promise<string>;
  /** The keys that receivers verify with. */
  jwks(): Promise<PublicKeySet>;
}

/**
 * Signs with the first key. The other keys are published, too, so that receivers can verify signatures
 * during a rotation.
 * @example bodySigner([readSigningKey(pem)])
 */
export function bodySigner(keys: readonly [SigningKey, ...SigningKey[]]): BodySigner {
  const [key] = keys;
  return {
    async sign(body, { audience, id, now }) {
      const jws = await new FlattenedSign(new TextEncoder().encode(body))
        .setProtectedHeader({
          alg: key.algorithm,
          kid: key.kid,
          typ: 'JOSE',
          aud: audience,
          iat: Math.floor(now / 1_000),
          jti: id,
        })
        .sign(key.privateKey);
      return `${jws.protected}..${jws.signature}`;
    },
    jwks: async () => publicKeySet(keys),
  };
}

/**
 * Keys and audience that a signature must have.
 * @example
 * const options: VerifyBodyOptions = {
 *   keys, audience: 'https://shop.example.com/hooks/a2a', now: Date.now(),
 *   maxAge: 300_000, // five minutes are enough: each attempt is signed anew
 * };
 */
export interface VerifyBodyOptions {
  /** The sender's keys, from its `/.well-known/jwks.json`, fetched from an address you trust. */
  readonly keys: PublicKeySet | JSONWebKeySet;
  /** The address under which you registered the webhook. */
  readonly audience: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Milliseconds: the maximum age of a signature, retries included. @default 86_400_000 */
  readonly maxAge?: number;
}

/**
 * For receivers: checks `X-A2A-Signature` against the received body. Rejects with
 * `UNAUTHENTICATED`; resolves with the id of the delivery, by which receivers detect duplicates.
 * @example const { id } = await verifyBodySignature(request.headers['x-a2a-signature'], body, { keys, audience, now });
 */
export async function verifyBodySignature(
  signature: string,
  body: string | Uint8Array,
  options: VerifyBodyOptions,
): Promise<{ readonly id: string }> {
  const [header = '', empty, tag = ''] = signature.split('.');
  const payload = Buffer.from(body).toString('base64url');
  const keys = localKeySet(options.keys);
  const result = await flattenedVerify({ protected: header, payload, signature: tag }, keys, {
    algorithms: ['ES256', 'ES384', 'ES512', 'PS256', 'RS256', 'EdDSA'],
  }).catch((error: unknown) => {
    throw refused(error);
  });
  const { aud, iat, jti } = result.protectedHeader ?? {};
  const age = options.now - (typeof iat === 'number' ? iat * 1_000 : -Infinity);
  const isFresh = age <= (options.maxAge ?? 86_400_000) && age > -60_000;
  if (empty !== '' || aud !== options.audience || !isFresh || typeof jti !== 'string') {
    throw refused(undefined);
  }
  return { id: jti };
}

function refused(cause: unknown): LegateError {
  return new LegateError('UNAUTHENTICATED', 'the signature of the webhook call is not valid', {
    cause,
  });
}

/**
 * How bodies and cards are signed.
 * @example const algorithm: SigningAlgorithm = 'RS256'; // the default for RSA keys is PS256
 */
export type SigningAlgorithm = 'ES256' | 'ES384' | 'ES512' | 'PS256' | 'RS256' | 'EdDSA';

/**
 * A private key of this process, with the id and algorithm under which its public half is published.
 * @example const keys: [SigningKey, SigningKey] = [readSigningKey(newPem), readSigningKey(oldPem)];
 */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
}

/**
 * The public halves of keys, as served at `/.well-known/jwks.json`.
 * @example
 * const answer = await fetch('https://agent.example.com/.well-known/jwks.json');
 * const keys = (await answer.json()) as PublicKeySet;
 */
export interface PublicKeySet {
  readonly keys: readonly (PublicJwk & {
    readonly kid: string;
    readonly alg: SigningAlgorithm;
    readonly use: 'sig';
  })[];
}

/** Members of a public key (RFC 7518, 6). */
type PublicJwk = {
  readonly [Name in 'crv' | 'e' | 'kty' | 'n' | 'x' | 'y']?: string;
};

interface SigningKeyOptions {
  /** @default the key's thumbprint (RFC 7638) */
  readonly kid?: string;
  /** @default by the kind of key: ES256, ES384, ES512, PS256 or EdDSA */
  readonly algorithm?: SigningAlgorithm;
}

/**
 * Reads a private key: PEM, or a JSON Web Key as text.
 * @example readSigningKey(await readFile('card-key.pem', 'utf8'), { kid: '2026-11' })
 */
export function readSigningKey(text: string, options: SigningKeyOptions = {}): SigningKey {
  let privateKey: KeyObject;
  try {
    privateKey = text.trimStart().startsWith('{')
      ? createPrivateKey({ key: JSON.parse(text), format: 'jwk' })
      : createPrivateKey(text);
  } catch {
    // The parser's error message could quote the key.
    throw invalid('is not a private key in PEM or JWK form');
  }
  return fromPrivateKey(privateKey, options);
}

/**
 * Generates an ES256 key. It is not stored: after a restart, receivers get a new key.
 * @example const key = generateSigningKey();
 */
export function generateSigningKey(options: Pick<SigningKeyOptions, 'kid'> = {}): SigningKey {
  return fromPrivateKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, options);
}

/**
 * Keys for verification. Passes a copy to jose, which caches imported keys by object.
 * @example await jwtVerify(token, localKeySet(publicKeySet([key])));
 */
export function localKeySet(
  keys: PublicKeySet | JSONWebKeySet,
): ReturnType<typeof createLocalJWKSet> {
  return createLocalJWKSet(JSON.parse(JSON.stringify(keys)));
}

/**
 * The public keys, for verifiers.
 * @example response.end(JSON.stringify(publicKeySet([key])));
 */
export function publicKeySet(keys: readonly SigningKey[]): PublicKeySet {
  return {
    keys: keys.map(({ kid, algorithm, privateKey }) => ({
      ...createPublicKey(privateKey).export({ format: 'jwk' }),
      kid,
      alg: algorithm,
      use: 'sig',
    })),
  };
}

function fromPrivateKey(privateKey: KeyObject, options: SigningKeyOptions): SigningKey {
  const fitting = algorithmsOf(privateKey);
  const algorithm = options.algorithm ?? fitting[0];
  if (algorithm === undefined || !fitting.includes(algorithm)) {
    const wanted = fitting.length === 0 ? 'an EC, RSA or Ed25519 key' : fitting.join(' or ');
    throw invalid(`does not fit ${options.algorithm ?? 'any algorithm'}; use ${wanted}`);
  }
  return { kid: options.kid ?? thumbprint(privateKey), algorithm, privateKey };
}

function algorithmsOf(key: KeyObject): readonly SigningAlgorithm[] {
  const details = key.asymmetricKeyDetails;
  switch (key.asymmetricKeyType) {
    case 'ec':
      if (details?.namedCurve === 'prime256v1') return ['ES256'];
      if (details?.namedCurve === 'secp384r1') return ['ES384'];
      return details?.namedCurve === 'secp521r1' ? ['ES512'] : [];
    case 'rsa':
      if ((details?.modulusLength ?? 0) < 2_048) throw invalid('is an RSA key below 2048 bits');
      return ['PS256', 'RS256'];
    case 'ed25519':
      return ['EdDSA'];
    default:
      return [];
  }
}

/** RFC 7638: SHA-256 over the required members in the order of their names. */
function thumbprint(privateKey: KeyObject): string {
  const { crv, e, kty, n, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  const members = JSON.stringify({ crv, e, kty, n, x, y });
  return hash('sha256', members, 'base64url');
}

function invalid(what: string): LegateError {
  return invalidConfiguration(`the signing key ${what}`);
}

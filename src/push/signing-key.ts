import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { LegateError } from '../protocol/index.ts';

/**
 * How bodies and cards are signed.
 * @example const algorithm: SigningAlgorithm = 'RS256'; // RSA keys sign with PS256 unless told
 */
export type SigningAlgorithm = 'ES256' | 'ES384' | 'ES512' | 'PS256' | 'RS256' | 'EdDSA';

/**
 * A private key of our own, with the name and algorithm under which others know its public half.
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
  readonly keys: readonly (JsonWebKey & {
    readonly kid: string;
    readonly alg: SigningAlgorithm;
    readonly use: 'sig';
  })[];
}

export interface SigningKeyOptions {
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
      ? createPrivateKey({ key: JSON.parse(text) as JsonWebKey, format: 'jwk' })
      : createPrivateKey(text);
  } catch {
    // The parser's own words could quote the key.
    throw invalid('is not a private key in PEM or JWK form');
  }
  return fromPrivateKey(privateKey, options);
}

/**
 * Makes a new ES256 key. It lasts as long as the process: receivers see another after a restart.
 * @example const key = generateSigningKey();
 */
export function generateSigningKey(options: Pick<SigningKeyOptions, 'kid'> = {}): SigningKey {
  return fromPrivateKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, options);
}

/**
 * The public halves of keys, for those who verify.
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
  return createHash('sha256').update(members).digest('base64url');
}

function invalid(what: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', `the signing key ${what}`);
}

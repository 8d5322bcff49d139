import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { pemBlocks } from '../net/index.ts';
import { invalidConfiguration, LegateError } from '../protocol/index.ts';

/**
 * All accepted algorithms; never `none`.
 * @example jwtAlgorithms.includes('RS256');
 */
export const jwtAlgorithms = [
  'HS256',
  'HS512',
  'RS256',
  'RS512',
  'ES256',
  'ES512',
  'PS256',
] as const;
/**
 * A signature algorithm of tokens.
 * @example
 * const algorithms: readonly JwtAlgorithm[] = ['ES256', 'PS256']; // HS256 cannot stand beside them
 */
export type JwtAlgorithm = (typeof jwtAlgorithms)[number];

/** Maximum number of keys of one source that are tried for one token. */
export const maxKeys = 100;

interface PublicKey {
  readonly key: KeyObject;
  /** When its certificate expires, in milliseconds since 1970. */
  readonly notAfter?: number;
}

interface PemText {
  readonly pem: string;
  readonly path?: string;
}

/** Parses the keys of all texts. Each key must fit an algorithm, and each algorithm must have a key. */
export function publicKeys(
  texts: readonly PemText[],
  algorithms: readonly JwtAlgorithm[],
  clock: { now(): number },
): readonly PublicKey[] {
  const keys = texts.flatMap((text) => {
    const where = text.path === undefined ? 'the public key' : `the public key of ${text.path}`;
    const found = keysIn(text.pem, where);
    for (const { key } of found) {
      if (algorithms.some((algorithm) => fits(key, algorithm))) continue;
      const [first = 'RS256'] = algorithms;
      throw invalid(
        `${where} does not fit ${algorithms.join(' or ')}: it is ${described(key)}, and ${first} needs ${neededKeys[first]}`,
      );
    }
    return found;
  });
  const [first] = keys;
  const misfit = algorithms.find((algorithm) => !keys.some(({ key }) => fits(key, algorithm)));
  if (misfit !== undefined && first !== undefined) {
    throw invalid(
      `the public key does not fit ${misfit}: it is ${described(first.key)}, and ${misfit} needs ${neededKeys[misfit]}`,
    );
  }
  if (keys.length > maxKeys)
    throw invalid(`there are ${keys.length} keys; at most ${maxKeys} are tried`);
  if (keys.every((key) => isExpired(key, clock))) throw invalid(allExpired);
  return keys;
}

export const allExpired =
  'the certificate of every public key has expired; replace it with a new one';

export function keysIn(
  pem: string,
  where: string,
  refuse: (what: string) => LegateError = invalid,
): readonly PublicKey[] {
  if (pem.includes('PRIVATE KEY')) throw refuse('this is a private key; give the public one only');
  const { blocks, isCutOff } = pemBlocks(pem);
  if (isCutOff) throw refuse(`${where} is cut off: a PEM block has no end`);
  if (blocks.length === 0) throw refuse(`${where} is not a PEM public key or certificate`);
  try {
    const found = blocks.map(({ text, label }) => {
      if (label !== 'CERTIFICATE') return { key: createPublicKey(text), isAuthority: false };
      const certificate = new X509Certificate(text);
      return {
        key: certificate.publicKey,
        isAuthority: certificate.ca,
        notAfter: Date.parse(certificate.validTo),
      };
    });
    // In a certificate chain, only the leaf certificate has the key of the token's signer.
    const signers = found.filter(({ isAuthority }) => !isAuthority);
    return signers.length === 0 ? found : signers;
  } catch {
    throw refuse(`${where} is not a PEM public key or certificate`);
  }
}

export function isExpired(
  { notAfter }: Pick<PublicKey, 'notAfter'>,
  clock: { now(): number },
): boolean {
  return notAfter !== undefined && notAfter <= clock.now();
}

export function fitting(
  keys: readonly PublicKey[],
  algorithm: string,
  clock: { now(): number },
): readonly KeyObject[] {
  return keys
    .filter(
      (one) =>
        !isExpired(one, clock) &&
        jwtAlgorithms.some((known) => known === algorithm && fits(one.key, known)),
    )
    .map(({ key }) => key);
}

const rsa = 'an RSA key of at least 2048 bits';
const neededKeys: Readonly<Record<JwtAlgorithm, string>> = {
  HS256: 'a secret',
  HS512: 'a secret',
  RS256: rsa,
  RS512: rsa,
  PS256: rsa,
  ES256: 'an EC key on the curve P-256',
  ES512: 'an EC key on the curve P-521',
};

function described({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  const type = asymmetricKeyType ?? 'unknown';
  const { namedCurve, modulusLength } = asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined) return `of type ${type} with ${modulusLength} bits`;
  return namedCurve === undefined
    ? `of type ${type}`
    : `of type ${type} on the curve ${namedCurve}`;
}

function fits(key: KeyObject, algorithm: JwtAlgorithm): boolean {
  const details = key.asymmetricKeyDetails;
  switch (algorithm) {
    case 'ES256':
      return details?.namedCurve === 'prime256v1';
    case 'ES512':
      return details?.namedCurve === 'secp521r1';
    case 'RS256':
    case 'RS512':
    case 'PS256':
      return key.asymmetricKeyType === 'rsa' && (details?.modulusLength ?? 0) >= 2_048;
    case 'HS256':
    case 'HS512':
      return false;
  }
}

export function invalid(what: string): LegateError {
  return invalidConfiguration(`jwt: ${what}`);
}

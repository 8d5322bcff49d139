import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import { isJsonObject, LegateError } from '../protocol/index.ts';
import type { GuardedFetch } from '../push/index.ts';
import { Deadline } from '../time/index.ts';

/**
 * All algorithms that are taken; never `none`.
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
 * How a token may be signed.
 * @example
 * const algorithms: readonly JwtAlgorithm[] = ['ES256', 'PS256']; // HS256 cannot stand beside them
 */
export type JwtAlgorithm = (typeof jwtAlgorithms)[number];

/**
 * Where the keys come from that tokens are verified with.
 * @example
 * const keys: JwtKeySource = { jwksUrl: 'https://login.example.com/.well-known/jwks.json' };
 * const verifier = await jwtVerifier({ keys, issuer: 'https://login.example.com' });
 */
export type JwtKeySource =
  /** For HS256 (at least 32 bytes) and HS512 (at least 64). */
  | { readonly secret: string }
  /** A public key or certificate, PEM. */
  | { readonly publicKey: string }
  | { readonly publicKeyFile: string }
  | { readonly jwks: JSONWebKeySet }
  | { readonly jwksUrl: string }
  /** An OpenID Connect issuer: its keys are found by discovery, its name is required of tokens. */
  | { readonly openIdIssuer: string };

interface KeyFetching {
  readonly fetch: GuardedFetch;
  readonly clock: { now(): number };
  /** Milliseconds that fetched keys are used without asking again. */
  readonly cacheTime: number;
  /** Milliseconds between two fetches for a key that was not among the known ones. */
  readonly cooldown: number;
  /** Milliseconds that old keys are used on when the issuer cannot be reached. */
  readonly staleTime: number;
}

/** The key for a token. Fixed keys are read and checked at once, fetched ones with the first token. */
export async function loadKeys(
  source: JwtKeySource,
  algorithms: readonly JwtAlgorithm[],
  fetching: KeyFetching,
): Promise<JWTVerifyGetKey> {
  if (algorithms.length === 0) throw invalid('name at least one algorithm');
  const symmetric = algorithms.filter((algorithm) => algorithm.startsWith('HS'));
  // With both kinds allowed, a token could be signed with the public key as if it were a secret.
  if (symmetric.length > 0 && symmetric.length < algorithms.length) {
    throw invalid('HS256 and HS512 cannot be combined with algorithms that use public keys');
  }
  if ('secret' in source !== symmetric.length > 0) {
    throw invalid(
      symmetric.length > 0
        ? `${algorithms.join(', ')} needs a secret`
        : `${algorithms.join(', ')} needs a public key; a secret is for HS256 and HS512`,
    );
  }
  if ('secret' in source) return fixed(secretKey(source.secret, algorithms));
  if ('publicKey' in source) return fixed(publicKey(source.publicKey, algorithms));
  if ('publicKeyFile' in source) {
    const text = await readFile(source.publicKeyFile, 'utf8').catch((cause: unknown) => {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        `the public key file ${source.publicKeyFile} cannot be read`,
        { cause },
      );
    });
    return fixed(publicKey(text, algorithms));
  }
  if ('jwks' in source) return createLocalJWKSet(structuredClone(source.jwks));
  if ('jwksUrl' in source) return remoteKeys(source.jwksUrl, fetching);
  return discoverKeys(source.openIdIssuer, fetching);
}

function fixed(key: KeyObject): JWTVerifyGetKey {
  return () => key;
}

/** RFC 7518, 3.2: a key as long as the hash, or longer. */
function secretKey(secret: string, algorithms: readonly JwtAlgorithm[]): KeyObject {
  const wanted = algorithms.includes('HS512') ? 64 : 32;
  const bytes = Buffer.from(secret);
  if (bytes.length < wanted) {
    throw invalid(
      `the secret has ${bytes.length} bytes and needs ${wanted}; make one with "openssl rand -hex ${wanted / 2}"`,
    );
  }
  return createSecretKey(bytes);
}

function publicKey(pem: string, algorithms: readonly JwtAlgorithm[]): KeyObject {
  if (pem.includes('PRIVATE KEY')) throw invalid('this is a private key; give the public one only');
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw invalid('the public key is not a PEM public key or certificate');
  }
  const misfit = algorithms.find((algorithm) => !fits(key, algorithm));
  if (misfit !== undefined) {
    throw invalid(
      `the public key does not fit ${misfit}: it is ${described(key)}, and ${misfit} needs ${neededKeys[misfit]}`,
    );
  }
  return key;
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

function invalid(what: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', `jwt: ${what}`);
}

/** Milliseconds after a failure in which the issuer is not asked again. */
const failurePause = 5_000;

/**
 * Keys from a JWKS address: fetched once, again when a token names a key that is not among them
 * (rotation), and now and then. When the issuer cannot be reached, the old keys are used on for a
 * while, and it is not asked again with every request.
 */
function remoteKeys(url: string, fetching: KeyFetching): JWTVerifyGetKey {
  const { clock } = fetching;
  const pausing = pauseAfterFailure(clock);
  let fetchedAt = -Infinity;
  const remote: RemoteJWKSet = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: fetching.cacheTime,
    cooldownDuration: fetching.cooldown,
    timeoutDuration: 10_000,
    [customFetch]: (address, init) =>
      pausing(async () => {
        const response = await fetching.fetch(address, init);
        if (response.status !== 200) throw new Error(`answered ${response.status}`);
        fetchedAt = clock.now();
        return response;
      }),
  });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (isAboutToken(error)) throw error;
      const known = remote.jwks();
      if (known === undefined || clock.now() - fetchedAt > fetching.staleTime) {
        throw unavailable(url, error);
      }
      return createLocalJWKSet(known)(header, token);
    }
  };
}

/** Keys of an OpenID Connect issuer, whose discovery document names their address. */
function discoverKeys(issuer: string, fetching: KeyFetching): JWTVerifyGetKey {
  const pausing = pauseAfterFailure(fetching.clock);
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const discover = async (): Promise<JWTVerifyGetKey> => {
    using deadline = new Deadline({
      milliseconds: 10_000,
      reason: () => new Error('did not answer within 10 s'),
    });
    const response = await fetching.fetch(openIdConfigurationUrl(issuer), {
      headers: { accept: 'application/json' },
      signal: deadline.signal,
    });
    if (response.status !== 200) throw new Error(`answered ${response.status}`);
    const document: unknown = await response.json();
    if (!isJsonObject(document)) throw new Error('is not a JSON object');
    // OpenID Connect Discovery 4.3: otherwise one issuer could speak for another.
    if (document.issuer !== issuer) throw new Error('names another issuer');
    if (typeof document.jwks_uri !== 'string') throw new Error('names no jwks_uri');
    return remoteKeys(document.jwks_uri, fetching);
  };
  return async (header, token) => {
    keys ??= pausing(discover).catch((error: unknown) => {
      keys = undefined;
      throw unavailable(openIdConfigurationUrl(issuer), error);
    });
    return (await keys)(header, token);
  };
}

export function openIdConfigurationUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function pauseAfterFailure(clock: { now(): number }): <T>(work: () => Promise<T>) => Promise<T> {
  let failure: { readonly at: number; readonly error: unknown } | undefined;
  return async (work) => {
    if (failure !== undefined && clock.now() - failure.at < failurePause) throw failure.error;
    failure = undefined;
    try {
      return await work();
    } catch (error) {
      failure = { at: clock.now(), error };
      throw error;
    }
  };
}

/** The keys are known, and none fits the token. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

function unavailable(url: string, cause: unknown): LegateError {
  const reason = cause instanceof Error ? cause.message : 'unknown reason';
  return new LegateError(
    'UNAVAILABLE',
    `callers cannot be verified now: no keys from ${new URL(url).origin} (${reason})`,
    { cause, retryAfter: failurePause / 1_000 },
  );
}

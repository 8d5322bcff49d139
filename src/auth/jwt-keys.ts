import { createSecretKey, type KeyObject } from 'node:crypto';
import {
  createLocalJWKSet,
  errors,
  type CryptoKey,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTVerifyGetKey,
} from 'jose';
import { FileSource, readConfiguredFile } from '../net/index.ts';
import { isJsonObject, parseJson } from '../protocol/index.ts';
import { fitting, invalid, type JwtAlgorithm, maxKeys, publicKeys } from './public-keys.ts';
import { discoverKeys, type KeyFetching, remoteKeys } from './remote-keys.ts';

/**
 * The source of the keys that verify tokens.
 * @example
 * const keys: JwtKeySource = { jwksUrl: 'https://login.example.com/.well-known/jwks.json' };
 * const verifier = await jwtVerifier({ keys, issuer: 'https://login.example.com' });
 */
export type JwtKeySource =
  /** For HS256 (at least 32 bytes) and HS512 (at least 64). Any of several is accepted. */
  | { readonly secret: string | readonly string[] }
  /** Files with one secret each, read again when they change. */
  | { readonly secretFile: string | readonly string[] }
  /** Public keys or certificates, PEM. Any of several is accepted. */
  | { readonly publicKey: string }
  /** Files of public keys or certificates, PEM, read again when they change. */
  | { readonly publicKeyFile: string | readonly string[] }
  | { readonly jwks: JSONWebKeySet }
  /** A file with a key set, read again when it changes. */
  | { readonly jwksFile: string }
  | { readonly jwksUrl: string }
  /** An OpenID Connect issuer: its keys are found by discovery, and tokens must have it as `iss`. */
  | { readonly openIdIssuer: string };

/**
 * Finds the keys that can have signed a token, in the order to try them: several keys can share a `kid`,
 * or have none.
 */
export type KeyFinder = (
  header: JWTHeaderParameters,
  token: FlattenedJWSInput,
) => Promise<readonly (KeyObject | CryptoKey)[]>;

/** Reads and checks fixed keys and files at once. Remote keys are fetched with the first token. */
export function loadKeys(
  source: JwtKeySource,
  algorithms: readonly JwtAlgorithm[],
  fetching: KeyFetching,
): KeyFinder {
  if (algorithms.length === 0) throw invalid('name at least one algorithm');
  const symmetric = algorithms.filter((algorithm) => algorithm.startsWith('HS'));
  // With both kinds allowed, an attacker could sign a token with the public key as the secret.
  if (symmetric.length > 0 && symmetric.length < algorithms.length) {
    throw invalid('HS256 and HS512 cannot be combined with algorithms that use public keys');
  }
  const isSecret = 'secret' in source || 'secretFile' in source;
  if (isSecret !== symmetric.length > 0) {
    throw invalid(
      symmetric.length > 0
        ? `${algorithms.join(', ')} needs a secret`
        : `${algorithms.join(', ')} needs a public key; a secret is for HS256 and HS512`,
    );
  }
  const { clock, logger } = fetching;
  const watched = <T>(paths: readonly string[], load: () => T): FileSource<T> =>
    new FileSource({ what: 'jwt keys', paths, load, logger });
  if ('secret' in source) {
    const keys = listOf(source.secret).map((secret) => secretKey(secret, algorithms));
    return async () => keys;
  }
  if ('secretFile' in source) {
    const paths = listOf(source.secretFile);
    const file = watched(paths, () =>
      paths.map((path) =>
        secretKey(readConfiguredFile(path, 'the secret file').trimEnd(), algorithms, path),
      ),
    );
    return () => file.current();
  }
  if ('publicKey' in source) {
    const keys = publicKeys([{ pem: source.publicKey }], algorithms, clock);
    return async ({ alg }) => fitting(keys, alg, clock);
  }
  if ('publicKeyFile' in source) {
    const paths = listOf(source.publicKeyFile);
    if (paths.length === 0) throw invalid('name at least one public key file');
    const file = watched(paths, () => {
      const files = paths.map((path) => ({
        path,
        pem: readConfiguredFile(path, 'the public key file'),
      }));
      return publicKeys(files, algorithms, clock);
    });
    return async ({ alg }) => fitting(await file.current(), alg, clock);
  }
  if ('jwks' in source) return oneOrMore(createLocalJWKSet(structuredClone(source.jwks)));
  if ('jwksFile' in source) {
    const { jwksFile } = source;
    const file = watched([jwksFile], () => oneOrMore(keySetOf(jwksFile, algorithms)));
    return async (header, token) => (await file.current())(header, token);
  }
  return oneOrMore(
    'jwksUrl' in source
      ? remoteKeys(source.jwksUrl, fetching)
      : discoverKeys(source.openIdIssuer, fetching),
  );
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

/**
 * Finds the keys in a key set by `kid`. Returns all candidates if several share the `kid`, or the token
 * has none.
 */
function oneOrMore(getKey: JWTVerifyGetKey): KeyFinder {
  return async (header, token) => {
    try {
      return [asKey(await getKey(header, token))];
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      const keys: CryptoKey[] = [];
      for await (const key of error) {
        keys.push(key);
        if (keys.length === maxKeys) break;
      }
      return keys;
    }
  };
}

function asKey(key: Awaited<ReturnType<JWTVerifyGetKey>>): CryptoKey {
  if (key instanceof Uint8Array || !('algorithm' in key)) throw new TypeError('not a public key');
  return key;
}

/** RFC 7518, 3.2: the key must be at least as long as the hash. */
function secretKey(secret: string, algorithms: readonly JwtAlgorithm[], path?: string): KeyObject {
  const wanted = algorithms.includes('HS512') ? 64 : 32;
  const bytes = Buffer.from(secret);
  if (bytes.length < wanted) {
    const where = path === undefined ? '' : ` of ${path}`;
    throw invalid(
      `the secret${where} has ${bytes.length} bytes and needs ${wanted}; make one with "openssl rand -hex ${wanted / 2}"`,
    );
  }
  return createSecretKey(bytes);
}

/** Throws for a key set that can't verify any token, and for private keys. */
function keySetOf(path: string, algorithms: readonly JwtAlgorithm[]): JWTVerifyGetKey {
  const text = readConfiguredFile(path, 'the key set file');
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw invalid(`the key set file ${path} is not JSON`);
  }
  const keys: unknown = isJsonObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys)) {
    throw invalid(`the key set file ${path} is not a key set; write {"keys": [...]}`);
  }
  const objects = keys.filter((key) => isJsonObject(key));
  if (objects.some((key) => 'd' in key || 'k' in key)) {
    throw invalid(`the key set file ${path} holds a private key; give the public ones only`);
  }
  const types = algorithms.map((algorithm) => (algorithm.startsWith('ES') ? 'EC' : 'RSA'));
  if (keys.length > maxKeys || !objects.some((key) => types.some((type) => key['kty'] === type))) {
    throw invalid(
      `the key set file ${path} has no key for ${algorithms.join(', ')}, or more than ${maxKeys}`,
    );
  }
  return createLocalJWKSet({
    keys: objects.flatMap((key) => {
      const { kty } = key;
      return typeof kty === 'string' ? [{ ...key, kty }] : [];
    }),
  });
}

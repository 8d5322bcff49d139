import { resolve } from 'node:path';
import type { KeyAccess } from '../config/index.ts';
import { FileSource, readConfiguredFile } from '../net/index.ts';
import {
  invalidConfiguration,
  isJsonObject,
  type LegateError,
  parseJson,
} from '../protocol/index.ts';
import { checkUrl, clientTls, type UrlPolicy, UrlRefused } from '../push/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { type CardKeys, keySetLookups, unnamedKeyLookup } from './card-signature.ts';
import { allExpired, isExpired, keysIn } from './public-keys.ts';
import { discoverKeys, keyFetching, keyPolicyFor, remoteKeys } from './remote-keys.ts';

/** The sources of public keys; keys of all of them are accepted. */
export interface PublicKeyPlaces extends KeyAccess {
  /** PEM or JWKS files, read again when they change. */
  readonly keys?: readonly string[] | undefined;
  /** The URL of a key set. */
  readonly jwksUrl?: string | undefined;
  /** An OpenID Connect issuer, whose keys are discovered. */
  readonly openIdIssuer?: string | undefined;
}

/**
 * Public keys that rotate, for signatures of cards and of messages.
 * @example const trusted: TrustedIssuer = { issuer: 'alice', keys: publicKeySource(places, options) };
 */
export interface PublicKeySource {
  /** Functions that find the key of a signature; try them in turn. */
  lookups(): Promise<readonly CardKeys[]>;
}

interface SourceOptions {
  /** Name of the keys in logs: `card keys of hotels`. */
  readonly what: string;
  /** The names of the settings, for errors. */
  readonly settings: Readonly<Record<'keys' | 'jwksUrl' | 'openIdIssuer', string>>;
  /** Relative paths start here. */
  readonly directory: string;
  readonly logger: Logger;
  /** The clock for certificates that expire. @default the system's clock */
  readonly clock?: { now(): number };
}

/** The lookup of one key, until its certificate expires. */
interface FileKey {
  readonly lookup: CardKeys;
  /** Milliseconds since 1970. */
  readonly notAfter?: number;
}

/**
 * Reads key files at once; fetches remote keys with the first signature. Throws `CONFIGURATION_INVALID`.
 * @example
 * const settings = { keys: 'keys', jwksUrl: 'jwks_url', openIdIssuer: 'openid_issuer' };
 * const options = { what: 'keys of alice', settings, directory: '.', logger };
 * const source = publicKeySource({ keys: ['alice.pem', 'alice-next.jwks.json'] }, options);
 */
export function publicKeySource(
  { keys = [], jwksUrl, openIdIssuer, tls, ...access }: PublicKeyPlaces,
  { what, settings, directory, logger, clock = { now: Date.now } }: SourceOptions,
): PublicKeySource {
  const policy = keyPolicyFor(access);
  const fetching = keyFetching({
    what,
    logger,
    policy,
    ...(tls !== undefined && { tls: clientTls(tls, { what, directory, logger }) }),
  });
  const remote: CardKeys[] = [];
  if (jwksUrl !== undefined) {
    checkKeyUrl(jwksUrl, policy, settings.jwksUrl);
    remote.push(remoteKeys(jwksUrl, fetching));
  }
  if (openIdIssuer !== undefined) {
    checkKeyUrl(openIdIssuer, policy, settings.openIdIssuer);
    remote.push(discoverKeys(openIdIssuer, fetching));
  }
  // Without files there is nothing to reload.
  if (keys.length === 0) return { lookups: async () => remote };
  const paths = keys.map((path) => resolve(directory, path));
  const isCurrent = (key: FileKey): boolean => !isExpired(key, clock);
  const files = new FileSource<readonly FileKey[]>({
    what,
    paths,
    load: () => {
      const found = paths.flatMap((path) => readKeys(path, settings.keys));
      if (!found.some(isCurrent)) throw invalidConfiguration(`${settings.keys}: ${allExpired}`);
      return found;
    },
    logger,
  });
  return {
    lookups: async () => {
      const current = (await files.current()).filter(isCurrent);
      return [...current.map(({ lookup }) => lookup), ...remote];
    },
  };
}

/** Throws `CONFIGURATION_INVALID` for a URL that the policy rejects. */
function checkKeyUrl(url: string, policy: UrlPolicy, field: string): void {
  try {
    checkUrl(url, policy, { field, code: 'CONFIGURATION_INVALID' });
  } catch (error) {
    if (!(error instanceof UrlRefused) || !error.message.includes('must be an https')) throw error;
    const host = URL.parse(url)?.hostname ?? '';
    throw invalidConfiguration(
      `${error.message}; for an issuer within the cluster, write allowed_names: [${host}] beside it`,
      error,
    );
  }
}

function readKeys(path: string, setting: string): readonly FileKey[] {
  const where = `${setting}: the file`;
  const refuse = (words: string): LegateError => invalidConfiguration(`${where} ${path} ${words}`);
  const text = readConfiguredFile(path, where);
  if (!text.trimStart().startsWith('{')) {
    const keys = keysIn(text, `${where} ${path}`, (words) => invalidConfiguration(words));
    return keys.map(({ key, notAfter }) => {
      const { kty = '', ...members } = key.export({ format: 'jwk' });
      const lookup = unnamedKeyLookup({ ...members, kty });
      return { lookup, ...(notAfter !== undefined && { notAfter }) };
    });
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw refuse('is neither PEM nor JSON');
  }
  const list: unknown = isJsonObject(value) ? (value['keys'] ?? [value]) : undefined;
  const keys = (Array.isArray(list) ? list : []).flatMap((key: unknown) =>
    isJsonObject(key) && typeof key['kty'] === 'string' ? [{ ...key, kty: key['kty'] }] : [],
  );
  if (keys.length === 0) throw refuse('contains no key; write {"keys": [...]} or PEM');
  if (keys.some((key) => 'd' in key || 'k' in key)) {
    throw refuse('contains a private key; give the public ones only');
  }
  return keySetLookups({ keys }).map((lookup) => ({ lookup }));
}

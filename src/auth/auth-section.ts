import { resolve } from 'node:path';
import { type Field, type KeyAccess, readKeyAccess, type Section } from '../config/index.ts';
import { invalidConfiguration } from '../protocol/index.ts';
import { checkUrl, clientTls, UrlRefused } from '../push/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { apiKeyVerifier } from './api-keys.ts';
import { Authenticator } from './authenticator.ts';
import type { Verifier } from './credentials.ts';
import type { JwtKeySource } from './jwt-keys.ts';
import { type JwtAlgorithm, jwtAlgorithms } from './public-keys.ts';
import { jwtVerifier } from './jwt.ts';
import { keyPolicyFor } from './remote-keys.ts';
import { mtlsVerifier } from './mtls.ts';

const methods = ['jwt', 'api_key', 'mtls'] as const;
type Method = (typeof methods)[number];

/**
 * `auth:` of a configuration: how callers authenticate.
 * @example const settings: AuthSettings = { apiKeysPath: 'keys.json', require: ['api_key', 'mtls'] };
 */
export interface AuthSettings {
  readonly jwt?: JwtSettings | undefined;
  /** A file of API keys. */
  readonly apiKeysPath?: string | undefined;
  /** Callers need all of these methods. Undefined: any one is enough. */
  readonly require?: readonly Method[] | undefined;
}

interface JwtSettings extends KeyAccess {
  readonly algorithms: readonly JwtAlgorithm[];
  /** Undefined if the configuration names no key, which is an error. */
  readonly keys: JwtKeySource | undefined;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
}

/**
 * Reads `auth:`; reports problems with their position.
 * @example const settings = readAuthSection(authSection);
 */
export function readAuthSection(section: Section): AuthSettings {
  const others = ['api_keys_path', 'require'].filter((key) => section.has(key));
  if (others.length === 0) {
    section.require('type', 'write bearer');
    section.require('jwt');
  }
  section.get('type')?.oneOf(['bearer']);
  const settings: AuthSettings = {
    // Without a key no token could be verified: a missing key is an error, never anonymous access.
    jwt: section.has('jwt') ? section.mapping('jwt', readJwt) : undefined,
    apiKeysPath: section.name('api_keys_path'),
    require: section
      .get('require')
      ?.list()
      ?.flatMap((item) => item.oneOf(methods) ?? []),
  };
  checkRequired(section, settings);
  return settings;
}

/** A required method must be configured, and with `require` every configured method must be required. */
function checkRequired(section: Section, { jwt, apiKeysPath, require }: AuthSettings): void {
  const field = section.get('require');
  if (field === undefined || require === undefined) return;
  if (require.length === 0) field.error('must name at least one of jwt, api_key and mtls');
  const configurable = [
    { method: 'jwt', key: 'jwt', isConfigured: jwt !== undefined },
    { method: 'api_key', key: 'api_keys_path', isConfigured: apiKeysPath !== undefined },
  ] as const;
  for (const { method, key, isConfigured } of configurable) {
    const isRequired = require.includes(method);
    if (isRequired && !isConfigured) {
      field.error(`${method} is required but not configured`, `add auth.${key}`);
    }
    if (!isRequired && isConfigured) {
      field.error(
        `${method} is configured but missing from require, so it never authenticates a caller`,
        `add ${method} to require, or remove ${key}`,
      );
    }
  }
  if (require.includes('jwt') && require.includes('api_key')) {
    field.error('a request carries one credential', 'require jwt or api_key, and mtls');
  }
}

function readJwt(jwt: Section): JwtSettings {
  const written = jwt.get('algorithm');
  const list = jwt.get('algorithms');
  if (written !== undefined) list?.keyError('"algorithm" is there already', { hint: 'keep one' });
  const fields = list?.list() ?? (written === undefined ? [] : [written]);
  const known = fields.flatMap((field) => field.oneOf(jwtAlgorithms) ?? []);
  // The name of an unknown algorithm still shows which kind of key it needs.
  const isSymmetric = fields.some(
    ({ value }) => typeof value === 'string' && value.toUpperCase().startsWith('HS'),
  );
  const name = fields.map((field) => field.text() ?? '').join(', ') || 'RS256';
  return {
    algorithms: known.length > 0 ? known : [isSymmetric ? 'HS256' : 'RS256'],
    keys: readKeySource(jwt, { isSymmetric, name }),
    ...checkedAccess(jwt),
    issuer: jwt.name('issuer'),
    audience: jwt.name('audience'),
  };
}

function readKeySource(
  jwt: Section,
  { isSymmetric, name }: { readonly isSymmetric: boolean; readonly name: string },
): JwtKeySource | undefined {
  const publicSources = ['public_key_path', 'jwks_path', 'jwks_url', 'openid_issuer'] as const;
  const secretSources = ['secret', 'secret_path'] as const;
  const [wanted, other] = isSymmetric
    ? [secretSources, publicSources]
    : [publicSources, secretSources];
  for (const key of other) {
    jwt
      .get(key)
      ?.keyError(
        isSymmetric
          ? `${name} is verified with a secret, not with a public key`
          : `${name} is verified with a public key, not with a secret`,
      );
  }
  const [first, second] = wanted.filter((key) => jwt.has(key));
  if (first === undefined) {
    if (isSymmetric) jwt.require('secret', 'write "${JWT_SECRET}"');
    else jwt.require('public_key_path', 'name a PEM file with the public key');
  }
  if (second !== undefined) {
    jwt.get(second)?.keyError(`"${first}" is there already`, {
      hint: 'keep one; public_key_path may be a list of files',
    });
  }
  const secret = jwt.get('secret')?.secret();
  const secretFile = namesOf(jwt.get('secret_path'));
  const publicKeyFile = namesOf(jwt.get('public_key_path'));
  const jwksFile = jwt.name('jwks_path');
  const jwksUrl = jwt.name('jwks_url');
  const openIdIssuer = jwt.name('openid_issuer');
  if (isSymmetric) {
    if (secret !== undefined) return { secret };
    return secretFile.length > 0 ? { secretFile } : undefined;
  }
  if (publicKeyFile.length > 0) return { publicKeyFile };
  if (jwksFile !== undefined) return { jwksFile };
  if (jwksUrl !== undefined) return { jwksUrl };
  return openIdIssuer === undefined ? undefined : { openIdIssuer };
}

/**
 * An attacker on the network could replace keys fetched over http: https only, unless the operator names
 * the host.
 */
function checkedAccess(jwt: Section): KeyAccess {
  const access = readKeyAccess(jwt);
  for (const key of ['jwks_url', 'openid_issuer'] as const) {
    const field = jwt.get(key);
    const url = field?.name();
    if (field === undefined || url === undefined) continue;
    try {
      checkUrl(url, keyPolicyFor(access), { field: key });
    } catch (error) {
      if (!(error instanceof UrlRefused)) throw error;
      const isScheme = error.message.includes('must be an https');
      const host = isScheme ? URL.parse(url)?.hostname : undefined;
      field.error(
        error.message.replace(`${key}: `, ''),
        host === undefined
          ? undefined
          : `for an issuer within the cluster, write allowed_names: [${host}] beside it`,
      );
    }
  }
  return access;
}

function namesOf(field: Field | undefined): readonly string[] {
  return (field?.oneOrMore() ?? []).flatMap((item) => item.name() ?? []);
}

/**
 * Where the files of an `auth:` section are, and whether the server requests client certificates.
 * @example const options: OpenAuthOptions = { directory: '.', hasClientCertificates: false, logger };
 */
export interface OpenAuthOptions {
  /** Relative paths start here. */
  readonly directory: string;
  /** The server requests client certificates and verifies them. */
  readonly hasClientCertificates: boolean;
  /** Verifiers in addition to those of the settings. */
  readonly more?: readonly Verifier[];
  readonly logger: Logger;
}

/**
 * The authenticator of an `auth:` section; undefined if it configures no authentication.
 * @example const auth = await openAuth(settings, { directory: '.', hasClientCertificates: false, logger });
 */
export async function openAuth(
  settings: AuthSettings | undefined,
  options: OpenAuthOptions,
): Promise<Authenticator | undefined> {
  const { jwt, apiKeysPath, require } = settings ?? {};
  const { directory, hasClientCertificates, more = [], logger } = options;
  if (require?.includes('mtls') === true && !hasClientCertificates) {
    throw invalidConfiguration(
      "auth.require contains mtls, but the server doesn't request client certificates: set --ssl-certificate, " +
        '--ssl-keyfile and --ssl-ca-file (in code: tls with ca). Behind a proxy that terminates TLS, let the proxy ' +
        'present a certificate of its own to this server, or verify certificates there and remove mtls here',
    );
  }
  const verifiers = [
    ...more,
    ...(jwt === undefined ? [] : [await tokenVerifier(jwt, options)]),
    ...(apiKeysPath === undefined
      ? []
      : [apiKeyVerifier({ file: resolve(directory, apiKeysPath), logger })]),
    ...(hasClientCertificates ? [mtlsVerifier()] : []),
  ];
  if (verifiers.length === 0) return undefined;
  if (hasClientCertificates && verifiers.length > 1 && require === undefined) {
    const fix = 'write auth.require: [jwt, mtls], or [api_key, mtls], if callers need both';
    logger.warn({ fix }, 'auth.certificate_alone_suffices');
  }
  const byMethod = { jwt: 'jwt', api_key: 'api-key', mtls: 'mtls' } as const;
  return new Authenticator({
    verifiers,
    ...(require !== undefined && { require: require.map((method) => byMethod[method]) }),
  });
}

function tokenVerifier(
  { algorithms, keys, issuer, audience, tls, ...access }: JwtSettings,
  { directory, logger }: Pick<OpenAuthOptions, 'directory' | 'logger'>,
): Promise<Verifier> {
  return jwtVerifier({
    keys: located(keys, directory),
    algorithms,
    // A token without a subject claim identifies the orchestrator.
    defaultSubject: 'orchestrator',
    requireExpiry: false,
    logger,
    policy: keyPolicyFor(access),
    ...(tls !== undefined && {
      tls: clientTls(tls, { what: 'a2a_server.auth.jwt', directory, logger }),
    }),
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  });
}

function located(keys: JwtKeySource | undefined, directory: string): JwtKeySource {
  const at = (paths: string | readonly string[]): readonly string[] =>
    (typeof paths === 'string' ? [paths] : paths).map((path) => resolve(directory, path));
  if (keys === undefined) throw invalidConfiguration('auth.jwt names no key');
  if ('publicKeyFile' in keys) return { publicKeyFile: at(keys.publicKeyFile) };
  if ('secretFile' in keys) return { secretFile: at(keys.secretFile) };
  return 'jwksFile' in keys ? { jwksFile: resolve(directory, keys.jwksFile) } : keys;
}

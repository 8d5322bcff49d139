import {
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from 'jose';
import {
  checkOptions,
  isJsonObject,
  LegateError,
  type OptionNames,
  type SecurityScheme,
} from '../protocol/index.ts';
import { checkUrl, type ClientTls, type GuardedFetch, type UrlPolicy } from '../push/index.ts';
import { type Logger, loggerOption } from '../telemetry/index.ts';
import {
  type AuthRequest,
  bearerToken,
  CredentialRefused,
  isSubject,
  toCaller,
  type Verifier,
} from './credentials.ts';
import { type JwtKeySource, type KeyFinder, loadKeys } from './jwt-keys.ts';
import type { JwtAlgorithm } from './public-keys.ts';
import { keyFetching, keyPolicy, openIdConfigurationUrl } from './remote-keys.ts';

/**
 * Which tokens the verifier accepts, and which claims identify the caller.
 * @example
 * const options: JwtVerifierOptions = {
 *   keys: { openIdIssuer: 'https://login.example.com/realms/acme' },
 *   audience: 'orders',
 *   algorithms: ['ES256'],
 *   tenantClaim: 'org_id', // callers of one organisation see nothing of another's
 * };
 */
export interface JwtVerifierOptions {
  /** What verifies tokens: an issuer, a key set, a key, or a secret. */
  readonly keys: JwtKeySource;
  /** The accepted algorithms, whatever the token's header names. @default ['RS256'] */
  readonly algorithms?: readonly JwtAlgorithm[];
  /** Required value of `iss`. */
  readonly issuer?: string;
  /** Required value of `aud`: one of these. */
  readonly audience?: string | readonly string[];
  /** Seconds by which clocks may differ. @default 30 */
  readonly clockTolerance?: number;
  /** Rejects tokens without `exp`. @default true */
  readonly requireExpiry?: boolean;
  /**
   * Required value of the header's `typ`, such as `at+jwt`: rejects other kinds of tokens of the issuer.
   */
  readonly type?: string;
  /** The claim that names the subject. @default 'sub' */
  readonly subjectClaim?: string;
  /** The subject of tokens without a subject claim. @default none: the token is rejected */
  readonly defaultSubject?: string;
  /** Prefix of every subject, to keep the subjects of several issuers apart. @default '' */
  readonly subjectPrefix?: string;
  /** The claim that names the tenant. Tokens without it are rejected. @default none: tenant '' */
  readonly tenantClaim?: string;
  /** The claim with the caller's display name. @default 'name' */
  readonly displayNameClaim?: string;
  /**
   * The claim with the scopes: a list, or one string separated by spaces. @default 'scope', or else 'scp'
   */
  readonly scopeClaim?: string;
  /** The clock for expiry. @default the system's clock */
  readonly clock?: { now(): number };
  /** URLs that keys can be fetched from. @default https anywhere, http on this machine only */
  readonly policy?: UrlPolicy;
  /** TLS files for fetching keys. @default the certificate authorities of Node */
  readonly tls?: ClientTls;
  /** Fetches keys. @default a guarded fetch under `policy` */
  readonly fetch?: GuardedFetch;
  /** Milliseconds for which fetched keys are used without another fetch. @default 600_000 */
  readonly cacheTime?: number;
  /** Milliseconds between two fetches for an unknown key. @default 30_000 */
  readonly cooldown?: number;
  /** Milliseconds for which old keys stay in use while the issuer is unreachable. @default 3_600_000 */
  readonly staleTime?: number;
  /** Logs reloads of keys, and failures to reload them. */
  readonly logger?: Logger;
  /**
   * Name of the security scheme in the card. @default 'bearer', or 'openId' for an OpenID Connect issuer
   */
  readonly schemeName?: string;
  /** The scheme that the card declares instead, for example OAuth flows. */
  readonly scheme?: SecurityScheme;
}

const optionNames: OptionNames<JwtVerifierOptions> = {
  keys: 'object',
  algorithms: 'list',
  issuer: 'string',
  audience: { oneOf: ['string', 'list'] },
  clockTolerance: 'number',
  requireExpiry: 'boolean',
  type: 'string',
  subjectClaim: 'string',
  defaultSubject: 'string',
  subjectPrefix: 'string',
  tenantClaim: 'string',
  displayNameClaim: 'string',
  scopeClaim: 'string',
  clock: 'object',
  policy: 'object',
  tls: 'object',
  fetch: 'function',
  cacheTime: 'number',
  cooldown: 'number',
  staleTime: 'number',
  logger: loggerOption,
  schemeName: 'string',
  scheme: 'object',
};

/**
 * Accepts JSON Web Tokens in `Authorization: Bearer`. Rejects with `CONFIGURATION_INVALID` when the
 * key does not fit the algorithms.
 * @example await jwtVerifier({ keys: { publicKeyFile: ['/run/secrets/jwt.pem'] }, issuer, audience })
 */
export async function jwtVerifier(options: JwtVerifierOptions): Promise<Verifier> {
  checkOptions('jwtVerifier', options, optionNames, ['keys']);
  const { algorithms = ['RS256'], keys, clock = { now: Date.now }, subjectPrefix = '' } = options;
  const { policy = keyPolicy } = options;
  const issuer = options.issuer ?? ('openIdIssuer' in keys ? keys.openIdIssuer : undefined);
  const address =
    'jwksUrl' in keys ? keys.jwksUrl : 'openIdIssuer' in keys ? keys.openIdIssuer : undefined;
  if (address !== undefined) {
    checkUrl(address, policy, { field: 'jwt keys', code: 'CONFIGURATION_INVALID' });
  }
  const findKeys = loadKeys(keys, algorithms, keyFetching(options));
  const { audience, type } = options;
  const rules: JWTVerifyOptions = {
    algorithms: [...algorithms],
    clockTolerance: options.clockTolerance ?? 30,
    requiredClaims: options.requireExpiry === false ? [] : ['exp'],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && {
      audience: typeof audience === 'string' ? audience : [...audience],
    }),
    ...(type !== undefined && { typ: type }),
  };
  return {
    method: 'jwt',
    challenge: 'Bearer',
    schemes: declare(options),
    subjectPrefix,
    ...(issuer !== undefined && { issuer }),
    async verify(request) {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const currentDate = new Date(clock.now());
      const { payload } = await verifyWithAny(token, findKeys, { ...rules, currentDate }).catch(
        (error: unknown) => {
          // The code names the check that failed, never the token.
          if (error instanceof errors.JOSEError) throw new CredentialRefused(reasonOf(error));
          if (error instanceof TypeError) throw new CredentialRefused('unusable token');
          throw withoutAddress(error);
        },
      );
      if (!hasUsableExpiry(payload)) throw new CredentialRefused('invalid exp');
      checkConfirmation(payload, request);
      return toCaller('jwt', identify(payload, options));
    },
  };
}

/** While keys rotate, several can fit: the token has no `kid`, or two keys share one. Tries each. */
async function verifyWithAny(
  token: string,
  findKeys: KeyFinder,
  rules: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  let keys: Awaited<ReturnType<KeyFinder>> = [];
  for (let index = 0; ; index += 1) {
    try {
      return await jwtVerify(
        token,
        async (header, jws) => {
          if (index === 0) keys = await findKeys(header, jws);
          const key = keys[index];
          if (key === undefined) throw new errors.JWKSNoMatchingKey();
          return key;
        },
        rules,
      );
    } catch (error) {
      const isOtherKey = error instanceof errors.JWSSignatureVerificationFailed;
      if (!isOtherKey || index + 1 >= keys.length) throw error;
    }
  }
}

/** Callers are not authenticated yet, so their error omits the URL of the keys. The log has it. */
function withoutAddress(error: unknown): unknown {
  if (!(error instanceof LegateError) || error.code !== 'UNAVAILABLE') return error;
  const { retryAfter } = error;
  return new LegateError(
    'UNAVAILABLE',
    'tokens cannot be verified now: the keys of their issuer cannot be fetched',
    { cause: error, ...(retryAfter !== undefined && { retryAfter }) },
  );
}

/** RFC 8705, 3: a token that is bound to a client certificate is valid only over a connection with it. */
function checkConfirmation({ cnf }: JWTPayload, { tlsPeer }: AuthRequest): void {
  const bound: unknown = isJsonObject(cnf) ? cnf['x5t#S256'] : undefined;
  if (bound === undefined) return;
  const digest = Buffer.from((tlsPeer?.fingerprint ?? '').replaceAll(':', ''), 'hex');
  if (digest.length > 0 && digest.toString('base64url') === bound) return;
  throw new CredentialRefused('the token is bound to another certificate');
}

function declare(options: JwtVerifierOptions): Readonly<Record<string, SecurityScheme>> {
  const { keys, scheme, schemeName } = options;
  if (scheme !== undefined) return { [schemeName ?? 'bearer']: scheme };
  if ('openIdIssuer' in keys) {
    const openIdConnectUrl = openIdConfigurationUrl(keys.openIdIssuer);
    return { [schemeName ?? 'openId']: { openIdConnectSecurityScheme: { openIdConnectUrl } } };
  }
  return {
    [schemeName ?? 'bearer']: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
  };
}

function reasonOf(error: errors.JOSEError): string {
  const claim = 'claim' in error && typeof error.claim === 'string' ? ` ${error.claim}` : '';
  return `${error.code}${claim}`;
}

function identify(payload: JWTPayload, options: JwtVerifierOptions) {
  const {
    subjectClaim = 'sub',
    tenantClaim,
    displayNameClaim = 'name',
    subjectPrefix = '',
  } = options;
  const subject = payload[subjectClaim] ?? options.defaultSubject;
  if (!isSubject(subject)) throw new CredentialRefused(`no usable ${subjectClaim} claim`);
  const tenant = tenantClaim === undefined ? '' : payload[tenantClaim];
  if (tenantClaim !== undefined && !isSubject(tenant)) {
    throw new CredentialRefused(`no usable ${tenantClaim} claim`);
  }
  const displayName = payload[displayNameClaim];
  const scopes = scopesOf(payload, options.scopeClaim);
  return {
    subject: `${subjectPrefix}${subject}`,
    tenant: String(tenant),
    ...(typeof displayName === 'string' && { displayName: displayName.slice(0, 256) }),
    ...(scopes !== undefined && { scopes }),
  };
}

function scopesOf(payload: JWTPayload, claim: string | undefined): readonly string[] | undefined {
  const value = claim === undefined ? (payload['scope'] ?? payload['scp']) : payload[claim];
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '');
  if (!Array.isArray(value)) return undefined;
  return value.filter((scope): scope is string => typeof scope === 'string');
}

/**
 * Whether `exp` of a token is a finite time. JSON allows the number `1e999`, which parses to infinity, so
 * the token would never expire. Fractions of a second are fine (RFC 7519, 2).
 * @example hasUsableExpiry({ exp: 1e999 }) // false
 */
export function hasUsableExpiry({ exp }: { readonly exp?: number }): boolean {
  return exp === undefined || Math.abs(exp) <= Number.MAX_SAFE_INTEGER;
}

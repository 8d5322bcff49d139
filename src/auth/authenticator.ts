import type { Caller } from '../agents/index.ts';
import {
  checkOptions,
  invalidConfiguration,
  type LegateError,
  type ObjectWithMethods,
  type OptionNames,
  type SecurityRequirement,
  type SecurityScheme,
} from '../protocol/index.ts';
import {
  AuthError,
  type AuthRequest,
  CredentialRefused,
  PresentedCredentials,
  type Verifier,
} from './credentials.ts';

/**
 * How callers are authenticated.
 * @example
 * const options: AuthenticatorOptions = {
 *   verifiers: [mtlsVerifier(), apiKeyVerifier({ stored: keys })],
 *   realm: 'orders',
 *   allowAnonymous: true, // agents see such a caller with an empty subject
 * };
 */
export interface AuthenticatorOptions {
  /**
   * Verifiers are tried in this order, and the first that recognises the credential decides. Requests
   * with several credentials are rejected. Without verifiers all callers are anonymous.
   */
  readonly verifiers: readonly Verifier[];
  /**
   * Methods of verifiers that must all identify the caller: `['jwt', 'mtls']` for a token over a
   * connection with a client certificate. The caller is the one that the request's own credential
   * identifies.
   * @default any one is enough
   */
  readonly require?: readonly string[];
  /**
   * Accepts requests without credentials as anonymous. Invalid credentials are still rejected. @default
   * false
   */
  readonly allowAnonymous?: boolean;
  /** @default 'legate' */
  readonly realm?: string;
  /** The URL of the protected resource's metadata (RFC 9728), sent in challenges. */
  readonly resourceMetadata?: string;
}

const optionNames: OptionNames<AuthenticatorOptions> = {
  verifiers: 'list',
  require: 'list',
  allowAnonymous: 'boolean',
  realm: 'string',
  resourceMetadata: 'string',
};

/** Parameters of a challenge. */
interface ChallengeOptions {
  readonly realm: string;
  /** RFC 6750: omitted when the request carried no credential. */
  readonly error?: 'invalid_token' | 'insufficient_scope';
  readonly scopes?: readonly string[];
  /** The URL of the protected resource's metadata (RFC 9728). */
  readonly resourceMetadata?: string;
}

/**
 * What an option that takes an authenticator must be.
 * @example checkOptions('proxy', options, { auth: authenticatorOption });
 */
export const authenticatorOption: ObjectWithMethods = {
  methods: [
    'authenticate',
    'requireScopes',
    'challenges',
    'securitySchemes',
    'securityRequirements',
  ],
  example: 'an authenticator: new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] })',
};

const anonymous: Caller = Object.freeze({ tenant: '', subject: '', method: 'anonymous' });

/**
 * Identifies the caller of a request by one of several verifiers. The card is generated from the
 * same verifiers, so it declares what the server accepts.
 * @example
 * const jwt = await jwtVerifier({ keys: { openIdIssuer: 'https://id.example' }, audience: 'orders' })
 * const auth = new Authenticator({ verifiers: [jwt, apiKeyVerifier({ stored: keys })] })
 * const caller = await auth.authenticate({ headers: request.headers })
 */
export class Authenticator {
  readonly #verifiers: readonly Verifier[];
  readonly #allowsAnonymous: boolean;
  readonly #challengeOptions: ChallengeOptions;
  readonly #schemes: Readonly<Record<string, SecurityScheme>>;
  readonly #presented: PresentedCredentials;
  /** The verifiers that must all identify the caller; undefined if any one is enough. */
  readonly #required: readonly Verifier[] | undefined;

  constructor(options: AuthenticatorOptions) {
    checkOptions('Authenticator', options, optionNames, ['verifiers']);
    this.#verifiers = options.verifiers;
    this.#allowsAnonymous = options.allowAnonymous ?? false;
    this.#challengeOptions = {
      realm: options.realm ?? 'legate',
      ...(options.resourceMetadata !== undefined && { resourceMetadata: options.resourceMetadata }),
    };
    this.#schemes = mergeSchemes(options.verifiers);
    this.#presented = new PresentedCredentials(options.verifiers);
    this.#required = requiredOf(options);
    checkIssuers(options.verifiers);
    // Rejects an invalid realm now and not with the first 401.
    this.challenges();
  }

  /** Whether anonymous callers are accepted. */
  get isOpen(): boolean {
    return this.#verifiers.length === 0 || this.#allowsAnonymous;
  }

  /** The anonymous caller, where no verifier is configured. */
  get anonymousCaller(): Caller | undefined {
    return this.#verifiers.length === 0 ? anonymous : undefined;
  }

  /**
   * Returns the caller. Rejects with `AuthError` (401), or with `UNAVAILABLE` if the credential can't be
   * verified now.
   */
  async authenticate(request: AuthRequest): Promise<Caller> {
    if (this.anonymousCaller !== undefined) return this.anonymousCaller;
    const found = this.#presented.found(request);
    if (found.length > 1) throw this.#refused([`several credentials: ${found.join(', ')}`]);
    if (this.#required !== undefined) return this.#authenticateByAll(this.#required, request);
    const reasons: string[] = [];
    let unavailable: unknown;
    for (const verifier of this.#presented.verifiersFor(found[0])) {
      try {
        const caller = await verifier.verify(request);
        if (caller !== undefined) return caller;
      } catch (error) {
        // Another verifier can accept the same header.
        if (error instanceof CredentialRefused) reasons.push(`${verifier.method}: ${error.reason}`);
        else unavailable = error;
      }
    }
    if (unavailable !== undefined) throw unavailable;
    if (reasons.length === 0 && this.#allowsAnonymous) return anonymous;
    throw this.#refused(reasons);
  }

  async #authenticateByAll(required: readonly Verifier[], request: AuthRequest): Promise<Caller> {
    const reasons: string[] = [];
    const callers: Caller[] = [];
    for (const verifier of required) {
      try {
        const caller = await verifier.verify(request);
        if (caller === undefined) reasons.push(`${verifier.method}: missing`);
        else callers.push(caller);
      } catch (error) {
        if (!(error instanceof CredentialRefused)) throw error;
        reasons.push(`${verifier.method}: ${error.reason}`);
      }
    }
    // Callers identified by the request come first: the certificate can be that of a gateway.
    const [caller] = callers;
    if (reasons.length > 0 || caller === undefined) throw this.#refused(reasons);
    return caller;
  }

  /** Throws `AuthError` (401) for an anonymous caller of a server that has verifiers. */
  requireIdentity(caller: Caller): void {
    if (caller.subject === '' && this.#verifiers.length > 0) throw this.#refused([]);
  }

  /** Throws `AuthError` (403) when the caller lacks one of the scopes. */
  requireScopes(caller: Caller, scopes: readonly string[]): void {
    if (scopes.every((scope) => caller.scopes?.includes(scope) === true)) return;
    throw new AuthError(
      'PERMISSION_DENIED',
      `this needs the scope ${scopes.join(' ')}`,
      this.challenges({ error: 'insufficient_scope', scopes }),
      [`the caller lacks one of the scopes ${scopes.join(' ')}`],
    );
  }

  #refused(found: readonly string[]): AuthError {
    const reasons = found.length === 0 ? ['no credentials'] : found;
    return new AuthError(
      'UNAUTHENTICATED',
      'authentication failed: the credentials are missing or not valid',
      this.challenges(found.length === 0 ? {} : { error: 'invalid_token' }),
      reasons,
    );
  }

  /** The values of `WWW-Authenticate`: one challenge for each kind of credential. */
  challenges(options: Pick<ChallengeOptions, 'error' | 'scopes'> = {}): readonly string[] {
    const kinds = new Set(this.#verifiers.map((verifier) => verifier.challenge));
    return Array.from(kinds, (kind) => challenge(kind, { ...this.#challengeOptions, ...options }));
  }

  /** The security schemes for the card; undefined without verifiers. */
  securitySchemes(): Readonly<Record<string, SecurityScheme>> | undefined {
    return this.#verifiers.length === 0 ? undefined : this.#schemes;
  }

  /**
   * The security requirements for the card. A caller must meet one of them, with all its schemes. With
   * scopes: for a skill that needs them.
   */
  securityRequirements(scopes: readonly string[] = []): readonly SecurityRequirement[] | undefined {
    if (this.#verifiers.length === 0) return undefined;
    const alternatives = this.#required?.reduce(
      (made: readonly (readonly string[])[], { schemes }) =>
        made.flatMap((names) => Object.keys(schemes).map((name) => [...names, name])),
      [[]],
    );
    const names = alternatives ?? Object.keys(this.#schemes).map((name) => [name]);
    const requirements: SecurityRequirement[] = names.map((together) => ({
      schemes: Object.fromEntries(together.map((name) => [name, { list: scopes }])),
    }));
    // An empty requirement makes the others optional.
    return this.#allowsAnonymous && scopes.length === 0
      ? [...requirements, { schemes: {} }]
      : requirements;
  }
}

function requiredOf({
  verifiers,
  require,
  allowAnonymous = false,
}: AuthenticatorOptions): readonly Verifier[] | undefined {
  if (require === undefined) return undefined;
  const invalid = (why: string): LegateError => invalidConfiguration(why);
  const known = verifiers.map(({ method }) => method);
  const unknown = require.find((method) => !known.includes(method));
  if (unknown !== undefined || require.length === 0) {
    throw invalid(
      `require: there is no verifier for ${unknown ?? 'an empty list'}; there are ${known.join(', ')}`,
    );
  }
  const spare = known.find((method) => !require.includes(method));
  if (spare !== undefined) {
    throw invalid(
      `require: ${spare} is configured but missing from require, so it never authenticates a caller; add it to require, or remove it`,
    );
  }
  if (verifiers.filter(({ method }) => method !== 'mtls').length > 1) {
    throw invalid('require: a request carries one credential; require one of them, and mtls');
  }
  if (allowAnonymous) throw invalid('require: anonymous callers would meet no requirement');
  return verifiers.toSorted((a, b) => Number(a.method === 'mtls') - Number(b.method === 'mtls'));
}

function mergeSchemes(verifiers: readonly Verifier[]): Readonly<Record<string, SecurityScheme>> {
  const merged = new Map<string, SecurityScheme>();
  for (const { schemes } of verifiers) {
    for (const [name, scheme] of Object.entries(schemes)) {
      if (merged.has(name)) {
        throw invalidConfiguration(
          `two verifiers declare the security scheme ${name}; give one another schemeName`,
        );
      }
      merged.set(name, scheme);
    }
  }
  return Object.fromEntries(merged);
}

function checkIssuers(verifiers: readonly Verifier[]): void {
  const issuers = new Map<string, string>();
  for (const { issuer, subjectPrefix = '' } of verifiers) {
    if (issuer === undefined) continue;
    const other = issuers.get(subjectPrefix);
    if (other !== undefined && other !== issuer) {
      throw invalidConfiguration(
        `the issuers ${other} and ${issuer} can issue the same subject for different people; ` +
          'give their verifiers different subjectPrefix values',
      );
    }
    issuers.set(subjectPrefix, issuer);
  }
}

/** One value of `WWW-Authenticate`. */
function challenge(scheme: string, options: ChallengeOptions): string {
  const { realm, error, scopes, resourceMetadata } = options;
  const parameters = [`realm=${quote(realm)}`];
  if (scheme === 'Bearer') {
    if (error !== undefined) parameters.push(`error=${quote(error)}`);
    if (scopes !== undefined && scopes.length > 0) {
      parameters.push(`scope=${quote(scopes.join(' '))}`);
    }
    if (resourceMetadata !== undefined) {
      parameters.push(`resource_metadata=${quote(resourceMetadata)}`);
    }
  }
  return `${scheme} ${parameters.join(', ')}`;
}

function quote(value: string): string {
  if (!/^[\x20-\x7e]*$/.test(value)) {
    throw invalidConfiguration(
      `${JSON.stringify(value)} is not allowed in a WWW-Authenticate header; use printable ASCII`,
    );
  }
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../agents/index.ts';
import type { TlsPeer } from './mtls.ts';
import { invalidConfiguration, LegateError, type SecurityScheme } from '../protocol/index.ts';

/**
 * A failed authentication or authorization, with challenges for `WWW-Authenticate`. The message doesn't
 * depend on the reason; only the log has the reason.
 * @example if (error instanceof AuthError) response.setHeader('www-authenticate', error.challenges);
 */
export class AuthError extends LegateError {
  /** Values of `WWW-Authenticate`, one header line each. */
  readonly challenges: readonly string[];
  /** The exact reasons, for the log. Never sent. */
  readonly reasons: readonly string[];

  constructor(
    code: 'UNAUTHENTICATED' | 'PERMISSION_DENIED',
    message: string,
    challenges: readonly string[],
    reasons: readonly string[] = [],
  ) {
    super(code, message);
    this.challenges = challenges;
    this.reasons = reasons;
  }
}

/**
 * Thrown by a verifier for an invalid credential of its kind. `reason` is for the log and
 * never reaches the caller; it must not contain the credential.
 * @example throw new CredentialRefused('the token has expired');
 */
export class CredentialRefused extends LegateError {
  readonly reason: string;

  constructor(reason: string) {
    super('UNAUTHENTICATED', 'authentication failed: the credentials are missing or not valid');
    this.reason = reason;
  }
}

/**
 * The part of a request that authentication reads.
 * @example
 * const request: AuthRequest = { headers: { 'x-api-key': 'lgk_q0V8...' } };
 * const caller = await auth.authenticate(request);
 */
export interface AuthRequest {
  /** Keyed by name in lower case, like in `node:http` and gRPC metadata. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query?: URLSearchParams;
  /** The verified client certificate of the connection. */
  readonly tlsPeer?: TlsPeer;
  /** Why the certificate that the connection presented is not trusted, such as `CERT_HAS_EXPIRED`. */
  readonly tlsRefusal?: string;
}

/**
 * The headers of a request to `node:http`, with a duplicate `Authorization` as a list: Node
 * silently keeps only the first.
 * @example const caller = await auth.authenticate({ headers: authHeaders(request) });
 */
export function authHeaders({ headers, rawHeaders }: IncomingMessage): AuthRequest['headers'] {
  if (headers.authorization === undefined) return headers;
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  );
  return values.length < 2 ? headers : { ...headers, authorization: values };
}

/** Maximum length of a credential, in characters. */
export const maxCredentialLength = 16_384;

/**
 * The token of an `Authorization` header with the scheme Bearer.
 * @example bearerIn('Bearer s3cret'); // 's3cret'
 */
export function bearerIn(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** The token of `Authorization: Bearer`; undefined if the header is absent or has another scheme. */
export function bearerToken(request: AuthRequest): string | undefined {
  const value = singleHeader(request, 'authorization');
  const match = value === undefined ? null : /^bearer(?: +(?<token>\S+))? *$/i.exec(value);
  if (match === null) return undefined;
  const token = match.groups?.['token'];
  if (token === undefined) throw new CredentialRefused('empty bearer token');
  return token;
}

/** A header that may occur only once. Throws for duplicates: they are ambiguous. */
export function singleHeader(request: AuthRequest, name: string): string | undefined {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  const single = typeof value === 'string' ? value : value[0];
  if (typeof value !== 'string' && value.length > 1) {
    throw new CredentialRefused(`several ${name} headers`);
  }
  if (single !== undefined && single.length > maxCredentialLength) {
    throw new CredentialRefused(`${name} header too long`);
  }
  return single;
}

/**
 * One way for callers to authenticate.
 * @example
 * const signedCookie: Verifier = {
 *   method: 'cookie',
 *   schemes: { cookie: { apiKeySecurityScheme: { location: 'cookie', name: 'session' } } },
 *   challenge: 'ApiKey',
 *   verify: async ({ headers }) => callerOfCookie(headers.cookie),
 * };
 */
export interface Verifier {
  /** The caller's `method`: `jwt`, `bearer-token`, `api-key`, `mtls`, ... */
  readonly method: string;
  /** The security schemes for the card, by name. Any one of them satisfies the verifier. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** The HTTP authentication scheme of its challenge. */
  readonly challenge: 'Bearer' | 'ApiKey' | 'MutualTLS';
  /**
   * The identity provider that issues the subjects, if there is one. Two verifiers with different issuers
   * must not map two people to the same subject.
   */
  readonly issuer?: string;
  /** Prefix of every subject. @default '' */
  readonly subjectPrefix?: string;
  /**
   * Returns the caller; undefined if the request carries no credential of this kind. Throws
   * `CredentialRefused` for an invalid credential, and `UNAVAILABLE` if it can't be verified now.
   */
  verify(request: AuthRequest): Promise<Caller | undefined>;
}

/**
 * The identity that a credential proves.
 * @example const ada: Identity = { subject: 'ada', tenant: 'acme', scopes: ['orders:read', 'inspect'] };
 */
export interface Identity {
  readonly subject: string;
  /** @default '' */
  readonly tenant?: string;
  readonly displayName?: string;
  readonly scopes?: readonly string[];
}

/** Converts an identity to a caller; absent fields stay absent. */
export function toCaller(method: string, identity: Identity): Caller {
  const { subject, tenant = '', displayName, scopes } = identity;
  return {
    tenant,
    subject,
    method,
    ...(displayName !== undefined && { displayName }),
    ...(scopes !== undefined && { scopes }),
  };
}

/**
 * Whether a value is a valid subject of an owner: not empty (the anonymous caller), at most 512
 * characters, no control characters.
 */
export function isSubject(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{Cc}]{1,512}$/u.test(value);
}

/** Throws if a configured identity has no valid subject. */
export function checkIdentity(identity: Identity, what: string): void {
  if (isSubject(identity.subject)) return;
  throw invalidConfiguration(
    `${what}: the subject must have 1 to 512 characters and no control characters`,
  );
}

/** Where a request carries a credential. Header names are in lower case. */
interface Carrier {
  readonly location: 'header' | 'query' | 'cookie';
  readonly name: string;
}

const authorization: Carrier = { location: 'header', name: 'authorization' };

/**
 * Finds which credentials a request carries, and so which verifiers to try. A request can carry only one:
 * with the token of one caller and the key of another, the order of verifiers would decide which caller
 * it is. `Authorization` counts with any scheme.
 *
 * A client certificate belongs to the connection, not to the request: gateways and service meshes present
 * theirs for every caller. It identifies the caller only if the request itself carries no credential, and
 * never replaces an invalid one.
 */
export class PresentedCredentials {
  readonly #carriers: ReadonlyMap<string, Carrier>;
  readonly #verifiers: readonly {
    readonly verifier: Verifier;
    readonly reads: ReadonlySet<string>;
  }[];

  constructor(verifiers: readonly Verifier[]) {
    const carriers = new Map([[keyOf(authorization), authorization]]);
    this.#verifiers = verifiers.map((verifier) => {
      const reads = Object.values(verifier.schemes).flatMap(carrierOf);
      for (const carrier of reads) carriers.set(keyOf(carrier), carrier);
      return { verifier, reads: new Set(reads.map(keyOf)) };
    });
    this.#carriers = carriers;
  }

  /** The locations of credentials in the request, one entry for each credential. */
  found(request: AuthRequest): readonly string[] {
    const found: string[] = [];
    for (const [key, carrier] of this.#carriers) {
      for (let count = countOf(carrier, request); count > 0; count -= 1) found.push(key);
    }
    return found;
  }

  /** The verifiers to try for a request with this credential, or with none. */
  verifiersFor(found: string | undefined): readonly Verifier[] {
    const isRead = (key: string): boolean => this.#verifiers.some(({ reads }) => reads.has(key));
    const asked =
      found === undefined || !isRead(found)
        ? this.#verifiers
        : // A verifier that declares no scheme can read any credential.
          this.#verifiers.filter(
            ({ verifier, reads }) => reads.has(found) || Object.keys(verifier.schemes).length === 0,
          );
    return asked.map(({ verifier }) => verifier);
  }
}

function keyOf({ location, name }: Carrier): string {
  return `${location} ${name}`;
}

function carrierOf(scheme: SecurityScheme): readonly Carrier[] {
  if ('mtlsSecurityScheme' in scheme) return [];
  if (!('apiKeySecurityScheme' in scheme)) return [authorization];
  const { location, name } = scheme.apiKeySecurityScheme;
  return [{ location, name: location === 'header' ? name.toLowerCase() : name }];
}

function countOf({ location, name }: Carrier, { headers, query }: AuthRequest): number {
  if (location === 'query') return query?.getAll(name).length ?? 0;
  if (location === 'header') return valuesOf(headers[name]).length;
  const pairs = valuesOf(headers['cookie']).flatMap((line) => line.split(';'));
  return pairs.filter((pair) => pair.split('=', 1)[0]?.trim() === name).length;
}

function valuesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/**
 * The SHA-256 of a secret, in hexadecimal. Secrets are looked up by digest: the duration of a lookup
 * depends only on the digest, which a caller can't choose.
 */
export function secretDigest(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * Compares a secret in constant time, also if the lengths differ.
 * @example if (!isSameSecret(configured, query.get('token') ?? '')) throw unauthenticated();
 */
export function isSameSecret(expected: string, given: string): boolean {
  return timingSafeEqual(Buffer.from(secretDigest(expected)), Buffer.from(secretDigest(given)));
}

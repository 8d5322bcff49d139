import type { Caller } from '../agents/index.ts';
import { LegateError, type SecurityScheme } from '../protocol/index.ts';
import type { AuthRequest } from './auth-request.ts';

/**
 * One way for callers to prove who they are.
 * @example
 * const signedCookie: Verifier = {
 *   method: 'cookie',
 *   schemes: { cookie: { apiKeySecurityScheme: { location: 'cookie', name: 'session' } } },
 *   challenge: 'ApiKey',
 *   verify: async ({ headers }) => callerOfCookie(headers.cookie),
 * };
 */
export interface Verifier {
  /** Becomes the caller's `method`: `jwt`, `bearer-token`, `api-key`, `mtls`, ... */
  readonly method: string;
  /** What the card declares, by name: any one of these satisfies the verifier. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** The HTTP authentication scheme of its challenge. */
  readonly challenge: 'Bearer' | 'ApiKey' | 'MutualTLS';
  /**
   * Who vouches for the subjects, where that is somebody else. Two verifiers with different issuers
   * must not make the same subject of two people.
   */
  readonly issuer?: string;
  /** Set before every subject. @default '' */
  readonly subjectPrefix?: string;
  /**
   * The caller; undefined when the request carries no credential of this kind. Throws
   * `CredentialRefused` for one that does not hold, and `UNAVAILABLE` when that cannot be told now.
   */
  verify(request: AuthRequest): Promise<Caller | undefined>;
}

/**
 * Who a credential stands for.
 * @example const ada: Identity = { subject: 'ada', tenant: 'acme', scopes: ['orders:read', 'inspect'] };
 */
export interface Identity {
  readonly subject: string;
  /** @default '' */
  readonly tenant?: string;
  readonly displayName?: string;
  readonly scopes?: readonly string[];
}

/** A caller from an identity; an absent field stays absent. */
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

/** A subject that can own things: not empty (that is nobody), not endless, nothing that hides. */
export function isSubject(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{Cc}]{1,512}$/u.test(value);
}

/** Throws when an operator's identity has no usable subject. */
export function checkIdentity(identity: Identity, what: string): void {
  if (isSubject(identity.subject)) return;
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `${what}: the subject must have 1 to 512 characters and no control characters`,
  );
}

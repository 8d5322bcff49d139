import { LegateError } from '../protocol/index.ts';

/**
 * A refusal that a door answers with challenges. Its text is the same whatever was wrong: what
 * exactly stands in the log, for the operator.
 * @example if (error instanceof AuthError) response.setHeader('www-authenticate', error.challenges);
 */
export class AuthError extends LegateError {
  /** The values of `WWW-Authenticate`, one header line each. */
  readonly challenges: readonly string[];
  /** What exactly was wrong, for the log. Never sent. */
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
 * Thrown by a verifier for a credential of its kind that does not hold. `reason` is for the log and
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

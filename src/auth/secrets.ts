import { hash, timingSafeEqual } from 'node:crypto';

/**
 * The SHA-256 of a secret, in hexadecimal. Secrets are looked up by it: how long that takes depends on
 * the digest, which nobody can choose.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * Compares a secret in constant time, whatever the lengths.
 * @example if (!isSameSecret(configured, query.get('token') ?? '')) throw unauthenticated();
 */
export function isSameSecret(expected: string, given: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(expected)), Buffer.from(digestOf(given)));
}

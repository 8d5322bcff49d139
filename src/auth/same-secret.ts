import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Compares a secret in constant time, whatever the lengths.
 * @example if (!isSameSecret(configured, query.get('token') ?? '')) throw unauthenticated();
 */
export function isSameSecret(expected: string, given: string): boolean {
  return timingSafeEqual(digestOf(expected), digestOf(given));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Whether `exp` of a token is a time: JSON lets `1e999` be a number, which is infinity here, and the
 * token would hold for ever. Fractions of a second are fine (RFC 7519, 2).
 * @example hasUsableExpiry({ exp: 1e999 }) // false
 */
export function hasUsableExpiry({ exp }: { readonly exp?: number }): boolean {
  return exp === undefined || Math.abs(exp) <= Number.MAX_SAFE_INTEGER;
}

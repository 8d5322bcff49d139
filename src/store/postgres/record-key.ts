/**
 * PostgreSQL keeps no NUL in text. U+0001 and U+0002 after a U+0001 stand for NUL and U+0001, which
 * leaves the order of keys, and what they begin with, as it was.
 */
export function escapeKey(key: string): string {
  return key.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001');
}

export function unescapeKey(key: string): string {
  return key.replaceAll('\u0001\u0001', '\0').replaceAll('\u0001\u0002', '\u0001');
}

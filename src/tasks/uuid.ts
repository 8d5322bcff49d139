/** Random bytes are drawn in bulk: a draw costs far more than the ten bytes of one id. */
const pool = new Uint8Array(10 * 256);
let used = pool.length;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A UUID of version 7: 48 bits of time in milliseconds, then 74 random bits. */
export function timeOrderedUuid(now: number): string {
  if (used >= pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const at = used;
  used += 10;
  const byte = (index: number): string => hex[pool[at + index] ?? 0] ?? '';
  const time = now.toString(16).padStart(12, '0');
  const version = hex[0x70 | ((pool[at] ?? 0) & 0x0f)] ?? '';
  const variant = hex[0x80 | ((pool[at + 2] ?? 0) & 0x3f)] ?? '';
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-${version}${byte(1)}-${variant}${byte(3)}-` +
    `${byte(4)}${byte(5)}${byte(6)}${byte(7)}${byte(8)}${byte(9)}`
  );
}

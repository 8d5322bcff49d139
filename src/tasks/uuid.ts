/** Random bytes are drawn in bulk: a draw costs far more than the ten bytes of one id. */
const pool = new Uint8Array(10 * 256);
let used = pool.length;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

let lastTime = Number.NaN;
let prefix = '';

/** A UUID of version 7: 48 bits of time in milliseconds, then 74 random bits. */
export function timeOrderedUuid(now: number): string {
  if (used >= pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  if (now !== lastTime) {
    lastTime = now;
    const time = now.toString(16).padStart(12, '0');
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-`;
  }
  const at = used;
  used += 10;
  const version = 0x70 | ((pool[at] ?? 0) & 0x0f);
  const variant = 0x80 | ((pool[at + 2] ?? 0) & 0x3f);
  return (
    prefix +
    hex[version] +
    hex[pool[at + 1] ?? 0] +
    '-' +
    hex[variant] +
    hex[pool[at + 3] ?? 0] +
    '-' +
    hex[pool[at + 4] ?? 0] +
    hex[pool[at + 5] ?? 0] +
    hex[pool[at + 6] ?? 0] +
    hex[pool[at + 7] ?? 0] +
    hex[pool[at + 8] ?? 0] +
    hex[pool[at + 9] ?? 0]
  );
}

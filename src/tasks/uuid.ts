/** Random bytes are drawn in bulk: a draw costs far more than the ten bytes of one id. */
const pool = new Uint8Array(10 * 256);
let used = pool.length;

const digits = Buffer.from('0123456789abcdef');
/** The last id, of which the next one takes over the hyphens and, within a millisecond, the time. */
const id = Buffer.from('00000000-0000-7000-8000-000000000000');
/** The time of the last id in milliseconds, and its place among those of that millisecond. */
let time = Number.NaN;
let count = 0;

const lastCount = 0xfff;
/** A clock that goes back by less, in milliseconds, is not followed. */
const patience = 1_000;

/**
 * A UUID of version 7: 48 bits of time in milliseconds, 12 bits that count from a random number on,
 * 62 random bits (RFC 9562, section 6.2, method 1). Each sorts after those made before, so that an
 * index of them grows at its end. Made in one piece: ids are kept by the thousand, and one put together
 * from parts would stay a tree of them.
 */
export function timeOrderedUuid(now: number): string {
  if (used > pool.length - 10) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const isOfLastTime = now <= time && now > time - patience;
  if (!isOfLastTime) begin(now);
  // More than a millisecond has room for: they count as of the next one.
  else if (count === lastCount) begin(time + 1);
  else count += 1;
  write(14, 0x70 | (count >> 8));
  write(16, count & 0xff);
  write(19, 0x80 | (random() & 0x3f));
  write(21, random());
  for (let at = 24; at < 36; at += 2) write(at, random());
  return id.toString('latin1');
}

/** Begins a millisecond, in the lower half of its places. */
function begin(at: number): void {
  time = at;
  count = ((random() & 0x07) << 8) | random();
  const text = at.toString(16).padStart(12, '0');
  id.write(`${text.slice(0, 8)}-${text.slice(8)}`, 'latin1');
}

function random(): number {
  return pool[used++] ?? 0;
}

function write(at: number, byte: number): void {
  id[at] = digits[byte >> 4] ?? 0;
  id[at + 1] = digits[byte & 0x0f] ?? 0;
}

import { createHash } from 'node:crypto';
import { Json, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';

const place = { space: 'bus', key: 'store-id' } as const;
/** With a UUID behind it, it is still a name on the bus. */
const maxNameLength = 63;

/**
 * The name under which an agent takes answers: its own, and the identity of the store that knows what
 * is answered. A process on the same store finds the answers of the one before it; two stores never
 * share a queue, whatever their agents are called.
 */
export async function replyName(
  name: string,
  records: RecordStore,
  scheduler: { now(): number; uuid(): string },
): Promise<string> {
  return `${shortened(name)}-${await storeId(records, scheduler)}`;
}

/** Made by whoever asks first, and kept for as long as the store is. */
async function storeId(
  records: RecordStore,
  scheduler: { now(): number; uuid(): string },
): Promise<string> {
  const now = scheduler.now();
  const value = Json.of<JsonValue>(scheduler.uuid());
  await records.write([{ ...place, value, ifVersion: 0 }], now);
  const stored = await records.get(place.space, place.key, now);
  if (typeof stored?.value.value === 'string') return stored.value.value;
  throw new LegateError('STORE_FAILED', 'the identity of the store cannot be read');
}

/** Names that begin alike stay apart. */
function shortened(name: string): string {
  if (name.length <= maxNameLength) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 12);
  return `${name.slice(0, maxNameLength - 13)}-${digest}`;
}

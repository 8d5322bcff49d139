import type { RecordStore, RecordWrite, StoreClock, StoredRecord } from '../contract.ts';
import { compareText, lowerBound } from '../encoding.ts';
import { applyWrites, holds, increment, type RecordRows } from '../record-rules.ts';
import { positionOf, SortedKeys } from './sorted-keys.ts';

interface Space {
  readonly records: Map<string, StoredRecord>;
  /** A page costs a binary search and its own length. */
  readonly keys: SortedKeys;
}

/** Small documents by space and key. */
export class MemoryRecords implements RecordStore, RecordRows {
  readonly clock: StoreClock;
  readonly #spaces = new Map<string, Space>();

  constructor(clock: StoreClock) {
    this.clock = clock;
  }

  async get(space: string, key: string, now: number): Promise<StoredRecord | undefined> {
    return this.find(space, key, now);
  }

  async write(writes: readonly RecordWrite[], now: number): Promise<boolean> {
    if (!holds(this, writes, now)) return false;
    applyWrites(this, writes, now);
    return true;
  }

  async list(query: Parameters<RecordStore['list']>[0]): Promise<readonly StoredRecord[]> {
    const { prefix = '', after, limit, now } = query;
    const found: StoredRecord[] = [];
    const known = this.#spaces.get(query.space);
    if (known === undefined) return found;
    const keys = known.keys.list();
    const from = Math.max(
      positionOf(keys, prefix),
      after === undefined ? 0 : lowerBound(keys, (key) => compareText(key, after) <= 0),
    );
    for (let index = from; index < keys.length && found.length < limit; index += 1) {
      const key = keys[index] ?? '';
      if (!key.startsWith(prefix)) break;
      const record = known.records.get(key);
      // A key that was removed and added again can occur twice.
      if (record === undefined || key === keys[index - 1]) continue;
      if (!isExpired(record, now)) found.push(record);
    }
    return found;
  }

  async increment(counter: Parameters<RecordStore['increment']>[0]): Promise<number> {
    return increment(this, counter);
  }

  sweep(now: number, limit: number): number {
    let swept = 0;
    for (const [space, { records }] of this.#spaces) {
      for (const record of records.values()) {
        if (swept === limit) return swept;
        if (isExpired(record, now)) {
          this.remove(space, record.key);
          swept += 1;
        }
      }
    }
    return swept;
  }

  find(space: string, key: string, now: number): StoredRecord | undefined {
    const record = this.#spaces.get(space)?.records.get(key);
    return record === undefined || isExpired(record, now) ? undefined : record;
  }

  put(name: string, record: StoredRecord): void {
    let space = this.#spaces.get(name);
    if (space === undefined) {
      const known = new Map<string, StoredRecord>();
      space = { records: known, keys: new SortedKeys((key) => known.has(key)) };
      this.#spaces.set(name, space);
    }
    const { records, keys } = space;
    if (!records.has(record.key)) keys.add(record.key);
    records.set(record.key, record);
  }

  remove(name: string, key: string): void {
    const space = this.#spaces.get(name);
    if (space?.records.delete(key) !== true) return;
    space.keys.remove();
    if (space.records.size === 0) this.#spaces.delete(name);
  }
}

function isExpired(record: StoredRecord, now: number): boolean {
  return record.expiresAt !== undefined && record.expiresAt <= now;
}

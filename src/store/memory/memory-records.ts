import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite, StoredRecord } from '../contract.ts';
import { counterValue } from '../counter-value.ts';
import { compareText } from '../text-order.ts';

/** Small documents by space and key. */
export class MemoryRecords implements RecordStore {
  readonly #spaces = new Map<string, Map<string, StoredRecord>>();

  async get(space: string, key: string, now: number): Promise<StoredRecord | undefined> {
    return this.#live(space, key, now);
  }

  async write(writes: readonly RecordWrite[], now: number): Promise<boolean> {
    if (!this.holds(writes, now)) return false;
    this.apply(writes, now);
    return true;
  }

  /** Whether every expected version is the present one. */
  holds(writes: readonly RecordWrite[], now: number): boolean {
    return writes.every(
      ({ space, key, ifVersion }) =>
        ifVersion === undefined || (this.#live(space, key, now)?.version ?? 0) === ifVersion,
    );
  }

  apply(writes: readonly RecordWrite[], now: number): void {
    for (const { space, key, value, expiresAt } of writes) {
      if (value === undefined) {
        this.#spaces.get(space)?.delete(key);
        continue;
      }
      const version = (this.#live(space, key, now)?.version ?? 0) + 1;
      this.#set(space, {
        key,
        value,
        version,
        updatedAt: now,
        ...(expiresAt !== undefined && { expiresAt }),
      });
    }
  }

  async list(query: {
    readonly space: string;
    readonly prefix?: string;
    readonly after?: string;
    readonly limit: number;
    readonly now: number;
  }): Promise<readonly StoredRecord[]> {
    const { prefix = '', after } = query;
    const found: StoredRecord[] = [];
    for (const record of this.#spaces.get(query.space)?.values() ?? []) {
      if (!record.key.startsWith(prefix) || isExpired(record, query.now)) continue;
      if (after === undefined || compareText(record.key, after) > 0) found.push(record);
    }
    return found.sort((a, b) => compareText(a.key, b.key)).slice(0, query.limit);
  }

  async increment(counter: {
    readonly space: string;
    readonly key: string;
    readonly by: number;
    readonly expiresAt: number;
    readonly now: number;
  }): Promise<number> {
    const { space, key, by, now } = counter;
    const record = this.#live(space, key, now);
    const value = counterValue(record?.value, space, key) + by;
    this.#set(space, {
      key,
      value: Json.of<JsonValue>(value),
      version: (record?.version ?? 0) + 1,
      expiresAt: record?.expiresAt ?? counter.expiresAt,
      updatedAt: now,
    });
    return value;
  }

  sweep(now: number, limit: number): number {
    let swept = 0;
    for (const records of this.#spaces.values()) {
      for (const record of records.values()) {
        if (swept === limit) return swept;
        if (isExpired(record, now)) {
          records.delete(record.key);
          swept += 1;
        }
      }
    }
    return swept;
  }

  #live(space: string, key: string, now: number): StoredRecord | undefined {
    const record = this.#spaces.get(space)?.get(key);
    return record === undefined || isExpired(record, now) ? undefined : record;
  }

  #set(space: string, record: StoredRecord): void {
    let records = this.#spaces.get(space);
    if (records === undefined) this.#spaces.set(space, (records = new Map()));
    records.set(record.key, record);
  }
}

function isExpired(record: StoredRecord, now: number): boolean {
  return record.expiresAt !== undefined && record.expiresAt <= now;
}

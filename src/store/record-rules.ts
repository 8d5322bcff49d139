import { Json, type JsonValue } from '../protocol/index.ts';
import type { RecordStore, RecordWrite, StoredRecord } from './contract.ts';
import { counterValue } from './stored-format.ts';

/** The record rows of a local store. */
export interface RecordRows {
  /** Undefined for an expired record. */
  find(space: string, key: string, now: number): StoredRecord | undefined;
  put(space: string, record: StoredRecord): void;
  remove(space: string, key: string): void;
}

/** Whether every expected version is the current one. */
export function holds(rows: RecordRows, writes: readonly RecordWrite[], now: number): boolean {
  return writes.every(
    ({ space, key, ifVersion }) =>
      ifVersion === undefined || (rows.find(space, key, now)?.version ?? 0) === ifVersion,
  );
}

export function applyWrites(rows: RecordRows, writes: readonly RecordWrite[], now: number): void {
  for (const { space, key, value, expiresAt } of writes) {
    if (value === undefined) {
      rows.remove(space, key);
      continue;
    }
    const version = (rows.find(space, key, now)?.version ?? 0) + 1;
    const expiry = expiresAt !== undefined && { expiresAt };
    rows.put(space, { key, value, version, updatedAt: now, ...expiry });
  }
}

/** A counter keeps the expiry of its first increment. */
export function increment(
  rows: RecordRows,
  counter: Parameters<RecordStore['increment']>[0],
): number {
  const { space, key, by, now } = counter;
  const before = rows.find(space, key, now);
  const value = counterValue(before?.value, space, key) + by;
  rows.put(space, {
    key,
    value: Json.of<JsonValue>(value),
    version: (before?.version ?? 0) + 1,
    expiresAt: before?.expiresAt ?? counter.expiresAt,
    updatedAt: now,
  });
  return value;
}

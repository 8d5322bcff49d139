import type { Json, JsonValue } from '../protocol/index.ts';

export interface RecordWrite {
  readonly space: string;
  readonly key: string;
  /** Absent: delete. */
  readonly value?: Json<JsonValue>;
  readonly expiresAt?: number;
  /**
   * The version expected before any of the writes: 0 for "must not exist". Unset: whatever is there
   * is replaced.
   */
  readonly ifVersion?: number;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Json<JsonValue>;
  /** Counts the writes of this key, from 1; starts anew after a deletion or an expiry. */
  readonly version: number;
  readonly expiresAt?: number;
  readonly updatedAt: number;
}

/** Small documents in named spaces. Rules and words: contract.ts. */
export interface RecordStore {
  get(space: string, key: string, now: number): Promise<StoredRecord | undefined>;
  /** False when an `ifVersion` did not hold; then nothing was written. */
  write(writes: readonly RecordWrite[], now: number): Promise<boolean>;
  /** In the order of the keys, by code points. */
  list(query: {
    readonly space: string;
    readonly prefix?: string;
    readonly after?: string;
    readonly limit: number;
    readonly now: number;
  }): Promise<readonly StoredRecord[]>;
  /**
   * Adds to a counter and returns its new value. A counter starts at 0, vanishes at the `expiresAt`
   * of the call that started it, and can be read as a record that holds a number.
   */
  increment(counter: {
    readonly space: string;
    readonly key: string;
    readonly by: number;
    readonly expiresAt: number;
    readonly now: number;
  }): Promise<number>;
}

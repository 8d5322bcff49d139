import { LegateError } from '../protocol/index.ts';
import { StoredFormat, type StoredFormatOptions } from './stored-format.ts';
import type { RecordStore, RecordWrite, StoredRecord } from './sub-stores.ts';

/**
 * The name, store and format of a space.
 * @example
 * const options: RecordSpaceOptions<Note> = { records: store.records, space: 'notes', schema: note };
 */
interface RecordSpaceOptions<T> extends Omit<StoredFormatOptions<T>, 'name'> {
  readonly records: RecordStore;
  readonly space: string;
  /** @default that of the store */
  readonly clock?: { now(): number };
}

/** A record whose value is decoded. */
export interface SpaceRecord<T> extends Omit<StoredRecord, 'value'> {
  readonly value: T;
}

/** A new value, and the writes of the same transaction. */
export interface RecordChange<T> {
  readonly value: T;
  readonly expiresAt?: number | undefined;
  readonly also?: readonly RecordWrite[];
}

type Changing<Change> = Change | Promise<Change>;

interface RecordRange {
  readonly after?: string | undefined;
  readonly limit?: number;
}

const pageSize = 200;

/** Records after `after` in the order of their keys, at most `limit`. Reads page by page. */
export async function* listRecords(
  records: RecordStore,
  query: RecordRange & {
    readonly space: string;
    readonly prefix?: string | undefined;
    readonly clock: { now(): number };
  },
): AsyncGenerator<StoredRecord> {
  const { space, prefix = '', clock, limit: most = Infinity } = query;
  let { after } = query;
  for (let left = most; left > 0;) {
    const limit = Math.min(pageSize, left);
    const start = after === undefined ? {} : { after };
    const page = await records.list({ space, prefix, limit, now: clock.now(), ...start });
    yield* page;
    after = page.at(-1)?.key;
    left = page.length < limit ? 0 : left - limit;
  }
}

/**
 * One space of a record store whose values are of one kind.
 * @example
 * const notes = new RecordSpace({ records: store.records, space: 'notes', schema: note });
 * await notes.change('today', (before) => ({ value: { text: `${before?.value.text ?? ''}!` } }));
 */
export class RecordSpace<T> {
  readonly #options: RecordSpaceOptions<T>;
  readonly #clock: { now(): number };
  readonly #format: StoredFormat<T>;

  constructor(options: RecordSpaceOptions<T>) {
    this.#options = options;
    this.#format = new StoredFormat({ ...options, name: `record of ${options.space}` });
    this.#clock = options.clock ?? options.records.clock;
  }

  async get(key: string): Promise<SpaceRecord<T> | undefined> {
    const { records, space } = this.#options;
    const stored = await records.get(space, key, this.#clock.now());
    return stored && this.#decode(stored);
  }

  /** Records after `after` in the order of their keys, at most `limit`. Reads page by page. */
  async *list(prefix?: string, range: RecordRange = {}): AsyncGenerator<SpaceRecord<T>> {
    for await (const stored of this.#stored(prefix, range)) yield this.#decode(stored);
  }

  /** Keys in their order; values are not decoded. */
  async *keys(prefix?: string): AsyncGenerator<string> {
    for await (const { key } of this.#stored(prefix)) yield key;
  }

  /** All values, in the order of their keys. */
  values(prefix?: string): Promise<T[]> {
    return Array.fromAsync(this.list(prefix), ({ value }) => value);
  }

  /** A write for a transaction. Without a value it deletes the record. */
  toWrite(
    key: string,
    value?: T,
    options: Pick<RecordWrite, 'expiresAt' | 'ifVersion'> = {},
  ): RecordWrite {
    const { space } = this.#options;
    if (value === undefined) return { space, key, ...options };
    return { space, key, value: this.#format.encode(value), ...options };
  }

  /** Returns false if an `ifVersion` did not match; then nothing was written. */
  write(...writes: readonly RecordWrite[]): Promise<boolean> {
    return this.#options.records.write(writes, this.#clock.now());
  }

  /**
   * Updates a value by optimistic concurrency: `make` computes the new value, or returns undefined to
   * keep the record unchanged. It runs again if another process changed the record meanwhile, or if an
   * `ifVersion` of `also` did not match.
   */
  change(
    key: string,
    make: (before: SpaceRecord<T> | undefined) => Changing<RecordChange<T>>,
    attempts?: number,
  ): Promise<T>;
  change(
    key: string,
    make: (before: SpaceRecord<T> | undefined) => Changing<RecordChange<T> | undefined>,
    attempts?: number,
  ): Promise<T | undefined>;
  async change(
    key: string,
    make: (before: SpaceRecord<T> | undefined) => Changing<RecordChange<T> | undefined>,
    attempts = 10,
  ): Promise<T | undefined> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const before = await this.get(key);
      const changed = await make(before);
      if (changed === undefined) return before?.value;
      const { value, expiresAt, also = [] } = changed;
      const write = this.toWrite(key, value, {
        ifVersion: before?.version ?? 0,
        ...(expiresAt !== undefined && { expiresAt }),
      });
      if (await this.write(write, ...also)) return value;
    }
    throw new LegateError(
      'UNAVAILABLE',
      `${this.#options.space} "${key}" is being changed by other processes; try again`,
    );
  }

  #stored(prefix?: string, range: RecordRange = {}): AsyncGenerator<StoredRecord> {
    const { records, space } = this.#options;
    return listRecords(records, { space, prefix, clock: this.#clock, ...range });
  }

  #decode({ value, ...rest }: StoredRecord): SpaceRecord<T> {
    return { ...rest, value: this.#format.decode(value.value, rest.key) };
  }
}

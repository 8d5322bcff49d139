import type { ZodType } from 'zod';
import { Json, type JsonValue, LegateError } from '../protocol/index.ts';
import type { RecordStore, RecordWrite, StoredRecord } from './sub-stores.ts';

/**
 * How one kind of value is stored, and how former versions of it are read.
 * @example
 * const options: StoredFormatOptions<Note> = {
 *   name: 'note', version: 2, schema: note,
 *   upgrades: { 1: (value) => ({ text: value }) }, // version 1 was the text alone
 * };
 */
interface StoredFormatOptions<T> {
  /** What it is, for errors. */
  readonly name: string;
  /** Decodes a value of the present version. */
  readonly schema: ZodType<T>;
  /** Of what is written. A value of version 1 does not name its version; later ones are objects. @default 1 */
  readonly version?: number;
  /** Makes a value of the next version from one of the version that it is given for. */
  readonly upgrades?: Readonly<Record<number, (value: JsonValue) => JsonValue>>;
}

/**
 * Encodes values for a store and decodes what is read back.
 * @example const turnRequest = new StoredFormat({ name: 'turn request', schema }).decode(value, id);
 */
export class StoredFormat<T> {
  readonly #options: Required<StoredFormatOptions<T>>;

  constructor(options: StoredFormatOptions<T>) {
    this.#options = { version: 1, upgrades: {}, ...options };
  }

  encode(value: T): Json<JsonValue> {
    const { version } = this.#options;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a schema of stored values describes is JSON
    return Json.of((version === 1 ? value : { ...value, v: version }) as JsonValue);
  }

  /** `key` names the value in errors. Rejects with `STORE_VERSION` what cannot be decoded. */
  decode(stored: JsonValue, key: string): T {
    const { schema, version, upgrades } = this.#options;
    const written = versionOf(stored);
    if (written > version) {
      throw this.#unreadable(key, written, `only versions up to ${version} are known`);
    }
    let value = stored;
    for (let from = written; from < version; from += 1) value = upgrades[from]?.(value) ?? value;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const place = ['value', ...(issue?.path ?? [])].join('.');
    throw this.#unreadable(key, written, `${place}: ${issue?.message}`);
  }

  #unreadable(key: string, version: number, why: string): LegateError {
    return new LegateError(
      'STORE_VERSION',
      `can't read ${this.#options.name} "${key}" (version ${version}): ${why}; ` +
        'it was written by another version of Legate: use that version, or delete it',
    );
  }
}

function versionOf(value: JsonValue): number {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const version = isObject && 'v' in value ? value['v'] : undefined;
  return typeof version === 'number' ? version : 1;
}

/** The value of a counter. Throws for a record that holds something other than a number. */
export function counterValue(
  value: Json<JsonValue> | undefined,
  space: string,
  key: string,
): number {
  if (value === undefined) return 0;
  if (typeof value.value === 'number') return value.value;
  throw new LegateError(
    'INTERNAL',
    `record ${space}/${key} is not a counter: its value is not a number`,
  );
}

/**
 * What a space holds, and where.
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

const pageSize = 200;

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

  /** Records in the order of their keys, read page by page: those behind `after`, at most `limit`. */
  async *list(
    prefix?: string,
    range: { readonly after?: string | undefined; readonly limit?: number } = {},
  ): AsyncGenerator<SpaceRecord<T>> {
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

  /** A write for a transaction; without a value it deletes. */
  toWrite(
    key: string,
    value?: T,
    options: Pick<RecordWrite, 'expiresAt' | 'ifVersion'> = {},
  ): RecordWrite {
    const { space } = this.#options;
    if (value === undefined) return { space, key, ...options };
    return { space, key, value: this.#format.encode(value), ...options };
  }

  /** False when an `ifVersion` did not hold; then nothing was written. */
  write(...writes: readonly RecordWrite[]): Promise<boolean> {
    return this.#options.records.write(writes, this.#clock.now());
  }

  /**
   * Replaces a value by one that is made from it. `make` runs again when another process changed the
   * record meanwhile; `also` is written in the same transaction.
   */
  async change(
    key: string,
    make: (before: SpaceRecord<T> | undefined) => {
      readonly value: T;
      readonly expiresAt?: number | undefined;
      readonly also?: readonly RecordWrite[];
    },
    attempts = 10,
  ): Promise<T> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const before = await this.get(key);
      const { value, expiresAt, also = [] } = make(before);
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

  async *#stored(
    prefix = '',
    range: { readonly after?: string | undefined; readonly limit?: number } = {},
  ): AsyncGenerator<StoredRecord> {
    const { records, space } = this.#options;
    let { after } = range;
    for (let left = range.limit ?? Infinity; left > 0;) {
      const now = this.#clock.now();
      const limit = Math.min(pageSize, left);
      const start = after === undefined ? {} : { after };
      const page = await records.list({ space, prefix, limit, now, ...start });
      yield* page;
      after = page.at(-1)?.key;
      left = page.length < limit ? 0 : left - limit;
    }
  }

  #decode({ value, ...rest }: StoredRecord): SpaceRecord<T> {
    return { ...rest, value: this.#format.decode(value.value, rest.key) };
  }
}

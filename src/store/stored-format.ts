import type { ZodType } from 'zod';
import { Json, type JsonValue, LegateError } from '../protocol/index.ts';

/**
 * The stored format of one kind of value, and the upgrades from its earlier versions.
 * @example
 * const options: StoredFormatOptions<Note> = {
 *   name: 'note', version: 2, schema: note,
 *   upgrades: { 1: (value) => ({ text: value }) }, // version 1 was the text alone
 * };
 */
export interface StoredFormatOptions<T> {
  /** The name of the format, for errors. */
  readonly name: string;
  /** Decodes a value of the current version. */
  readonly schema: ZodType<T>;
  /**
   * The version that is written. A value of version 1 does not contain its version; values of later
   * versions are objects. @default 1
   */
  readonly version?: number;
  /** By version: converts a value of this version to the next version. */
  readonly upgrades?: Readonly<Record<number, (value: JsonValue) => JsonValue>>;
}

/**
 * Encodes values for a store and decodes stored values.
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

  /** `key` names the value in errors. Throws `STORE_VERSION` for a value that cannot be decoded. */
  decode(stored: JsonValue, key: string): T {
    const { schema, version, upgrades } = this.#options;
    const written = versionOf(stored);
    if (written > version) {
      throw this.#unreadable(key, written, `this program supports versions up to ${version}`);
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

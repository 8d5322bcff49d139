import { type FieldViolation, invalidParams } from '../errors.ts';
import { type DecodeLimits, type DecodeOptions, defaultDecodeLimits } from './options.ts';

/** An object of unknown content, as `JSON.parse` returns it. */
export type Wire = { readonly [field: string]: unknown };

/** Bounds the response: a small body could otherwise cause a large error. */
const maxViolations = 16;

/**
 * The position of a decoder in its value, and the violations found so far. Field readers record a
 * violation and return a placeholder, so that one error reports several violations; `finish` throws it.
 * The path is kept as segments and joined only for a violation.
 */
export class Reader {
  readonly limits: DecodeLimits;
  readonly newMessageId: (() => string) | undefined;
  readonly allowEmptyParts: boolean;
  readonly fromQuery: boolean;
  #path: (string | number)[] = [];
  #violations: FieldViolation[] | undefined;

  constructor(options?: DecodeOptions) {
    this.limits =
      options?.limits === undefined
        ? defaultDecodeLimits
        : { ...defaultDecodeLimits, ...options.limits };
    this.newMessageId = options?.newMessageId;
    this.allowEmptyParts = options?.allowEmptyParts ?? false;
    this.fromQuery = options?.fromQuery ?? false;
  }

  enter(segment: string | number): void {
    this.#path.push(segment);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Records a violation of a field of the current object; `''` is the object itself. */
  fail(field: string | number, description: string): void {
    this.#violations ??= [];
    this.#violations.push({ field: this.#pathOf(field), description });
    if (this.#violations.length >= maxViolations) this.finish();
  }

  /** Records a violation after which the decoder cannot continue, and throws all of them. */
  stop(field: string | number, description: string): never {
    this.#violations ??= [];
    this.#violations.push({ field: this.#pathOf(field), description });
    throw invalidParams(...this.#violations);
  }

  /** Throws `INVALID_PARAMS` if there are violations. */
  finish(): void {
    if (this.#violations !== undefined) throw invalidParams(...this.#violations);
  }

  #pathOf(field: string | number): string {
    let path = '';
    for (const segment of [...this.#path, field]) {
      if (typeof segment === 'number') path += `[${segment}]`;
      else if (segment !== '') path += path === '' ? segment : `.${segment}`;
    }
    return path;
  }
}

export function isObject(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Runs one decoder over one value. */
export function decode<T>(
  wire: unknown,
  options: DecodeOptions | undefined,
  read: (reader: Reader, wire: Wire) => T,
): T {
  const reader = new Reader(options);
  if (!isObject(wire)) throw invalidParams({ field: '', description: 'must be an object' });
  const value = read(reader, wire);
  reader.finish();
  return value;
}

/** Reads an object that may be absent. */
export function optionalObject<T>(
  reader: Reader,
  value: unknown,
  field: string,
  read: (reader: Reader, wire: Wire) => T,
): T | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) {
    reader.fail(field, 'must be an object');
    return undefined;
  }
  reader.enter(field);
  const result = read(reader, value);
  reader.leave();
  return result;
}

/**
 * Reads a required object. Throws if it is missing or invalid: the decoder cannot continue without it.
 */
export function requiredObject<T>(
  reader: Reader,
  value: unknown,
  field: string,
  read: (reader: Reader, wire: Wire) => T,
): T {
  if (!isObject(value)) {
    const missing = value === undefined || value === null;
    return reader.stop(field, missing ? 'is required' : 'must be an object');
  }
  reader.enter(field);
  const result = read(reader, value);
  reader.leave();
  return result;
}

/** Reads a list of objects that may be absent. */
export function optionalList<T>(
  reader: Reader,
  value: unknown,
  field: string,
  read: (reader: Reader, wire: Wire) => T,
): T[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    reader.fail(field, 'must be an array');
    return undefined;
  }
  const list: T[] = [];
  reader.enter(field);
  for (let index = 0; index < value.length; index += 1) {
    const item: unknown = value[index];
    if (isObject(item)) {
      reader.enter(index);
      list.push(read(reader, item));
      reader.leave();
    } else {
      reader.fail(index, 'must be an object');
    }
  }
  reader.leave();
  return list;
}

/** Reads a list like `optionalList`, of `maxListLength` objects at most. */
export function boundedList<T>(
  reader: Reader,
  value: unknown,
  field: string,
  read: (reader: Reader, wire: Wire) => T,
): T[] | undefined {
  const { maxListLength } = reader.limits;
  if (!Array.isArray(value) || value.length <= maxListLength) {
    return optionalList(reader, value, field, read);
  }
  reader.fail(field, `must have at most ${maxListLength} entries`);
  return undefined;
}

import type { JsonObject, JsonValue } from '../protocol/index.ts';
import { didYouMean, suggest } from './did-you-mean.ts';
import type { Field, NumberRule } from './field.ts';

/**
 * A mapping of a document, read key by key. The reader asks for every key it knows and then
 * calls `finish()`, which reports the keys that nobody asked for.
 */
export class Section {
  readonly field: Field;
  readonly #asked = new Set<string>();

  constructor(field: Field) {
    this.field = field;
  }

  has(key: string): boolean {
    return this.#value(key) !== undefined;
  }

  /** What stands under a key; undefined also for a key without a value. */
  get(key: string): Field | undefined {
    this.#asked.add(key);
    const value = this.#value(key);
    return value === undefined || value === null ? undefined : this.field.at(key);
  }

  /** As `get`, and an empty value counts: `set_slots: [{name: null}]`. */
  getEvenEmpty(key: string): Field | undefined {
    this.#asked.add(key);
    return this.#value(key) === undefined ? undefined : this.field.at(key);
  }

  /** What must stand under a key. */
  require(key: string, hint?: string): Field | undefined {
    const field = this.get(key);
    if (field === undefined) this.field.keyError(`"${key}" is missing`, { hint });
    return field;
  }

  text(key: string): string | undefined {
    return this.get(key)?.text();
  }

  name(key: string): string | undefined {
    return this.get(key)?.name();
  }

  boolean(key: string): boolean | undefined {
    return this.get(key)?.boolean();
  }

  number(key: string, rule?: NumberRule): number | undefined {
    return this.get(key)?.number(rule);
  }

  list(key: string): readonly Field[] {
    return this.get(key)?.list() ?? [];
  }

  /** A list of texts. */
  names(key: string): readonly string[] {
    return this.list(key)
      .map((item) => item.name())
      .filter((name) => name !== undefined);
  }

  section(key: string): Section | undefined {
    return this.get(key)?.section();
  }

  /** A mapping, read with all its keys. */
  mapping<T>(key: string, read: (inner: Section) => T): T | undefined {
    const section = this.section(key);
    if (section === undefined) return undefined;
    const value = read(section);
    section.finish();
    return value;
  }

  /** A list of mappings, each read with all its keys; what cannot be read is left out. */
  items<T>(key: string, read: (item: Section) => T | undefined): readonly T[] {
    return this.list(key).flatMap((field) => {
      const section = field.section();
      const value = section && read(section);
      section?.finish();
      return value === undefined ? [] : [value];
    });
  }

  /** A mapping from names of the author's; what cannot be read is left out. */
  record<T>(
    key: string,
    read: (field: Field, name: string) => T | undefined,
  ): Readonly<Record<string, T>> | undefined {
    const entries = this.section(key)?.entries();
    const values = entries?.flatMap(([name, field]) => {
      const value = read(field, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return values && Object.fromEntries(values);
  }

  object(key: string): JsonObject | undefined {
    return this.get(key)?.object();
  }

  json(key: string): JsonValue | undefined {
    return this.get(key)?.value;
  }

  secret(key: string): string | undefined {
    return this.get(key)?.secret();
  }

  /** All there is, for mappings whose keys are names of the author's. */
  entries(): readonly (readonly [string, Field])[] {
    const keys = Object.keys(this.field.value as JsonObject);
    for (const key of keys) this.#asked.add(key);
    return keys.map((key) => [key, this.field.at(key)]);
  }

  /** Reports keys that nobody asked for. */
  finish(): void {
    for (const key of this.#unknown()) this.#refuse(key);
  }

  /**
   * As `finish`, where other engines may have keys of their own: what looks like a slip is an
   * error, and everything else a warning.
   */
  finishLeniently(): void {
    for (const key of this.#unknown()) {
      if (didYouMean(key, this.#asked) !== undefined) this.#refuse(key);
      else this.field.at(key).keyWarn(`"${key}" is left out, nothing here would read it`);
    }
  }

  #unknown(): readonly string[] {
    return Object.keys(this.field.value as JsonObject).filter((key) => !this.#asked.has(key));
  }

  #refuse(key: string): void {
    const hint = suggest(key, this.#asked, `known here: ${[...this.#asked].join(', ')}`);
    this.field.at(key).keyError(`unknown key "${key}"`, { hint });
  }

  #value(key: string): JsonValue | undefined {
    const value = this.field.value as JsonObject;
    return Object.hasOwn(value, key) ? value[key] : undefined;
  }
}

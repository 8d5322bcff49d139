import {
  didYouMean,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  suggest,
} from '../protocol/index.ts';
import { type Path, type Place, type ProblemDetails, type Problems, TextError } from './problem.ts';
import type { YamlFile } from './yaml-file.ts';

export interface NumberRule {
  readonly minimum?: number;
  readonly maximum?: number;
  /** @default false */
  readonly isInteger?: boolean;
}

/** A value of a document with its position; reports problems at that position. */
export class Field {
  readonly file: YamlFile;
  readonly path: Path;
  readonly value: JsonValue;
  readonly problems: Problems;

  constructor(file: YamlFile, path: Path, value: JsonValue, problems: Problems) {
    this.file = file;
    this.path = path;
    this.value = value;
    this.problems = problems;
  }

  /** The whole document. */
  static root(file: YamlFile, problems: Problems): Field {
    return new Field(file, [], file.value, problems);
  }

  get place(): Place {
    return this.file.place(this.path);
  }

  /** Whether the value needs a variable that is not set. That has been reported. */
  get isUnset(): boolean {
    return this.file.isUnset(this.path);
  }

  get keyPlace(): Place {
    return this.file.keyPlace(this.path);
  }

  /** @param characters offset of the error in the text of this value */
  error(message: string, hint?: string, characters = 0): void {
    this.problems.error(this.file.place(this.path, characters), message, { hint });
  }

  warn(message: string, hint?: string, characters = 0): void {
    this.problems.warn(this.file.place(this.path, characters), message, { hint });
  }

  /** Reports an error at the key, for errors that are not about the value itself. */
  keyError(message: string, details?: ProblemDetails): void {
    this.problems.error(this.keyPlace, message, details);
  }

  keyWarn(message: string, details?: ProblemDetails): void {
    this.problems.warn(this.keyPlace, message, details);
  }

  /** A text. Numbers and booleans are converted to text. */
  text(): string | undefined {
    const { value } = this;
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    return this.#expected('a text');
  }

  /** A text that is not empty. */
  name(): string | undefined {
    const text = this.text();
    if (text === undefined || text.trim() !== '') return text;
    return this.#expected('a text that is not empty');
  }

  boolean(): boolean | undefined {
    const value = this.#typed();
    return typeof value === 'boolean' ? value : this.#expected('true or false');
  }

  number({ minimum, maximum, isInteger = false }: NumberRule = {}): number | undefined {
    const value = this.#typed();
    const what = isInteger ? 'a whole number' : 'a number';
    if (typeof value !== 'number' || (isInteger && !Number.isInteger(value))) {
      return this.#expected(what);
    }
    if (minimum !== undefined && value < minimum) {
      return this.#expected(`${what} that is not less than ${minimum}`);
    }
    if (maximum !== undefined && value > maximum) {
      return this.#expected(`${what} that is not more than ${maximum}`);
    }
    return value;
  }

  oneOf<T extends string>(values: readonly T[], { ignoreCase = false } = {}): T | undefined {
    const { value } = this;
    const found = values.find(
      (one) =>
        one === value ||
        (ignoreCase && typeof value === 'string' && one.toLowerCase() === value.toLowerCase()),
    );
    return found ?? this.#expected(`one of ${values.join(', ')}`);
  }

  /** The document as a mapping; an empty document has no keys. */
  static document(file: YamlFile, problems: Problems): Section {
    const section = file.value === null ? undefined : Field.root(file, problems).section();
    return section ?? new Section(new Field(file, [], {}, problems), {});
  }

  /** The items of a list, or the value itself if it is not a list. */
  oneOrMore(): readonly Field[] {
    return Array.isArray(this.value) ? (this.list() ?? []) : [this];
  }

  list(): readonly Field[] | undefined {
    if (!Array.isArray(this.value)) return this.#expected('a list');
    return this.value.map((_, at) => this.at(at));
  }

  section(): Section | undefined {
    const keys = this.object();
    return keys && new Section(this, keys);
  }

  object(): JsonObject | undefined {
    return isJsonObject(this.value) ? this.value : this.#expected('a mapping');
  }

  isMapping(): boolean {
    return isJsonObject(this.value);
  }

  /** Runs a parser of this value, and reports an error in its text. */
  attempt<T>(parse: () => T, what = ''): T | undefined {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof TextError)) throw error;
      this.error(`${what}${error.reason}`, undefined, error.offset);
      return undefined;
    }
  }

  /** A text that must come from the environment; its value is never part of a problem. */
  secret(): string | undefined {
    if (this.file.isReference(this.path) && typeof this.value === 'string') return this.value;
    const key = this.path.findLast((one) => typeof one === 'string') ?? 'VALUE';
    const hint = `write "\${${key.toUpperCase()}}"`;
    if (this.problems.isFatal) {
      this.error('a secret must not be written into a file', hint);
      return undefined;
    }
    this.warn('a secret is written into this file', hint);
    return this.text();
  }

  /** The value of a key or an index. */
  at(key: string | number): Field {
    const { file, path, value, problems } = this;
    const mapped = isJsonObject(value) ? value[key] : null;
    const held: JsonValue | undefined = Array.isArray(value) ? value[Number(key)] : mapped;
    return new Field(file, [...path, key], held ?? null, problems);
  }

  /**
   * The value as a boolean or a number, if it is written as a text: values from variables are always texts,
   * and in files that other engines also read, numbers and booleans can be quoted.
   */
  #typed(): JsonValue {
    const { value, problems } = this;
    if (typeof value !== 'string') return value;
    if (!problems.isTolerant && !this.file.isInterpolated(this.path)) return value;
    const text = value.trim();
    if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
    return text !== '' && Number.isFinite(Number(text)) ? Number(text) : value;
  }

  #expected(what: string): undefined {
    // An unset variable has been reported.
    if (!this.isUnset) this.error(`must be ${what}, but is ${this.#described()}`);
    return undefined;
  }

  /** The value as it is written, shortened if it is long; only its type if it can be a secret. */
  #described(): string {
    const { value, path } = this;
    if (value === null) return 'empty';
    if (Array.isArray(value)) return 'a list';
    if (typeof value === 'object') return 'a mapping';
    const isSecret =
      this.file.isInterpolated(path) || path.some((key) => secretName.test(String(key)));
    if (isSecret) return typeof value === 'string' ? 'another text' : `a ${typeof value}`;
    const text = typeof value === 'string' && value.length > 60 ? `${value.slice(0, 60)}…` : value;
    return JSON.stringify(text);
  }
}

/** Keys whose values can be secrets. `max_tokens` is not one of them. */
const secretName = /secret|password|(?<!max_\w*)token|credential|api_?key|authorization|cookie/i;

/**
 * A mapping of a document, read key by key. The reader reads every supported key and then calls
 * `finish()`, which reports all others.
 */
export class Section {
  readonly field: Field;
  readonly #values: JsonObject;
  readonly #known = new Set<string>();

  constructor(field: Field, values: JsonObject) {
    this.field = field;
    this.#values = values;
  }

  has(key: string): boolean {
    return this.#value(key) !== undefined;
  }

  /** The value of a key; undefined also for a key without a value. */
  get(key: string): Field | undefined {
    this.#known.add(key);
    const value = this.#value(key);
    return value === undefined || value === null ? undefined : this.field.at(key);
  }

  /** As `get`, but also for an empty value: `set_slots: [{name: null}]`. */
  getEvenEmpty(key: string): Field | undefined {
    this.#known.add(key);
    return this.#value(key) === undefined ? undefined : this.field.at(key);
  }

  /** The value of a required key. */
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

  /** A list of mappings, each read with all its keys. Invalid items are left out. */
  items<T>(key: string, read: (item: Section) => T | undefined): readonly T[] {
    return this.list(key).flatMap((field) => {
      const section = field.section();
      const value = section && read(section);
      section?.finish();
      return value === undefined ? [] : [value];
    });
  }

  /** A mapping whose keys are names chosen by the author. Invalid values are left out. */
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

  /** All keys and values, for mappings whose keys are names chosen by the author. */
  entries(): readonly (readonly [string, Field])[] {
    const keys = Object.keys(this.#values);
    for (const key of keys) this.#known.add(key);
    return keys.map((key) => [key, this.field.at(key)]);
  }

  /** Reports unknown keys. */
  finish(): void {
    if (this.field.problems.isTolerant) return this.finishLeniently();
    for (const key of this.#unknown()) this.#refuse(key);
  }

  /**
   * As `finish`, for files in which other engines have their own keys: a likely typo is an error, any other
   * unknown key a warning.
   */
  finishLeniently(): void {
    const unknown = this.#unknown();
    for (const key of unknown) {
      if (didYouMean(key, this.#known) !== undefined) this.#refuse(key);
      else this.field.at(key).keyWarn(`"${key}" has no effect and is ignored`);
    }
    for (const key of unknown) this.#known.add(key);
  }

  #unknown(): readonly string[] {
    return Object.keys(this.#values).filter((key) => !this.#known.has(key));
  }

  #refuse(key: string): void {
    const hint = suggest(key, this.#known, `known here: ${[...this.#known].join(', ')}`);
    this.field.at(key).keyError(`unknown key "${key}"`, { hint });
  }

  #value(key: string): JsonValue | undefined {
    return Object.hasOwn(this.#values, key) ? this.#values[key] : undefined;
  }
}

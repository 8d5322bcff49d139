import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type YAMLMap,
} from 'yaml';
import type { JsonValue } from '../protocol/index.ts';
import {
  formatPath,
  type Path,
  type Place,
  type Position,
  type Problem,
  type Problems,
} from './problem.ts';
import { parseYaml } from './parse-yaml.ts';

/** A text and its name in problems; the name need not be an existing file. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

/** Decides whether to report an unset variable. It need not be reported if the value is never read. */
export type OnUnset = (path: Path, report: (severity: Problem['severity']) => void) => void;

export interface YamlOptions {
  /** Values for `${NAME}`. @default none: `${NAME}` is ordinary text */
  readonly environment?: Environment;
  /**
   * Called for a variable that is not set, with the path of its value.
   * @default it is an error
   */
  readonly onUnset?: OnUnset;
  /** Whether a duplicate key prevents a project from running; the first one counts. @default true */
  readonly areDuplicatesFatal?: boolean;
  readonly limits?: Partial<YamlLimits>;
}

const defaultLimits: YamlLimits = { length: 4_000_000, values: 200_000, depth: 100 };

/** A parsed YAML document with the position of each of its values. */
export class YamlFile {
  readonly file: string;
  /** The document as JSON, with variables replaced; null if it is empty or invalid. */
  readonly value: JsonValue;
  /** Whether the text is invalid YAML; the problems contain the reason. */
  readonly isBroken: boolean;
  readonly #text: string;
  readonly #lines: LineCounter;
  readonly #spots: ReadonlyMap<string, Spot>;

  private constructor(
    source: Source,
    lines: LineCounter,
    values: { value: JsonValue; spots: ReadonlyMap<string, Spot> } | undefined,
  ) {
    this.file = source.file;
    this.#text = source.text;
    this.#lines = lines;
    this.value = values?.value ?? null;
    this.isBroken = values === undefined;
    this.#spots = values?.spots ?? new Map<string, Spot>();
  }

  /** Parses a document. Reports all errors to `problems` instead of throwing them. */
  static parse(source: Source, problems: Problems, options: YamlOptions = {}): YamlFile {
    const limits = { ...defaultLimits, ...options.limits };
    let broken = new YamlFile(source, new LineCounter(), undefined);
    const report: Report = (offset, message, hint, path = [], severity = 'error') => {
      const place = { position: broken.#position(offset), path: formatPath(path) };
      if (severity === 'error') problems.error(place, message, { hint });
      else if (severity === 'warning') problems.warn(place, message, { hint });
      else problems.error(place, message, { hint, isFatal: false });
    };
    if (source.text.length > limits.length) {
      report(0, `longer than ${limits.length} characters`, 'split the file');
      return broken;
    }
    try {
      const { document, text, lines } = parseYaml(source.text);
      const read = { ...source, text };
      broken = new YamlFile(read, lines, undefined);
      for (const { pos, message } of document.errors.slice(0, 20)) {
        report(pos[0], `invalid YAML: ${firstSentence(message)}`);
      }
      for (const { pos, message } of document.warnings.slice(0, 20)) {
        const place = { position: broken.#position(pos[0]), path: '' };
        problems.warn(place, firstSentence(message));
      }
      if (document.errors.length > 0) return broken;
      const values = new Values(document, options, limits, report);
      return new YamlFile(read, lines, values.read());
    } catch (error) {
      // The parser is recursive: excessive nesting overflows the stack.
      if (!(error instanceof RangeError)) throw error;
      report(0, 'invalid YAML: nested too deeply');
      return broken;
    }
  }

  /** The position of the value; for a path that does not exist, of its nearest existing parent. */
  at(path: Path, characters = 0): Position {
    const { value } = this.#spot(path);
    return this.#position(value + (characters > 0 ? this.#inside(path, value, characters) : 0));
  }

  /** The position of the value's key, or of the value itself if it has no key. */
  keyAt(path: Path): Position {
    const { key, value } = this.#spot(path);
    return this.#position(key ?? value);
  }

  place(path: Path, characters?: number): Place {
    return { position: this.at(path, characters), path: formatPath(path) };
  }

  keyPlace(path: Path): Place {
    return { position: this.keyAt(path), path: formatPath(path) };
  }

  /** Whether the value is exactly one `${NAME}`. */
  isReference(path: Path): boolean {
    return this.#spots.get(pathKey(path))?.variables === 'whole';
  }

  /** Whether the value contains a variable, so that its type is not the author's choice. */
  isInterpolated(path: Path): boolean {
    return this.#spots.get(pathKey(path))?.variables !== undefined;
  }

  /** Whether the value needs a variable that is not set. That has been reported. */
  isUnset(path: Path): boolean {
    return this.#spots.get(pathKey(path))?.isUnset === true;
  }

  #spot(path: Path): Spot {
    for (let length = path.length; length > 0; length -= 1) {
      const spot = this.#spots.get(pathKey(path.slice(0, length)));
      if (spot !== undefined) return spot;
    }
    return this.#spots.get('') ?? { value: 0 };
  }

  /** The offset of a character in a text, if the file contains the text literally; otherwise 0. */
  #inside(path: Path, start: number, characters: number): number {
    const { text } = this.#spots.get(pathKey(path)) ?? {};
    if (text === undefined) return 0;
    const quote = /['"]/.test(this.#text.charAt(start)) ? 1 : 0;
    const from = start + quote;
    const head = text.slice(0, characters);
    return this.#text.startsWith(head, from) ? quote + characters : 0;
  }

  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.file, line: Math.max(1, line), column: Math.max(1, col) };
  }
}

function pathKey(path: Path): string {
  return path.join('\0');
}

/** Removes the excerpt of the text that the parser can add: it could contain a secret. */
function firstSentence(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/ at line \d+, column \d+:?$/, '');
}

export interface YamlLimits {
  /** Characters of the text. @default 4_000_000 */
  readonly length: number;
  /** Values of the document; every alias counts as the values that it refers to. @default 200_000 */
  readonly values: number;
  /** Nesting of mappings and lists. @default 100 */
  readonly depth: number;
}

/** The source of a value: its offsets in the text, and its variables. */
export interface Spot {
  readonly value: number;
  readonly key?: number;
  /** For a text without variables: the text itself. */
  readonly text?: string;
  readonly variables?: 'whole' | 'part';
  /** Whether one of its variables is not set. */
  readonly isUnset?: true;
}

type Report = (
  offset: number,
  message: string,
  hint?: string,
  path?: Path,
  severity?: Problem['severity'] | 'not fatal',
) => void;

type MutableMapping = { [key: string]: JsonValue };

/** Converts the nodes of a document to JSON and records the source of each value. */
export class Values {
  readonly #document: Document;
  readonly #environment: Environment | undefined;
  readonly #onUnset: OnUnset;
  readonly #areDuplicatesFatal: boolean;
  readonly #limits: YamlLimits;
  readonly #report: Report;
  readonly #spots = new Map<string, Spot>();
  #count = 0;
  #isOver = false;

  /** Without an environment, `${NAME}` is text. */
  constructor(
    document: Document,
    {
      environment,
      onUnset = (_, report) => report('error'),
      areDuplicatesFatal = true,
    }: YamlOptions,
    limits: YamlLimits,
    report: Report,
  ) {
    this.#document = document;
    this.#environment = environment;
    this.#onUnset = onUnset;
    this.#areDuplicatesFatal = areDuplicatesFatal;
    this.#limits = limits;
    this.#report = report;
  }

  /** Undefined if the document exceeds the limits. */
  read(): { value: JsonValue; spots: ReadonlyMap<string, Spot> } | undefined {
    const value = this.#value(this.#document.contents, [], undefined);
    return this.#isOver ? undefined : { value, spots: this.#spots };
  }

  #value(node: unknown, path: Path, key: number | undefined): JsonValue {
    const offset = offsetOf(node) ?? key ?? 0;
    if (!this.#isWithinLimits(offset, path)) return null;
    const target = isAlias(node) ? node.resolve(this.#document) : node;
    // Problems of an alias are reported where it is used; problems of its target, at the target.
    const spot: Spot = { value: offset, ...(key !== undefined && { key }) };
    this.#spots.set(path.join('\0'), spot);
    if (isMap(target)) return this.#mapping(target, path);
    if (isSeq(target)) {
      return target.items.map((item, at) => this.#value(item, [...path, at], undefined));
    }
    return isScalar(target) ? this.#scalar(target.value, path, spot) : null;
  }

  #isWithinLimits(offset: number, path: Path): boolean {
    if (this.#isOver) return false;
    this.#count += 1;
    const trouble =
      path.length > this.#limits.depth
        ? 'nested too deeply'
        : this.#count > this.#limits.values
          ? `more than ${this.#limits.values} values`
          : undefined;
    if (trouble === undefined) return true;
    this.#isOver = true;
    this.#report(offset, trouble, undefined, path);
    return false;
  }

  #mapping(map: YAMLMap, path: Path): JsonValue {
    const result: MutableMapping = {};
    const merged: unknown[] = [];
    const keys = new Set<string>();
    for (const pair of map.items) {
      const key = keyOf(pair.key);
      const at = offsetOf(pair.key) ?? offsetOf(map) ?? 0;
      if (key === undefined) this.#report(at, 'a key must be a plain word', undefined, path);
      else if (key === '<<') merged.push(pair.value);
      else if (['__proto__', 'constructor', 'prototype'].includes(key)) {
        this.#report(at, `"${key}" cannot be a key`, undefined, path);
      } else if (keys.has(key)) {
        const severity = this.#areDuplicatesFatal ? 'error' : 'not fatal';
        const hint = 'keep one of them';
        this.#report(at, `duplicate key "${key}"`, hint, [...path, key], severity);
      } else {
        keys.add(key);
        result[key] = this.#value(pair.value, [...path, key], at);
      }
    }
    for (const source of merged) this.#merge(source, result, path);
    return result;
  }

  /** `<<: *base`: keys that the mapping itself does not have. */
  #merge(source: unknown, into: MutableMapping, path: Path): void {
    const target = isAlias(source) ? source.resolve(this.#document) : source;
    if (isSeq(target)) {
      for (const item of target.items) {
        if (this.#isWithinLimits(offsetOf(source) ?? 0, path)) this.#merge(item, into, path);
      }
      return;
    }
    if (!isMap(target)) {
      this.#report(offsetOf(source) ?? 0, '"<<" needs a mapping', 'write <<: *name', path);
      return;
    }
    for (const pair of target.items) {
      const key = keyOf(pair.key);
      if (key === undefined || Object.hasOwn(into, key) || key === '__proto__') continue;
      if (key === '<<') this.#merge(pair.value, into, path);
      else into[key] = this.#value(pair.value, [...path, key], offsetOf(pair.key));
    }
  }

  #scalar(value: unknown, path: Path, spot: Spot): JsonValue {
    if (typeof value === 'string') return this.#text(value, path, spot);
    if (typeof value === 'boolean' || value === null) return value;
    // JSON has no -0: it would become 0 when it is stored.
    if (typeof value === 'number' && Number.isFinite(value)) return value + 0;
    this.#report(spot.value, 'not a value that JSON knows', 'quote it', path);
    return null;
  }

  #text(written: string, path: Path, spot: Spot): string {
    if (this.#environment === undefined) {
      this.#spots.set(path.join('\0'), { ...spot, text: written });
      return written;
    }
    const { text, missing, isReference, isInterpolated } = interpolate(written, this.#environment);
    for (const name of missing) {
      const hint = `set it, or write $\${${name}} for a dollar sign and braces`;
      const message = `environment variable ${name} is not set`;
      this.#onUnset(path, (severity) => {
        this.#report(spot.value, message, hint, path, severity);
      });
    }
    const variables = isInterpolated && ({ variables: isReference ? 'whole' : 'part' } as const);
    this.#spots.set(path.join('\0'), {
      ...spot,
      ...(variables || { text }),
      ...(missing.length > 0 && { isUnset: true }),
    });
    return text;
  }
}

function keyOf(key: unknown): string | undefined {
  const value = isScalar(key) ? key.value : key;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') {
    return isScalar(key) && typeof key.source === 'string' ? key.source : String(value);
  }
  return undefined;
}

function offsetOf(node: unknown): number | undefined {
  if (isPair(node)) return offsetOf(node.key);
  return isNode(node) ? ((node as Node).range?.[0] ?? undefined) : undefined;
}

/** Variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface Interpolated {
  readonly text: string;
  /** Names that the environment does not have. */
  readonly missing: readonly string[];
  /** Whether the text was exactly one reference. */
  readonly isReference: boolean;
  /** Whether a variable's value is part of the text. */
  readonly isInterpolated: boolean;
}

const reference = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Replaces `${NAME}` in a text. `$${NAME}` becomes the text `${NAME}`. */
function interpolate(text: string, environment: Environment): Interpolated {
  const missing: string[] = [];
  let count = 0;
  const result = text.replace(reference, (written, escape: string, name: string) => {
    if (escape !== '') return written.slice(1);
    count += 1;
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return {
    text: result,
    missing,
    isReference: count === 1 && /^\$\{[A-Za-z0-9_]+\}$/.test(text.trim()),
    isInterpolated: count > 0,
  };
}

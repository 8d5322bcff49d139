import { LineCounter, parseDocument } from 'yaml';
import type { JsonValue } from '../protocol/index.ts';
import { formatPath, type Path, type Place, type Position, type Problems } from './problem.ts';
import { type Environment, type Spot, Values, type YamlLimits } from './yaml-values.ts';

/** A text and the name to report it under; the name need not be a file that exists. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

export interface YamlOptions {
  /** For `${NAME}` in values of configuration. @default none: `${NAME}` is text like any other */
  readonly environment?: Environment;
  readonly limits?: Partial<YamlLimits>;
}

const defaultLimits: YamlLimits = { length: 4_000_000, values: 200_000, depth: 100 };

/** A parsed YAML document that knows where each of its values stands. */
export class YamlFile {
  readonly file: string;
  /** The document as JSON, with variables in place; null when it is empty or broken. */
  readonly value: JsonValue;
  /** Whether the text could not be read as YAML; the problems say why. */
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

  /** Reads a document; whatever is wrong goes to `problems`, and nothing is thrown. */
  static parse(source: Source, problems: Problems, options: YamlOptions = {}): YamlFile {
    const limits = { ...defaultLimits, ...options.limits };
    const lines = new LineCounter();
    const broken = new YamlFile(source, lines, undefined);
    const report = (offset: number, message: string, hint?: string, path: Path = []) => {
      problems.error({ position: broken.#position(offset), path: formatPath(path) }, message, {
        hint,
      });
    };
    if (source.text.length > limits.length) {
      report(0, `longer than ${limits.length} characters`, 'split the file');
      return broken;
    }
    try {
      const document = parseDocument(source.text, {
        lineCounter: lines,
        prettyErrors: false,
        uniqueKeys: false,
        resolveKnownTags: false,
        logLevel: 'silent',
      });
      for (const { pos, message } of document.errors.slice(0, 20)) {
        report(pos[0], `not YAML: ${firstSentence(message)}`);
      }
      for (const { pos, message } of document.warnings.slice(0, 20)) {
        const place = { position: broken.#position(pos[0]), path: '' };
        problems.warn(place, firstSentence(message));
      }
      if (document.errors.length > 0) return broken;
      const values = new Values(document, options.environment, limits, report);
      return new YamlFile(source, lines, values.read());
    } catch (error) {
      // The parser walks the text recursively: only nesting beyond all reason ends here.
      if (!(error instanceof RangeError)) throw error;
      report(0, 'not YAML: nested too deeply');
      return broken;
    }
  }

  /** Where the value stands; for a path that does not exist, where the nearest part of it does. */
  at(path: Path, characters = 0): Position {
    const { value } = this.#spot(path);
    return this.#position(value + (characters > 0 ? this.#inside(path, value, characters) : 0));
  }

  /** Where the key of the value stands, or the value itself when it has no key. */
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

  /** Whether the value is written as one `${NAME}` and nothing else. */
  isReference(path: Path): boolean {
    return this.#spots.get(pathKey(path))?.variables === 'whole';
  }

  /** Whether the value holds that of a variable: then its type was not the author's choice. */
  isInterpolated(path: Path): boolean {
    return this.#spots.get(pathKey(path))?.variables !== undefined;
  }

  #spot(path: Path): Spot {
    for (let length = path.length; length > 0; length -= 1) {
      const spot = this.#spots.get(pathKey(path.slice(0, length)));
      if (spot !== undefined) return spot;
    }
    return this.#spots.get('') ?? { value: 0 };
  }

  /** Characters into a text, where it stands in the file as it reads; else its beginning. */
  #inside(path: Path, start: number, characters: number): number {
    const { text } = this.#spots.get(pathKey(path)) ?? {};
    if (text === undefined) return 0;
    const quote = /['"]/.test(this.#text.charAt(start)) ? 1 : 0;
    const from = start + quote;
    const begin = text.slice(0, characters);
    return this.#text.startsWith(begin, from) ? quote + characters : 0;
  }

  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.file, line: Math.max(1, line), column: Math.max(1, col) };
  }
}

function pathKey(path: Path): string {
  return path.join('\0');
}

/** Without the excerpt of the text that the parser may add: it could hold a secret. */
function firstSentence(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/ at line \d+, column \d+:?$/, '');
}

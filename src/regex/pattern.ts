import { RE2JS, RE2JSException } from 're2js';
import { LegateError } from '../protocol/index.ts';

/** Characters of the longest pattern. */
const maximumSource = 4_000;
/** Characters of the longest text; longer ones match nothing. */
const maximumText = 10_000;
/**
 * Instructions of a pattern times characters of a text. Matching takes at most a constant time for
 * each of these steps, so this bounds the time: about 0.2 s in the worst case.
 */
const maximumSteps = 5_000_000;

/**
 * A regular expression of a project, run against untrusted text. RE2 doesn't
 * backtrack: time is linear in the text, whatever the pattern.
 */
export interface Pattern {
  /** Whether the pattern occurs in the text. Calls `trouble` when the text is too long to match. */
  search(text: string, trouble?: (reason: string) => void): boolean;
}

/** A pattern for a whole value, searched for as words of a longer text. */
export interface PatternInText {
  /** From left to right, without overlaps. */
  find(text: string): readonly Occurrence[];
}

export interface Occurrence {
  readonly value: string;
  /** Offsets in the text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
}

/**
 * Compiles a pattern with the flags `i`, `m` and `s` (`a`, `u` and `l` change nothing). Accepts RE2
 * syntax, plus the syntax of Python and JavaScript where RE2 has an equivalent.
 * @example compilePattern('^(?P<year>\\d{4})-\\d{2}$').search('2026-11') // true
 * @throws {PatternError} when the engine can't compile it.
 */
export function compilePattern(source: string, flags = ''): Pattern {
  const engine = compile(source, flags);
  const size = engine.programSize();
  return {
    search(text, trouble) {
      if (isTooLong(text, size)) {
        trouble?.(`a text of ${text.length} characters is too long for pattern /${source}/`);
        return false;
      }
      return engine.test(text);
    },
  };
}

/**
 * Compiles a pattern for a whole value so that it finds such values in a sentence: the anchors at
 * its ends become word boundaries.
 * @example compilePatternInText('^\\d{5}$').find('zip 90210, please') // value "90210" at 4
 * @throws {PatternError} when the engine can't compile it.
 */
export function compilePatternInText(source: string, flags = ''): PatternInText {
  const body = source
    .replace(/^((?:\(\?[a-zA-Z]+\))?)(?:\^|\\A)/, '$1')
    .replace(/(?<!\\)((?:\\\\)*)(?:\$|\\[zZ])$/, '$1');
  // Compiles the body alone first, so that errors refer to the pattern that the author wrote.
  compile(body, flags);
  const engine = compile(`(?:\\A|[^\\w-])(${body})(?:[^\\w-]|\\z)`, flags);
  const size = engine.programSize();
  return {
    find(text) {
      const found: Occurrence[] = [];
      if (isTooLong(text, size)) return found;
      const matcher = engine.matcher(text);
      let from = 0;
      // Each search can read the rest of the text, so all searches share the step limit of one.
      for (let steps = maximumSteps; steps > 0 && from < text.length;) {
        steps -= size * (text.length - from);
        if (!matcher.find(from)) break;
        const [start, end] = [matcher.start(1), matcher.end(1)];
        if (end > start) found.push({ value: text.slice(start, end), start, end });
        // The separator after a value can also precede the next value, so it is read again.
        from = Math.max(end, from + 1);
      }
      return found;
    },
  };
}

function isTooLong(text: string, size: number): boolean {
  return text.length > maximumText || text.length * size > maximumSteps;
}

function compile(source: string, flags: string): RE2JS {
  if (source.length > maximumSource) {
    throw new PatternError(
      `a pattern of ${source.length} characters is longer than ${maximumSource}`,
    );
  }
  try {
    return RE2JS.compile(toRe2(source), toFlags(flags));
  } catch (error) {
    if (error instanceof RE2JSException) throw toPatternError(source, error);
    throw error;
  }
}

function toFlags(flags: string): number {
  let all = 0;
  for (const flag of flags.toLowerCase()) {
    if (flag === 'i') all |= RE2JS.CASE_INSENSITIVE;
    else if (flag === 'm') all |= RE2JS.MULTILINE;
    else if (flag === 's') all |= RE2JS.DOTALL;
    else if (!'aul'.includes(flag)) {
      throw new PatternError(`unknown flag "${flag}"`, 'use i, m, s, u or l');
    }
  }
  return all;
}

/** A regular expression that the engine can't compile: `reason` is the cause, `hint` the fix. */
export class PatternError extends LegateError {
  readonly reason: string;
  readonly hint: string | undefined;

  constructor(reason: string, hint?: string, cause?: unknown) {
    super('CONFIGURATION_INVALID', hint === undefined ? reason : `${reason}; ${hint}`, { cause });
    this.reason = reason;
    this.hint = hint;
  }
}

const linearTime = 'patterns run in linear time (RE2)';

/** Constructs of backtracking engines, each with its error and a fix. */
const unsupported: readonly (readonly [RegExp, string, string])[] = [
  [
    /\(\?<?[=!]/,
    'lookahead and lookbehind are not supported',
    `${linearTime}: join several conditions with "and" and "not" instead`,
  ],
  [
    /\\[1-9]|\\k<|\(\?P=/,
    'backreferences are not supported',
    `${linearTime}: compare the parts in a custom action instead`,
  ],
  [
    /\(\?>|[*+?}]\+/,
    'atomic groups and possessive quantifiers are not supported',
    `${linearTime} and need none: write (?:...) and a plain quantifier`,
  ],
  [
    /\(\?[a-zA-Z]*x/,
    'verbose patterns, (?x), are not supported',
    'write the pattern without spaces and comments',
  ],
];

/** Converts an error of the engine into one that names the construct and a fix. */
export function toPatternError(source: string, cause: Error): PatternError {
  // Escaped backslashes and character classes contain none of these constructs.
  const plain = source.replace(/\\\\|\[\^?\]?(?:\\[^]|[^\]\\])*\]/g, '_');
  const known = unsupported.find(([construct]) => construct.test(plain));
  if (known !== undefined) return new PatternError(known[1], known[2], cause);
  const reason = cause.message.replace(/^error parsing regexp: /, '');
  const hint = reason.startsWith('invalid repeat count')
    ? 'a pattern may repeat at most 1000 times'
    : undefined;
  return new PatternError(`invalid regular expression: ${reason}`, hint, cause);
}

/**
 * Translates Python and JavaScript syntax to RE2:
 * - `\Z` and `\uXXXX` become `\z` and `\x{XXXX}`, `{,n}` becomes `{0,n}`;
 * - `\w` matches letters and digits of every language, as in Python 3;
 * - the inline flags `a`, `u` and `L` are dropped: text is always Unicode.
 */
export function toRe2(source: string): string {
  let inClass = false;
  return source.replace(token, (written: string) => {
    if (written.startsWith('\\')) return escape(written, inClass);
    if (written.startsWith('[:')) return written;
    if (written.startsWith('[')) inClass = true;
    else if (written === ']') inClass = false;
    else if (!inClass && written.startsWith('{')) return `{0${written.slice(1)}`;
    else if (!inClass) return inlineFlags(written);
    return written;
  });
}

/**
 * Escapes, brackets (a `]` that opens a class belongs to it), `{,n}` and inline flags; everything
 * else is the same in all dialects.
 */
const token =
  /\\u\{[0-9a-fA-F]{1,6}\}|\\u[0-9a-fA-F]{4}|\\[^]|\[:\^?\w+:\]|\[\^?\]?|\]|\{,\d+\}|\(\?[a-zA-Z]+[:)]/g;

function escape(written: string, inClass: boolean): string {
  if (written.startsWith('\\u') && written.length > 2) {
    return `\\x{${written.replace(/[^0-9a-fA-F]/g, '')}}`;
  }
  switch (written) {
    case '\\Z':
      return '\\z';
    // The underscore is in the middle, so that a hyphen next to \w can't form a range with it.
    case '\\w':
      return inClass ? '\\p{L}_\\p{N}' : '[\\p{L}_\\p{N}]';
    case '\\W':
      return inClass ? written : '[^\\p{L}_\\p{N}]';
    default:
      return written;
  }
}

function inlineFlags(written: string): string {
  const end = written.at(-1) ?? ')';
  const flags = written.slice(2, -1).replace(/[auL]/g, '');
  if (flags === '') return end === ':' ? '(?:' : '';
  return `(?${flags}${end}`;
}

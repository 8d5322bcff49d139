import { type Context, createContext, Script } from 'node:vm';

import { BoundedCache } from '../templates/index.ts';

/** Texts longer than this, in characters, match no pattern. */
const maximumLength = 10_000;
/** Up to this many characters even a hostile pattern ends soon. */
const harmlessLength = 16;
/** Milliseconds that a pattern with many ways to match may take. */
const timeout = 100;

/** A regular expression of the project's author, run against what a user said. */
export interface Pattern {
  readonly source: string;
  /**
   * Whether it occurs somewhere in the text. `trouble` hears why the answer is no although the
   * pattern never got to an end.
   */
  search(text: string, trouble?: (reason: string) => void): boolean;
}

const patterns = new BoundedCache<Pattern>(1_000);

/**
 * Compiles a pattern with the flags `i`, `m`, `s` (and `u`, `l`, which change nothing).
 * @throws {RangeError} when it is no pattern, with the reason.
 */
export function compilePattern(source: string, flags = ''): Pattern {
  return patterns.get(`${flags}/${source}`, () => {
    const unknown = flags.toLowerCase().replace(/[imsul]/g, '');
    if (unknown !== '')
      throw new RangeError(`no flag ${unknown.charAt(0)}; there are i, m, s, u and l`);
    const expression = toRegExp(source, flags.toLowerCase());
    const guarded = hasManyWays(source);
    return { source, search: (text, trouble) => search(expression, guarded, text, trouble) };
  });
}

function search(
  expression: RegExp,
  guarded: boolean,
  text: string,
  trouble?: (reason: string) => void,
): boolean {
  if (text.length > maximumLength) {
    trouble?.(`text of ${text.length} characters is too long to match`);
    return false;
  }
  if (!guarded || text.length <= harmlessLength) return expression.test(text);
  try {
    return guardedTest(expression, text);
  } catch (error) {
    trouble?.(`pattern /${expression.source}/ was stopped after ${timeout} ms`);
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}

let guard: { readonly script: Script; readonly context: Context } | undefined;

/** The engine's own watchdog is the only thing that can stop a regular expression. */
function guardedTest(expression: RegExp, text: string): boolean {
  guard ??= {
    script: new Script('expression.test(text)'),
    context: createContext({}),
  };
  guard.context['expression'] = expression;
  guard.context['text'] = text;
  try {
    return guard.script.runInContext(guard.context, { timeout }) === true;
  } finally {
    guard.context['text'] = undefined;
  }
}

/** Spellings of other regular expression dialects, in ours. */
function toRegExp(source: string, flags: string): RegExp {
  let kept = new Set(flags.replace(/[ul]/g, ''));
  const leading = /^\(\?([a-zA-Z]+)\)/.exec(source);
  let body = source;
  if (leading !== null) {
    const inline = (leading[1] ?? '').toLowerCase().replace(/[ul]/g, '');
    if (/[^ims]/.test(inline))
      throw new RangeError(`no inline flag ${inline}; there are i, m and s`);
    kept = new Set([...kept, ...inline.split('')]);
    body = source.slice(leading[0].length);
  }
  body = body
    .replace(/\(\?P<([A-Za-z_]\w*)>/g, '(?<$1>')
    .replace(/\(\?P=([A-Za-z_]\w*)\)/g, '\\k<$1>')
    .replace(/(?<!\\)((?:\\\\)*)\\A/g, '$1(?<![^])')
    .replace(/(?<!\\)((?:\\\\)*)\\Z/g, '$1(?![^])');
  const wanted = [...kept].join('');
  try {
    // With `u` a character outside the basic plane counts as one; but `u` refuses needless escapes.
    return new RegExp(body, `${wanted}u`);
  } catch {
    try {
      return new RegExp(body, wanted);
    } catch (error) {
      throw new RangeError(`not a pattern: ${(error as Error).message}`, { cause: error });
    }
  }
}

/**
 * Whether a pattern can try very many ways through a text: a repeated group, or more than one
 * unbounded repetition. Says yes too often rather than too seldom.
 */
function hasManyWays(source: string): boolean {
  const plain = source.replace(/\\[^]/g, '_').replace(/\[\^?\]?[^\]]*\]/g, '_');
  if (/\)\s*(?:[*+?]|\{)/.test(plain)) return true;
  return (plain.match(/[*+]|\{\d*,\}/g) ?? []).length > 1;
}

/**
 * Python's and JavaScript's spellings in RE2's:
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
    // The underscore stands between, where a hyphen beside \w can't make a range of it.
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

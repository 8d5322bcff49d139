import { type Document, LineCounter, parseDocument } from 'yaml';

/** A document, the text that it was read from, and the lines of that text. */
export interface ParsedYaml {
  readonly document: Document;
  /** The text with the lines of the source; continued lines can be indented further. */
  readonly text: string;
  readonly lines: LineCounter;
}

/** Most characters that are parsed again for one text. */
const maximumWork = 20_000_000;
const maximumRepairs = 500;

/**
 * Parses YAML as Python's parsers do: a quoted text, a `[list]` or a `{mapping}` can continue on lines
 * that are not indented further than their key. YAML 1.2 forbids this, but files written for Python rely on
 * it. Such lines are indented until the text can be parsed. A text with another error is parsed as it is
 * written.
 */
export function parseYaml(source: string): ParsedYaml {
  const written = parse(source);
  let parsed = written;
  for (let repairs = 1; parsed.document.errors.length > 0; repairs += 1) {
    const isTooMuch = repairs > maximumRepairs || repairs * source.length > maximumWork;
    const text = isTooMuch ? undefined : indentContinuation(parsed);
    if (text === undefined || text === parsed.text) return written;
    parsed = parse(text);
  }
  return parsed;
}

function parse(text: string): ParsedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    logLevel: 'silent',
  });
  return { document, text, lines };
}

/** Indents the lines where the first error ended a text or a collection; undefined for other errors. */
function indentContinuation({ document, text }: ParsedYaml): string | undefined {
  const [error] = document.errors.toSorted((one, other) => one.pos[0] - other.pos[0]);
  if (error === undefined) return undefined;
  const quote = /^Missing closing (["'])quote/.exec(error.message)?.[1];
  if (quote !== undefined) {
    const from = text.indexOf('\n', error.pos[0]) + 1;
    const end = from === 0 ? undefined : closingQuote(text, quote, from);
    return end === undefined ? undefined : indent(text, from, end);
  }
  if (error.code !== 'BAD_INDENT' || !error.message.startsWith('Flow ')) return undefined;
  // The collection ended before this line.
  const from = text.lastIndexOf('\n', error.pos[0]) + 1;
  return indent(text, from, from);
}

/** The position of the quote that closes a text, searched from a position inside the text. */
function closingQuote(text: string, quote: string, from: number): number | undefined {
  for (let at = from; at < text.length; at += 1) {
    const isEscaped = quote === '"' ? text[at] === '\\' : text.startsWith("''", at);
    if (isEscaped) at += 1;
    else if (text[at] === quote) return at;
  }
  return undefined;
}

/** Indents the lines from `from` to `end` further than the keys of the line before. */
function indent(text: string, from: number, end: number): string {
  const before = text.slice(text.lastIndexOf('\n', from - 2) + 1, from);
  const spaces = ' '.repeat((/^[ ?-]*/.exec(before)?.[0].length ?? 0) + 1);
  const continued = text.slice(from, end).replaceAll(/(^|\n)[ \t]*/g, `$1${spaces}`);
  return `${text.slice(0, from)}${continued}${text.slice(end).replace(/^[ \t]*/, '')}`;
}

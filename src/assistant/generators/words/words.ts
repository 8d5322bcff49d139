import { editDistance } from '../../../config/index.ts';
import { type Compound, english, type Language } from './language.ts';

/** Lower case without accents. */
export function fold(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** A word or number of a message, with its position in `Message.text`. */
export interface Token {
  readonly text: string;
  /** Lower case, without accents. */
  readonly folded: string;
  readonly stem: string;
  readonly start: number;
  readonly end: number;
  /** Not a filler, a number or a single letter. */
  readonly isContent: boolean;
}

/** A range of characters in a message. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A user's message, normalized and tokenized. */
export interface Message {
  /** The text with collapsed whitespace and straight quotes; letters as typed. */
  readonly text: string;
  /** Lower case without accents; the same length as `text`. */
  readonly folded: string;
  readonly tokens: readonly Token[];
  readonly language: Language;
  /** For a message with an English gloss: returns what the user typed for a part of `text`. */
  readonly typedOf?: (value: string) => string;
}

/** Longer messages are truncated first, so that senders can't drive up the cost. */
export const maximumCharacters = 2_000;

/** Normalizes and tokenizes a message. Only its first `maximumCharacters` are read. */
export function readMessage(raw: string, language: Language = english): Message {
  const text = raw
    .slice(0, maximumCharacters)
    .normalize('NFC')
    .replaceAll(/(?![0-9])\p{Nd}/gu, asciiDigit)
    .replaceAll(/[\u2018\u2019\u201B\u02BC]/g, "'")
    .replaceAll(/[\u201C\u201D\u201E]/g, '"')
    .replaceAll(/[\u2013\u2014]/g, '-')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  const glossed = language.gloss?.(text);
  if (glossed === undefined) return messageOf(text, language);
  return { ...messageOf(glossed.text, language), typedOf: glossed.typedOf };
}

/** Converts a digit of another script: its digits are consecutive from its zero, "٢٠" is 20. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (code - zero < 50 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}

/** Tokenizes a part of a message as its own message. */
export function messageOf(text: string, language: Language = english): Message {
  const folded = foldSameLength(text);
  const tokens: Token[] = [];
  for (const match of folded.matchAll(/[\p{L}\p{N}]+(?:'[\p{L}]+)?/gu)) {
    const start = match.index;
    const end = start + match[0].length;
    const word = match[0].replaceAll('ß', 'ss');
    const isContent = !language.fillers.has(word) && !/^\d+$/.test(word) && !/^\p{L}$/u.test(word);
    tokens.push({
      text: text.slice(start, end),
      folded: word,
      stem: language.stem(word),
      start,
      end,
      isContent,
    });
  }
  return { text, folded, tokens, language };
}

/** A word for comparison: a token, or a compound of several ("log in"). */
export interface Word extends Span {
  readonly stem: string;
  readonly folded: string;
  readonly isContent: boolean;
  /** The index of its first token. */
  readonly at: number;
}

/** The words of a message; a compound is one word. */
export function wordsOf(message: Message): readonly Word[] {
  const { tokens, language } = message;
  const words: Word[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) break;
    const compounds =
      language.compounds.get(token.folded) ?? language.compounds.get(token.stem) ?? [];
    const compound = compounds.find(({ rest }) =>
      rest.every((word, index) => tokens[at + 1 + index]?.folded === word),
    );
    // "Send this back": fillers can separate a particle from its verb.
    const apart = compound === undefined ? particleOf(tokens, at, compounds) : undefined;
    const { start, end, stem, folded, isContent } = token;
    if (apart !== undefined) {
      words.push({ start, end, stem: apart.stem, folded, isContent: true, at });
    } else if (compound === undefined) {
      words.push({ start, end, stem, folded, isContent, at });
    } else {
      const last = tokens[at + compound.rest.length] ?? token;
      words.push({ start, end: last.end, stem: compound.stem, folded, isContent: true, at });
      at += compound.rest.length;
    }
  }
  return words;
}

/** The compound of a verb and a particle that follows within a few fillers. */
function particleOf(
  tokens: readonly Token[],
  at: number,
  compounds: readonly Compound[],
): Compound | undefined {
  return compounds.find(({ rest: [particle, ...more] }) => {
    if (particle === undefined || more.length > 0) return false;
    const between = tokens.slice(at + 1, at + 4).findIndex(({ folded }) => folded === particle);
    return between > 0 && tokens.slice(at + 1, at + 1 + between).every((one) => !one.isContent);
  });
}

/** Folds letter by letter to keep positions the same. */
function foldSameLength(text: string): string {
  if (/^[ -~]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (letter) => {
    const folded = fold(letter);
    return folded.length === letter.length ? folded : letter;
  }).join('');
}

export function overlaps(one: Span, two: Span): boolean {
  return one.start < two.end && two.start < one.end;
}

/** The message without some ranges; positions change. */
export function without(message: Message, spans: readonly Span[]): Message {
  const ordered = spans.toSorted((a, b) => a.start - b.start);
  let text = '';
  let from = 0;
  for (const span of ordered) {
    if (span.start > from) text += message.text.slice(from, span.start);
    from = Math.max(from, span.end);
  }
  const rest = `${text}${message.text.slice(from)}`.replaceAll(/\s+/g, ' ').trim();
  return messageOf(rest, message.language);
}

/** Maximum edit distance for a word of this length. */
export function allowedMistakes(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/** Whether two words are the same except for typos. */
export function isNearly(one: string, two: string): boolean {
  const limit = allowedMistakes(Math.min(one.length, two.length));
  return limit > 0 && editDistance(one, two, limit) <= limit;
}

import { editDistance } from '../../../config/index.ts';
import { type Compound, english, type Language } from './language.ts';

/** Lower case without accents. */
export function fold(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** A word or number of a message, with its place in `Message.text`. */
export interface Token {
  readonly text: string;
  /** Lower case, without accents. */
  readonly folded: string;
  readonly stem: string;
  readonly start: number;
  readonly end: number;
  /** Says something about what is wanted. */
  readonly isContent: boolean;
}

/** A stretch of a message, by character positions. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What the user said, ready for reading. */
export interface Message {
  /** Whitespace collapsed, quotes straightened; letters as they were typed. */
  readonly text: string;
  /** Lower case without accents; the same length as `text`. */
  readonly folded: string;
  readonly tokens: readonly Token[];
  readonly language: Language;
  /** For a message that is read by its English form: what was typed for a stretch of `text`. */
  readonly typedOf?: (value: string) => string;
}

/** Longer messages are cut before any work: cost is bounded by this, not by the sender. */
export const maximumCharacters = 2_000;

/**
 * Reads a message. Cost is bounded whatever the length: only the beginning is looked at.
 */
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

/** The digits of a script follow each other from its zero: "٢٠" is 20. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (code - zero < 50 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}

/** A part of a message as one of its own. */
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

/** A word for comparing: a token, or several that stand for one ("log in"). */
export interface Word extends Span {
  readonly stem: string;
  readonly folded: string;
  readonly isContent: boolean;
  /** The place of its first token. */
  readonly at: number;
}

/** The words of a message, those of compounds as one. */
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
    // "Send this back": a particle may stand behind small words.
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

/** The compound of one particle that stands a little behind its verb. */
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

/** Folds letter by letter, so that positions stay the same. */
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

/** The message without some stretches of it; positions are lost. */
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

/** Mistakes that a word of this length may have and still be itself. */
export function allowedMistakes(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/** Whether two words are the same but for typing mistakes. */
export function isNearly(one: string, two: string): boolean {
  const limit = allowedMistakes(Math.min(one.length, two.length));
  return limit > 0 && editDistance(one, two, limit) <= limit;
}

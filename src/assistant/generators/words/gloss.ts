import { z } from 'zod';

/** Number words, in the order of their values. */
const numbersSchema = z.object({
  ones: z.array(z.string()),
  teens: z.array(z.string()),
  tens: z.array(z.string()),
  /** Template of `{one}` and `{ten}`: 25 is "fuenf-und-zwanzig" in German. */
  joined: z.string(),
  /** 1 before another word. */
  one: z.string(),
  hundred: z.string(),
  thousand: z.string(),
  /** The optional word after a hundred or a thousand: "and". */
  and: z.string(),
  /** The suffix of a number that means "and a half". */
  half: z.string(),
  /** The ordinals of the days of a month, from the first. Read only before the name of a month. */
  ordinals: z.string(),
});

/** The data of a language that is read through an English gloss. */
export const glossSchema = z.object({
  /**
   * What is translated to English before reading: function words, dates, yes and no, phrases that steer a
   * conversation. One `word, several words: english` per line. A language with a gloss needs no readers
   * of its own.
   */
  gloss: z.string().optional(),
  /** Like `gloss`, for messages that are exactly one of the phrases. */
  answers: z.string().default(''),
  numbers: numbersSchema.optional(),
});
type GlossData = z.infer<typeof glossSchema>;

/** A text translated to English, for reading only. Stored and shown texts are always as typed. */
export interface Glossed {
  readonly text: string;
  /** Returns what the user typed for a part of the English form; other values are unchanged. */
  readonly typedOf: (value: string) => string;
}

/** A part of the English form and its source. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly typed: string;
}

const monthAfter =
  /^\.? (?:january|february|march|april|may|june|july|august|september|october|november|december)\b/;

/** Creates the function that applies a language's gloss; undefined for a language without one. */
export function glossOf({
  gloss,
  answers,
  numbers,
}: GlossData): ((text: string) => Glossed) | undefined {
  if (gloss === undefined) return undefined;
  const entries = entriesOf(gloss);
  const alone = entriesOf(answers);
  const numberIn = numbers === undefined ? () => undefined : numberReader(numbers);
  const ordinals = numbers?.ordinals.split(/\s+/) ?? [];
  const phrases = [...entries.keys()].toSorted((one, two) => two.length - one.length);
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:(?:${phrases.join('|')})(?![\\p{L}\\p{N}])|\\p{L}+)`,
    'gu',
  );
  const isMonth = (plain: string): boolean => {
    const [word = ''] = /^ ?\p{L}+/u.exec(plain) ?? [];
    return monthAfter.test(` ${entries.get(word.trim()) ?? word.trim()}`);
  };
  const english = (found: string, after: string): string | undefined => {
    const day = ordinals.indexOf(found) + 1;
    if (day > 0 && isMonth(after)) return `${String(day)}.`;
    return entries.get(found) ?? numberIn(found);
  };
  return (text) => {
    const { plain, places } = foldedWithPlaces(text);
    const bare = plain.replace(/[\s.,!?]+$/, '');
    const answer = alone.get(bare);
    const pieces: Piece[] = [];
    let result = '';
    let from = 0;
    const put = (start: number, end: number, word: string): void => {
      result += text.slice(from, start);
      pieces.push({
        start: result.length,
        end: result.length + word.length,
        typed: text.slice(start, end),
      });
      result += word;
      from = end;
    };
    for (const match of answer === undefined ? plain.matchAll(pattern) : []) {
      const end = match.index + match[0].length;
      const word = english(match[0], plain.slice(end, end + 20));
      if (word !== undefined) put(places[match.index] ?? 0, places[end] ?? text.length, word);
    }
    if (answer !== undefined) put(0, places[bare.length] ?? text.length, answer);
    const whole = result + text.slice(from);
    return { text: whole, typedOf: (value) => typedOf(value, whole, pieces) };
  };
}

function entriesOf(text: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.lastIndexOf(':');
    if (at < 0) continue;
    for (const phrase of line.slice(0, at).split(',')) {
      entries.set(foldedWithPlaces(phrase.trim()).plain, line.slice(at + 1).trim());
    }
  }
  return entries;
}

/** The typed text of a value in the English form, as a whole or word by word. */
function typedOf(value: string, text: string, pieces: readonly Piece[]): string {
  const at = placeOf(value, text);
  if (at !== undefined) {
    const end = at + value.length;
    const inside = pieces.filter((piece) => piece.start < end && at < piece.end);
    return inside.toReversed().reduce((typed, piece) => {
      const before = typed.slice(0, Math.max(0, piece.start - at));
      return before + piece.typed + typed.slice(piece.end - at);
    }, value);
  }
  // The value combines several parts of the message: translate back each word separately.
  return value.replaceAll(/[\p{L}']+/gu, (word) => {
    const piece = pieces.find(
      ({ start, end, typed }) => text.slice(start, end) === word && typed !== word,
    );
    return piece?.typed ?? word;
  });
}

/** The position of a value, with no letter or digit next to it. */
function placeOf(value: string, text: string): number | undefined {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const around = `${text.slice(Math.max(0, at - 1), at)} ${text.charAt(at + value.length)}`;
    if (!/[\p{L}\p{N}]/u.test(around)) return at;
    if (value === '') break;
  }
  return undefined;
}

/** Lower case without accents, and for each letter its position in the text: some letters fold to two. */
function foldedWithPlaces(text: string): { readonly plain: string; readonly places: number[] } {
  const places: number[] = [];
  let plain = '';
  let place = 0;
  for (const letter of text) {
    const folded = letter.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
    const plainLetter = folded === 'ß' ? 'ss' : folded;
    for (let at = 0; at < plainLetter.length; at += 1) places.push(place);
    plain += plainLetter;
    place += letter.length;
  }
  return { plain, places };
}

/** Creates the function that converts a number written in one word to digits. */
function numberReader(
  numbers: z.infer<typeof numbersSchema>,
): (word: string) => string | undefined {
  const { ones, teens, tens, joined, one, hundred, thousand, and, half } = numbers;
  const small = new Map<string, number>();
  for (const [at, word] of [...ones, ...teens].entries()) small.set(word, at + 1);
  for (const [at, ten] of tens.entries()) {
    small.set(ten, 20 + 10 * at);
    for (const [index, word] of ones.entries()) {
      const unit = index === 0 ? one : word;
      small.set(joined.replace('{one}', unit).replace('{ten}', ten), 21 + 10 * at + index);
    }
  }
  const scales = [
    [thousand, 1_000],
    [hundred, 100],
  ] as const;
  const read = (word: string): number | undefined => {
    const scale = scales.find(([name]) => word.includes(name));
    if (scale === undefined) return small.get(word);
    const [name, factor] = scale;
    const at = word.indexOf(name);
    const head = word.slice(0, at);
    const rest = word.slice(at + name.length);
    const times = head === '' || head === one ? 1 : read(head);
    const more = rest === '' ? 0 : (read(rest) ?? read(rest.replace(new RegExp(`^${and}`), '')));
    return times === undefined || more === undefined || more >= factor
      ? undefined
      : times * factor + more;
  };
  return (word) => {
    // The longest is "siebenhundertsiebenundsiebzigtausendsiebenhundertsiebenundsiebzig".
    if (word.length > 70) return undefined;
    const head = word.endsWith(half) ? word.slice(0, -half.length) : undefined;
    const whole = head === one ? 1 : read(head ?? word);
    return whole === undefined ? undefined : String(head === undefined ? whole : whole + 0.5);
  };
}

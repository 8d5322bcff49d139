import { type Message, readMessage } from '../../words/words.ts';
import { type Found, free } from './found.ts';
import { findDurations, type TimeUnit, unitAt } from './units.ts';

export interface FoundNumber extends Found<number> {
  /** The number has a currency: an amount of money. */
  readonly isMoney: boolean;
  /** The written currency, as an ISO code; "50" has none. */
  readonly currency?: string;
  /** The other possible value: ten thousand for "10.000", five for "four or five". */
  readonly alternative?: number;
  /** The unit of time after the number. */
  readonly unit?: TimeUnit;
  /** A word such as "one" that is often not a number. */
  readonly isWeak: boolean;
}

const digits =
  /(?<![\p{L}\p{N}.,/-])([-+]?)(\d[\d.,'\u00a0 ]*\d|\d)(?:\s?(k|m|mio|mn|bn|thousand|million|billion|hundred|grand)s?)?(?![\p{L}\p{N}])/giu;
const moneyBefore = /(?:[$€£¥₹]|\b(?:usd|eur|gbp|chf|jpy|inr|us\$))\s?$/i;
const moneyAfter =
  /^\s?(?:[$€£¥₹]|(?:usd|eur|gbp|chf|jpy|inr|euros?|dollars?|bucks|pounds?|quid|francs?|yen|rupees?|cents?)\b)/i;
/** Languages with a decimal comma: 1.200,50 instead of 1,200.50. */
const decimalComma =
  /^(?:de|fr|es|it|nl|pt|pl|da|nb|no|sv|fi|cs|tr|id|ru|uk|el|ro|hu|hr|sl|sk|bg)\b/i;

/**
 * Finds all numbers of a message, in digits or words, in order: `1,200.50`, `1.200,50`, `1 200`, `5k`,
 * `2.5 million`, `-3`, `fifty`, `half a million`.
 */
export function findNumbers(message: Message, language?: string): FoundNumber[] {
  const { text } = message;
  const found = [...inDigits(message, language), ...inWords(message)]
    .toSorted((one, two) => one.start - two.start)
    .map((one) => withHalf(one, text));
  return withRanges(withCents(found, text), text);
}

const cents = /^ ?(?:cents?|pence|cts?)\b/i;
/** The text between an amount and cents that have a unit: "20 euros and 50 cents". */
const beforeCents = /^\s?(?:[$€£]|[a-z]{2,8})?(?:,| and)?\s?$/i;
/** The text between an amount and cents without a unit: "3 euros 50", "3€50". */
const beforeBareCents = /^\s?(?:[$€£]|eur|usd|gbp|euros?|dollars?|pounds?|francs?|quid|bucks)\s?$/i;
const afterBareCents =
  /^\s*(?:$|[,.;!?](?!\d)|(?:to|for|from|on|at|please|and|now|today|tomorrow)\b)/i;

/** Converts cents to hundredths and adds them to a preceding amount. */
function withCents(found: readonly FoundNumber[], text: string): FoundNumber[] {
  const whole: FoundNumber[] = [];
  for (const one of found) {
    const named = cents.exec(text.slice(one.end));
    const last = whole.at(-1);
    const between = last === undefined ? '' : text.slice(last.end, one.start);
    const isPart =
      last?.isMoney === true &&
      Number.isInteger(last.value) &&
      Number.isInteger(one.value) &&
      one.value >= 0 &&
      one.value < 100 &&
      (named === null
        ? beforeBareCents.test(between) &&
          /^\d\d$/.test(text.slice(one.start, one.end)) &&
          afterBareCents.test(text.slice(one.end))
        : beforeCents.test(between));
    const end = one.end + (named?.[0].length ?? 0);
    if (last !== undefined && isPart) {
      const more = (last.value < 0 ? -1 : 1) * one.value;
      whole[whole.length - 1] = { ...last, value: (last.value * 100 + more) / 100, end };
    } else if (named === null) whole.push(one);
    else whole.push({ ...one, value: one.value / 100, end, isMoney: true });
  }
  return whole;
}

/** "2 and a half years", "two years and a half", with the unit. */
function withHalf(one: FoundNumber, text: string): FoundNumber {
  const unit = unitAt(text, one.end);
  const more = /^(?: and a half\b|( [a-z]+) and a half\b)/i.exec(text.slice(one.end));
  const isMore = more !== null && (more[1] === undefined || unit !== undefined);
  const end = one.end + (isMore ? more[0].length : 0);
  const counted = unit ?? (isMore ? unitAt(text, end) : undefined);
  return {
    ...one,
    value: isMore ? one.value + 0.5 : one.value,
    end,
    ...(counted !== undefined && { unit: counted }),
  };
}

/** Joins "four or five" and "5-6" to one ambiguous number. */
function withRanges(found: readonly FoundNumber[], text: string): FoundNumber[] {
  const ranged: FoundNumber[] = [];
  for (const one of found) {
    const last = ranged.at(-1);
    const isOther =
      last !== undefined &&
      last.alternative === undefined &&
      last.value < one.value &&
      /^\s?(?:,? ?or(?: maybe| perhaps)?|-)\s?$/i.test(text.slice(last.end, one.start));
    if (isOther) {
      ranged[ranged.length - 1] = { ...last, ...one, ...rangeOf(last, one.value, one.end) };
      continue;
    }
    const high = one.value < 0 ? null : /^-(\d{1,4})(?![\d/.-]|\p{L})/u.exec(text.slice(one.end));
    const isRange = high !== null && Number(high[1]) > one.value;
    ranged.push(
      isRange ? { ...one, ...rangeOf(one, Number(high[1]), one.end + high[0].length) } : one,
    );
  }
  return ranged;
}

function rangeOf(
  { value, start, isMoney }: FoundNumber,
  alternative: number,
  end: number,
): Pick<FoundNumber, 'value' | 'start' | 'end' | 'alternative' | 'isMoney'> {
  return { value, alternative, start, end, isMoney };
}

/**
 * A number in a text.
 * @example const years: SaidNumber = { value: 3, unit: 'year', isMoney: false };
 */
export interface SaidNumber {
  readonly value: number;
  /** The other possible value: ten thousand for "10.000". */
  readonly alternative?: number;
  /** The unit of time after the number. */
  readonly unit?: TimeUnit;
  readonly isMoney: boolean;
}

/**
 * The numbers of a text in its order, as the matching generator reads them for slots: in digits and
 * words, with their units of time. For actions and sub agents whose code reads messages itself.
 * @example readNumbers('5k over a year and a half') // 5000, and 1.5 with the unit 'year'
 */
export function readNumbers(text: string, language?: string): readonly SaidNumber[] {
  const message = readMessage(text);
  const numbers = findNumbers(message, language);
  const all: readonly FoundNumber[] = [...numbers, ...free(findDurations(message), numbers)];
  return all
    .toSorted((one, two) => one.start - two.start)
    .map(({ value, alternative, unit, isMoney }) => ({
      value,
      isMoney,
      ...(alternative !== undefined && { alternative }),
      ...(unit !== undefined && { unit }),
    }));
}

function inDigits(message: Message, language: string | undefined): FoundNumber[] {
  const found: FoundNumber[] = [];
  for (const match of message.text.matchAll(digits)) {
    const [whole, sign, body = '', scale] = match;
    // A space groups digits only between groups of three: "1 200", not "2 20".
    const parts = /^\d{1,3}(?:[\u00a0 ]\d{3})+(?:[.,]\d+)?$/.test(body)
      ? [body]
      : body.split(/[\u00a0 ]+/);
    const first = parts[0] ?? '';
    const isWhole = parts.length === 1;
    const value = parseDigits(first.replace(/[.,']+$/, ''), language);
    if (value === undefined) continue;
    const factor = isWhole && scale !== undefined ? (scaleOf(scale.toLowerCase()) ?? 1) : 1;
    const start = match.index;
    const end = isWhole ? start + whole.length : start + (sign ?? '').length + first.length;
    const isUnclear =
      isWhole && /^\d{1,3}\.\d{3}$/.test(first) && !decimalComma.test(language ?? '');
    // "0170123456" is not a quantity: it is the number of a phone or an account.
    if (isWhole && /^0\d{4,}$/.test(first)) continue;
    const minus = /\bminus $/i.exec(message.text.slice(0, start))?.[0].length ?? 0;
    const amount = (sign === '-' || minus > 0 ? -1 : 1) * value * factor;
    found.push({
      value: Number(amount.toPrecision(15)),
      start: start - minus,
      end,
      ...moneyAt(message.text, start, end),
      ...(isUnclear && { alternative: value * 1_000 }),
      isWeak: false,
    });
    for (const more of isWhole ? [] : laterParts(message, parts, start + (sign ?? '').length)) {
      found.push(more);
    }
  }
  return found.filter((one) => Number.isFinite(one.value) && Math.abs(one.value) < 1e15);
}

const currencies: readonly (readonly [RegExp, string])[] = [
  [/[$]|usd|dollar/i, 'USD'],
  [/€|eur/i, 'EUR'],
  [/£|gbp|pound/i, 'GBP'],
  [/chf|franc/i, 'CHF'],
  [/¥|jpy|yen/i, 'JPY'],
  [/₹|inr|rupee/i, 'INR'],
];

/** The currency in a text, as an ISO code; undefined for "bucks" and "quid", which can be any. */
export function currencyIn(text: string): string | undefined {
  return currencies.find(([pattern]) => pattern.test(text))?.[1];
}

function moneyAt(
  text: string,
  start: number,
  end: number,
): Pick<FoundNumber, 'isMoney' | 'currency'> {
  const sign =
    moneyBefore.exec(text.slice(Math.max(0, start - 5), start))?.[0] ??
    moneyAfter.exec(text.slice(end, end + 10))?.[0];
  const currency = sign === undefined ? undefined : currencyIn(sign);
  return { isMoney: sign !== undefined, ...(currency !== undefined && { currency }) };
}

/** "50 2" is two numbers, although the pattern matches both. */
function laterParts(message: Message, parts: readonly string[], from: number): FoundNumber[] {
  const found: FoundNumber[] = [];
  let start = from + (parts[0] ?? '').length;
  for (const part of parts.slice(1)) {
    start = message.text.indexOf(part, start);
    const value = parseDigits(part.replace(/[.,']+$/, ''), undefined);
    if (start < 0) break;
    if (value !== undefined) {
      found.push({
        value,
        start,
        end: start + part.length,
        isMoney: false,
        isWeak: false,
      });
    }
    start += part.length;
  }
  return found;
}

/**
 * Parses digits with separators. If both separators occur, the last one is the decimal separator. A
 * single comma before exactly three digits groups thousands; a single point does so only in languages
 * with a decimal comma.
 */
function parseDigits(body: string, language: string | undefined): number | undefined {
  const compact = body.replaceAll(/['\u00a0 ]/g, '');
  if (!/^\d+(?:[.,]\d+)*$/.test(compact)) return undefined;
  const point = compact.lastIndexOf('.');
  const comma = compact.lastIndexOf(',');
  const grouped = (separator: string): boolean =>
    new RegExp(`^\\d{1,3}(?:\\${separator}\\d{3})+$`).test(compact);
  let plain = compact;
  if (point >= 0 && comma >= 0) {
    plain =
      point > comma ? compact.replaceAll(',', '') : compact.replaceAll('.', '').replace(',', '.');
  } else if (comma >= 0) {
    const isDecimal =
      language !== undefined && decimalComma.test(language) && !/,.*,/.test(compact);
    plain = grouped(',') && !isDecimal ? compact.replaceAll(',', '') : compact.replace(',', '.');
  } else if (point >= 0 && grouped('.')) {
    const isGrouping = /\..*\./.test(compact) || decimalComma.test(language ?? '');
    if (isGrouping) plain = compact.replaceAll('.', '');
  }
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}

function inWords(message: Message): FoundNumber[] {
  const found: FoundNumber[] = [];
  const words = message.tokens.map((token) => token.folded);
  for (let index = 0; index < words.length; index += 1) {
    const spoken = spokenNumber(words.slice(index, index + 12));
    const first = message.tokens[index];
    if (spoken === undefined || first === undefined) continue;
    const last = message.tokens[index + spoken.length - 1] ?? first;
    const isNegative = words[index - 1] === 'minus';
    found.push({
      value: isNegative ? -spoken.value : spoken.value,
      start: isNegative ? (message.tokens[index - 1]?.start ?? first.start) : first.start,
      end: last.end,
      ...moneyAt(message.text, first.start, last.end),
      isWeak: spoken.length === 1 && first.folded === 'one',
    });
    index += spoken.length - 1;
  }
  return found;
}

const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen';
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety';
/** Number words and their values. */
const units: ReadonlyMap<string, number> = new Map([
  ...small.split(' ').map((word, at) => [word, at] as const),
  ...tens.split(' ').map((word, at) => [word, 20 + 10 * at] as const),
  ['fourty', 40],
]);

const scales: ReadonlyMap<string, number> = new Map(
  (
    [
      ['hundred', 100],
      ['thousand grand k', 1e3],
      ['million mio mn m', 1e6],
      ['billion bn', 1e9],
    ] as const
  ).flatMap(([words, value]) => words.split(' ').map((word) => [word, value] as const)),
);

/** Plurals are accepted: "two millions". */
function scaleOf(word: string): number | undefined {
  return scales.get(word.length > 2 ? word.replace(/s$/, '') : word);
}

interface SpokenNumber {
  readonly value: number;
  /** The number of words it consists of. */
  readonly length: number;
}

/**
 * Parses the number at the start of a list of words; undefined if there is none.
 * @example spokenNumber(['two', 'hundred', 'and', 'fifty', 'euros']) // { value: 250, length: 4 }
 */
export function spokenNumber(words: readonly string[]): SpokenNumber | undefined {
  const fixed = fixedPhrase(words);
  if (fixed !== undefined) return fixed;
  let total = 0;
  let part: number | undefined;
  let length = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const unit = units.get(word);
    const scale = scaleOf(word);
    if (unit !== undefined && mayFollow(part, unit)) {
      part = (part ?? 0) + unit;
      length = index + 1;
    } else if (scale !== undefined && word.length > 2 && part !== undefined) {
      if (scale === 100) part *= 100;
      else {
        total += part * scale;
        part = 0;
      }
      length = index + 1;
    } else if (word !== 'and' || length === 0 || !units.has(words[index + 1] ?? '')) {
      break;
    }
  }
  return length === 0 ? undefined : { value: total + (part ?? 0), length };
}

/** "twenty five" is one number, "five twenty" and "five six" are two. */
function mayFollow(part: number | undefined, unit: number): boolean {
  if (part === undefined || part === 0) return true;
  const rest = part % 100;
  return rest === 0 ? unit > 0 : rest >= 20 && rest % 10 === 0 && unit > 0 && unit < 10;
}

/** "a hundred", "half a million", "a couple of", "a dozen". */
function fixedPhrase(words: readonly string[]): SpokenNumber | undefined {
  const [first = '', second = '', third = ''] = words;
  if (first === 'half' && second === 'a') {
    const scale = third === 'dozen' ? 12 : scaleOf(third);
    if (scale !== undefined && third.length > 2) return { value: scale / 2, length: 3 };
  }
  if (first !== 'a' && first !== 'an')
    return first === 'dozen' ? { value: 12, length: 1 } : undefined;
  if (second === 'dozen') return { value: 12, length: 2 };
  if (second === 'couple') return { value: 2, length: third === 'of' ? 3 : 2 };
  const scale = second.length > 2 ? scaleOf(second) : undefined;
  if (scale === undefined) return undefined;
  const more = third === 'and' ? spokenNumber(words.slice(3)) : spokenNumber(words.slice(2));
  if (more === undefined || more.value >= scale) return { value: scale, length: 2 };
  return { value: scale + more.value, length: more.length + (third === 'and' ? 3 : 2) };
}

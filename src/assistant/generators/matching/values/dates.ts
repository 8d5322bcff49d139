import type { Message } from '../../words/words.ts';
import { type Found, free, readAll } from './found.ts';
import { spokenNumber } from './numbers.ts';

export interface DateOptions {
  /** The current day in the user's time zone. */
  readonly today: Day;
  /** How 03/04/2026 is read. @default 'day-month' */
  readonly order?: 'day-month' | 'month-day';
  /** Which date a day without a year, or a weekday, means. @default 'future' */
  readonly prefers?: 'past' | 'future';
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const weekdays = 'sun mon tue wed thu fri sat'.split(' ');
const monthName =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?';
const weekdayName = '(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?';
const count = '\\d{1,3}|an?|[a-z]+(?:-[a-z]+)?';

type Reader = (groups: readonly string[], options: DateOptions) => Day | undefined;

/** In order of reliability: a part of the text belongs to the first reader that matches it. */
const readers: readonly (readonly [RegExp, Reader])[] = [
  [/\b(\d{4})-(\d{1,2})-(\d{1,2})\b/g, ([year, month, day]) => calendar(year, month, day)],
  [/\b(\d{1,2})[./](\d{1,2})[./](\d{4}|\d{2})\b/g, numeric],
  [/\b(\d{1,2})\/(\d{1,2})(?![/\d])/g, dayAndMonth],
  [/\b(\d{1,2})\.(\d{1,2})\.(?!\d)/g, dayAndMonth],
  [
    // "Between 1 and 15 October": both days share the month.
    new RegExp(
      `\\b(\\d{1,2})(?:st|nd|rd|th)?\\.?(?= ?(?:and|to|until|till|-) ?(?:the )?\\d{1,2}(?:st|nd|rd|th)?\\.?(?: of)? (${monthName})\\b\\.?(?: (\\d{4}))?)`,
      'g',
    ),
    ([day, month, year], options) => named(day, month, year, options),
  ],
  [
    new RegExp(
      `\\b(\\d{1,2}|first)(?:st|nd|rd|th)?\\.?(?: of)? (${monthName})\\b\\.?,?(?: (\\d{4}))?`,
      'g',
    ),
    ([day, month, year], options) => named(day === 'first' ? '1' : day, month, year, options),
  ],
  [
    new RegExp(
      `\\b(${monthName})\\b\\.? (?:the )?(\\d{1,2})(?:st|nd|rd|th)?(?!\\d)(?:,? (\\d{4}))?`,
      'g',
    ),
    ([month, day, year], options) => named(day, month, year, options),
  ],
  [/\bday after tomorrow\b/g, (_, { today }) => later(today, 2)],
  [/\bday before yesterday\b/g, (_, { today }) => later(today, -2)],
  [/\b(?:tomorrow|tmrw|tomorow|tommorow|tommorrow)\b/g, (_, { today }) => later(today, 1)],
  [/\byesterday\b/g, (_, { today }) => later(today, -1)],
  [
    new RegExp(`\\bin (${count}) (day|week|fortnight|month|year)s?\\b`, 'g'),
    ([amount, unit], { today }) => shifted(today, amount, unit, 1),
  ],
  [
    new RegExp(`\\b(${count}) (day|week|month|year)s? (?:from (?:now|today)|hence)\\b`, 'g'),
    ([amount, unit], { today }) => shifted(today, amount, unit, 1),
  ],
  [
    new RegExp(`\\b(${count}) (day|week|month|year)s? ago\\b`, 'g'),
    ([amount, unit], { today }) => shifted(today, amount, unit, -1),
  ],
  [/\b(?:today|tonight|this (?:morning|afternoon|evening))\b/g, (_, { today }) => today],
  [
    new RegExp(`\\bnext (${weekdayName})\\b`, 'g'),
    ([name], { today }) => onWeekday(today, name, 1),
  ],
  [
    new RegExp(`\\blast (${weekdayName})\\b`, 'g'),
    ([name], { today }) => onWeekday(today, name, -7),
  ],
  [/\bnext (week|month|year)\b/g, ([unit], { today }) => shifted(today, '1', unit, 1)],
  [
    new RegExp(`\\b(start|beginning|end) of (${monthName})\\b`, 'g'),
    ([edge, month], options) => {
      const first = named('1', month, '', options);
      const day = first && edge === 'end' ? daysIn(first.year, first.month) : 1;
      return first && { ...first, day };
    },
  ],
  [
    /\bend of (?:the |this )?month\b/g,
    (_, { today }) => ({ ...today, day: daysIn(today.year, today.month) }),
  ],
  [
    // "sun", "sat" and "mon" alone are often other words: the short forms need "on" or "this".
    new RegExp(
      `\\b(?:(?:on|this|coming|by) (${weekdayName})|((?:sun|mon|tues|wednes|thurs|fri|satur)day))\\b`,
      'g',
    ),
    ([short, long], { today, prefers }) =>
      onWeekday(today, short || long, prefers === 'past' ? -6 : 0),
  ],
  [
    /\b(?:on )?the (\d{1,2})(?:st|nd|rd|th)\b/g,
    ([day], options) => nextDayOfMonth(options, Number(day)),
  ],
];

/** A fast pre-check: each reader needs one of these words, and most messages have none. */
const mayHaveDate =
  /\d|day|to(?:night|m+or+ow)|tmrw|week|month|year|fortnight|morning|afternoon|evening|\b(?:sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/;

/** Finds all dates of a message, as ISO strings (`2026-11-20`), in order. */
export function findDates(message: Message, options: DateOptions): Found<string>[] {
  if (!mayHaveDate.test(message.folded)) return [];
  const found: Found<string>[] = [];
  for (const [pattern, read] of readers) {
    const days = readAll(message.folded, pattern, ([, ...groups]) => {
      const day = read(
        groups.map((group) => group ?? ''),
        options,
      );
      return day && isoDay(day);
    });
    const trimmed = days.map(({ value, start, end }) => {
      const text = message.folded.slice(start, end).trimEnd();
      return { value, start, end: start + text.replace(/[.,]$/, '').length };
    });
    found.push(...free(trimmed, found));
  }
  return found.toSorted((one, two) => one.start - two.start);
}

/** A year of two digits is in this century, or in the last one if the date must be past. */
function numeric(
  groups: readonly string[],
  { order, prefers, today }: DateOptions,
): Day | undefined {
  const [one = '', two = '', year = ''] = groups;
  const isMonthFirst = Number(two) > 12 || (order === 'month-day' && Number(one) <= 12);
  const dayIn = (full: string) =>
    isMonthFirst ? calendar(full, one, two) : calendar(full, two, one);
  if (year.length !== 2) return dayIn(year);
  const day = dayIn(`20${year}`);
  const isFuture = day !== undefined && isoDay(day) > isoDay(today);
  return prefers === 'past' && isFuture ? dayIn(`19${year}`) : day;
}

/** "24/12": the next or the last occurrence of this day. */
function dayAndMonth(groups: readonly string[], options: DateOptions): Day | undefined {
  const [one = '', two = ''] = groups;
  return nearestYear(options, (year) => numeric([one, two, String(year)], options));
}

/** The next or the last occurrence of a day. */
function nearestYear(
  { today, prefers }: DateOptions,
  dayIn: (year: number) => Day | undefined,
): Day | undefined {
  const thisYear = dayIn(today.year);
  const isPast = prefers === 'past';
  const fits =
    thisYear !== undefined &&
    (isPast ? isoDay(thisYear) <= isoDay(today) : isoDay(thisYear) >= isoDay(today));
  return fits ? thisYear : dayIn(today.year + (isPast ? -1 : 1));
}

/** A day and a month by name. Without a year: the next or the last occurrence. */
function named(
  day: string | undefined,
  month: string | undefined,
  year: string | undefined,
  options: DateOptions,
): Day | undefined {
  const number = String(monthNumber(month ?? ''));
  if (year) return calendar(year, number, day);
  return nearestYear(options, (one) => calendar(String(one), number, day));
}

/** The number of a month, from 1; 0 for other words. */
export function monthNumber(name: string): number {
  return months.indexOf(name.slice(0, 3)) + 1;
}

function shifted(
  today: Day,
  amount: string | undefined,
  unit: string | undefined,
  direction: 1 | -1,
): Day | undefined {
  const word = amount ?? '';
  const number = /^an?$/.test(word) ? 1 : (spokenNumber(word.split('-'))?.value ?? Number(word));
  if (!Number.isInteger(number) || number > 1_000) return undefined;
  const steps = number * direction;
  if (unit === 'day') return later(today, steps);
  if (unit === 'week') return later(today, steps * 7);
  if (unit === 'fortnight') return later(today, steps * 14);
  return monthsLater(today, unit === 'year' ? steps * 12 : steps);
}

/** The first such weekday, starting `from` days after today; with -7 the last one before today. */
function onWeekday(today: Day, name: string | undefined, from: number): Day | undefined {
  const wanted = weekdays.indexOf((name ?? '').slice(0, 3));
  if (wanted < 0) return undefined;
  const start = later(today, from);
  const present = new Date(isoDay(start)).getUTCDay();
  return later(start, (wanted - present + 7) % 7);
}

function nextDayOfMonth({ today, prefers }: DateOptions, day: number): Day | undefined {
  const isPast = prefers === 'past';
  for (let ahead = 0; ahead < 3; ahead += 1) {
    const month = monthsLater({ ...today, day: 1 }, isPast ? -ahead : ahead);
    const candidate = calendar(String(month.year), String(month.month), String(day));
    if (candidate === undefined) continue;
    const [one, two] = [isoDay(candidate), isoDay(today)];
    if (isPast ? one <= two : one >= two) return candidate;
  }
  return undefined;
}

export function later(day: Day, days: number): Day {
  const date = new Date(Date.UTC(day.year, day.month - 1, day.day + days));
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** Adds months. The day is limited to the last day of the resulting month. */
export function monthsLater(day: Day, steps: number): Day {
  const index = day.year * 12 + day.month - 1 + steps;
  const [year, month] = [Math.floor(index / 12), (((index % 12) + 12) % 12) + 1];
  return { year, month, day: Math.min(day.day, daysIn(year, month)) };
}

export function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** A day of the calendar; months count from 1. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** A day from its parts; undefined for a day that does not exist. */
function calendar(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
): Day | undefined {
  const parts = { year: Number(year), month: Number(month), day: Number(day) };
  const date = new Date(Date.UTC(parts.year, parts.month - 1, parts.day));
  const isReal =
    parts.year >= 1 &&
    parts.year <= 9999 &&
    date.getUTCFullYear() === parts.year &&
    date.getUTCMonth() + 1 === parts.month &&
    date.getUTCDate() === parts.day;
  return isReal ? parts : undefined;
}

export function isoDay(day: Day): string {
  const pad = (value: number, width: number): string => String(value).padStart(width, '0');
  return `${pad(day.year, 4)}-${pad(day.month, 2)}-${pad(day.day, 2)}`;
}

/** The day of a timestamp in a time zone. */
export function dayAt(milliseconds: number, timeZone: string): Day {
  const parts = formatter(timeZone).formatToParts(milliseconds);
  const part = (type: string): number =>
    Number(parts.find((one) => one.type === type)?.value ?? Number.NaN);
  return { year: part('year'), month: part('month'), day: part('day') };
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * Cached: creating a formatter costs more than a whole turn, and an assistant uses one or two time zones.
 */
function formatter(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  if (formatters.size < 100) formatters.set(timeZone, made);
  return made;
}

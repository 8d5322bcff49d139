import type { Message } from '../../words/words.ts';
import {
  type DateOptions,
  type Day,
  daysIn,
  isoDay,
  later,
  monthNumber,
  monthsLater,
} from './dates.ts';
import { type Found, free, readAll } from './found.ts';
import { spokenNumber } from './numbers.ts';

/** The first and the last day, as ISO texts. */
export interface Period {
  readonly start: string;
  readonly end: string;
}

const month =
  'january|february|march|april|june|july|august|september|october|november|december|(?<=in |for |of |last )may';
const count = '\\d{1,3}|[a-z]+(?:-[a-z]+)?';

type Reader = (groups: readonly string[], options: DateOptions) => readonly [Day, Day] | undefined;

const readers: readonly (readonly [RegExp, Reader])[] = [
  [/\blast week\b/g, (_, { today }) => week(today, -1)],
  [/\bnext week\b/g, (_, { today }) => week(today, 1)],
  [/\bthis week\b/g, (_, options) => untilToday(week(options.today, 0), options)],
  [
    /\b(last|previous|past|this|current|next) (month|year)\b/g,
    ([which, unit], options) => whole(which ?? '', unit ?? '', options),
  ],
  [
    new RegExp(`\\b(?:the )?(?:last|past|previous) (${count}) (day|week|month|year)s?\\b`, 'g'),
    ([amount, unit], { today }) => span(today, amount ?? '', unit ?? ''),
  ],
  [
    // A month with a day is a date.
    new RegExp(
      `(?<!\\d[a-z.]{0,3} (?:of )?)\\b(${month})\\b(?! (?:the )?\\d{1,2}(?!\\d))(?: (\\d{4}))?`,
      'g',
    ),
    ([name, year], options) => named(name ?? '', year ?? '', options),
  ],
  [
    /\b(?:in|for|of|during|from|year) ((?:19|20)\d\d)\b(?![.,/-]?\d)(?! ?(?:[$€£]|[a-z]+s\b|eur\b|usd\b))/g,
    ([year]) => [
      { year: Number(year), month: 1, day: 1 },
      { year: Number(year), month: 12, day: 31 },
    ],
  ],
];

/** Finds all periods of a message, in order: "last month", "in October", "the last 30 days". */
export function findPeriods({ folded }: Message, options: DateOptions): Found<Period>[] {
  const found: Found<Period>[] = [];
  for (const [pattern, read] of readers) {
    const periods = readAll(folded, pattern, ([, ...groups]) => {
      const days = read(
        groups.map((group) => group ?? ''),
        options,
      );
      return days && { start: isoDay(days[0]), end: isoDay(days[1]) };
    });
    found.push(...free(periods, found));
  }
  return found
    .filter(({ start }) => !/\b(?:start|beginning|end) of (?:the )?$/.test(folded.slice(0, start)))
    .toSorted((one, two) => one.start - two.start)
    .reduce<Found<Period>[]>((joined, one) => withRange(joined, one, folded), []);
}

/** "Between January and March" is one period. */
function withRange(
  periods: readonly Found<Period>[],
  next: Found<Period>,
  folded: string,
): Found<Period>[] {
  const last = periods.at(-1);
  const isRange =
    last !== undefined &&
    /^ ?(?:and|to|until|till|through|-) ?(?:the )?$/.test(folded.slice(last.end, next.start));
  if (!isRange) return [...periods, next];
  const { start } = last.value;
  // "From November to January": November of the previous year.
  const first =
    start <= next.value.end ? start : `${Number(start.slice(0, 4)) - 1}${start.slice(4)}`;
  const value = { start: first, end: next.value.end };
  return [...periods.slice(0, -1), { value, start: last.start, end: next.end }];
}

/** Monday to Sunday. */
function week(today: Day, weeks: number): readonly [Day, Day] {
  const weekday = (new Date(isoDay(today)).getUTCDay() + 6) % 7;
  const monday = later(today, 7 * weeks - weekday);
  return [monday, later(monday, 6)];
}

function whole(which: string, unit: string, options: DateOptions): readonly [Day, Day] {
  const steps = /^(?:last|previous|past)$/.test(which) ? -1 : which === 'next' ? 1 : 0;
  const { today } = options;
  const period =
    unit === 'year'
      ? ([
          { year: today.year + steps, month: 1, day: 1 },
          { year: today.year + steps, month: 12, day: 31 },
        ] as const)
      : monthOf(monthsLater({ ...today, day: 1 }, steps));
  return steps === 0 ? untilToday(period, options) : period;
}

function monthOf({ year, month: number }: Day): readonly [Day, Day] {
  return [
    { year, month: number, day: 1 },
    { year, month: number, day: daysIn(year, number) },
  ];
}

/** If the past is preferred, "this month" ends today. */
function untilToday(
  [start, end]: readonly [Day, Day],
  { today, prefers }: DateOptions,
): readonly [Day, Day] {
  return prefers === 'past' && isoDay(end) > isoDay(today) ? [start, today] : [start, end];
}

function span(today: Day, amount: string, unit: string): readonly [Day, Day] | undefined {
  const number = /^\d/.test(amount)
    ? Number(amount)
    : (spokenNumber(amount.split('-'))?.value ?? 0);
  if (number < 1 || number > 1_000) return undefined;
  if (unit === 'day' || unit === 'week')
    return [later(today, unit === 'day' ? -number : -7 * number), today];
  return [monthsLater(today, unit === 'month' ? -number : -12 * number), today];
}

function named(
  name: string,
  year: string,
  { today, prefers = 'future' }: DateOptions,
): readonly [Day, Day] {
  const number = monthNumber(name);
  if (year !== '') return monthOf({ year: Number(year), month: number, day: 1 });
  const isLater = number > today.month;
  const shift = prefers === 'past' ? (isLater ? -1 : 0) : number < today.month ? 1 : 0;
  return monthOf({ year: today.year + shift, month: number, day: 1 });
}

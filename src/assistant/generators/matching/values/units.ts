import type { Message } from '../../words/words.ts';
import { type Found, readAll } from './found.ts';

/**
 * A unit of time.
 * @example const unit: TimeUnit = 'month';
 */
export type TimeUnit = 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

/** The sizes in minutes (clock) or months (calendar). The two families don't convert into each other. */
const sizes: Readonly<Record<TimeUnit, readonly [family: 'clock' | 'calendar', size: number]>> = {
  minute: ['clock', 1],
  hour: ['clock', 60],
  day: ['clock', 1_440],
  week: ['clock', 10_080],
  month: ['calendar', 1],
  year: ['calendar', 12],
};

const plural = /\b(minute|hour|day|week|month|year)s\b/;
const unitAfter = /^\s?-?(minute|min|hour|hr|day|week|month|year|yr)s?\b/i;
const short: Readonly<Record<string, TimeUnit>> = { min: 'minute', hr: 'hour', yr: 'year' };

const duration = /\b(half )?an? (minute|hour|day|week|month|year)( and a half)?\b/g;

/** Finds durations without a number: "a year and a half", "half a year", "a month". */
export function findDurations({ folded }: Message): FoundDuration[] {
  const found = readAll(folded, duration, ([, half, word, more]) => {
    const unit = isUnit(word);
    const value = half === undefined ? (more === undefined ? 1 : 1.5) : 0.5;
    return unit === undefined ? undefined : { value, unit, isMoney: false, isWeak: false };
  });
  return found.map(({ value, start, end }) => ({ ...value, start, end }));
}

interface FoundDuration extends Found<number> {
  readonly unit: TimeUnit;
  readonly isMoney: boolean;
  readonly isWeak: boolean;
}

/** The unit that a slot counts: "how many months", "duration in days". */
export function unitIn(text: string): TimeUnit | undefined {
  return isUnit(plural.exec(text)?.[1]);
}

/** The unit that follows a number in a message. */
export function unitAt(text: string, end: number): TimeUnit | undefined {
  const word = unitAfter.exec(text.slice(end, end + 12))?.[1]?.toLowerCase();
  return isUnit(word === undefined ? undefined : (short[word] ?? word));
}

function isUnit(word: string | undefined): TimeUnit | undefined {
  switch (word) {
    case 'minute':
    case 'hour':
    case 'day':
    case 'week':
    case 'month':
    case 'year':
      return word;
    default:
      return undefined;
  }
}

/**
 * Converts between units: "3 years" to months. Undefined for different families, such as days and months.
 */
export function converted(value: number, from: TimeUnit, to: TimeUnit): number | undefined {
  const [[family, size], [wanted, unit]] = [sizes[from], sizes[to]];
  if (family !== wanted) return undefined;
  const result = (value * size) / unit;
  return Number(result.toPrecision(12));
}

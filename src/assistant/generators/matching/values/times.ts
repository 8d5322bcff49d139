import type { Message } from '../../words/words.ts';
import { type Found, free, readAll } from './found.ts';
import { spokenNumber } from './numbers.ts';

const clock =
  /\b(?:at )?(?:([01]?\d|2[0-3])[:h]([0-5]\d)(?: ?(am|pm|a\.m\.|p\.m\.|o'clock))?|(1[0-2]|0?[1-9]) ?(am|pm|a\.m\.|p\.m\.)|([01]?\d|2[0-3]) ?(?:h(?:ours)?|o'clock(?: ([0-5]\d))?))(?![\w:])/g;
/** "15.30" can also be an amount: it is a time only after "at", or before a word that only times have. */
const pointed =
  /\bat ([01]?\d|2[0-3])\.([0-5]\d)(?![\w.])|\b([01]?\d|2[0-3])\.([0-5]\d) ?(?:(am|pm)\b|o'clock|h\b)/g;
const named: readonly (readonly [RegExp, string])[] = [
  [/\b(?:at )?(?:noon|midday)\b/g, '12:00'],
  [/\b(?:at )?midnight\b/g, '00:00'],
];

const spoken =
  /\b(?:at )?(half past|half to|quarter past|quarter to) (\d{1,2}|[a-z]+)\b(?: ?(am|pm))?/g;
const spokenHour = /\b(?:at )?([a-z]+) (o'clock|am|pm|a\.m\.|p\.m\.)(?![\w:])/g;
/** "At 10", unless an amount or address follows. */
const bareHour =
  /\bat (\d{1,2})(?=\s*(?:$|[.,?!;]|please\b|on\b|tomorrow\b|today\b|next\b|this\b|in the\b|for\b|and\b))/g;
/** "10 in the morning" */
const partOfDay = /\b(?:at )?(\d{1,2}|[a-z]+) (?:in the (morning|afternoon|evening)|at (night))\b/g;

/** Finds all times of day in a message, as `HH:MM`, in order. */
export function findTimes({ folded }: Message): Found<string>[] {
  const surest = [
    ...readAll(folded, spoken, (match) => inPart(spokenTime(match), match)),
    ...readAll(folded, spokenHour, (match) => inPart(hourText(match[1] ?? '', match[2]), match)),
    ...readAll(folded, pointed, pointedTime),
  ];
  const sure = [
    ...surest,
    ...free(
      readAll(folded, clock, (match) => inPart(clockTime(match), match)),
      surest,
    ),
  ];
  const parts = free(
    readAll(folded, partOfDay, ([, word = '', part = 'night']) => hourText(word, part)),
    sure,
  );
  const asSpoken = [...sure, ...parts];
  const found = [
    ...asSpoken,
    ...free(
      readAll(folded, bareHour, ([, hour = '']) => hourText(hour)),
      asSpoken,
    ),
    ...named.flatMap(([pattern, value]) => readAll(folded, pattern, () => value)),
  ];
  return found.toSorted((one, two) => one.start - two.start);
}

function clockTime(match: RegExpExecArray): string | undefined {
  const hour = Number(match[1] ?? match[4] ?? match[6]);
  const half = (match[3] ?? match[5] ?? '').replaceAll('.', '');
  return inHalf(hour, Number(match[2] ?? match[7] ?? 0), half);
}

function inHalf(hour: number, minutes: number, half: string): string | undefined {
  const isHalf = half === 'am' || half === 'pm';
  if (isHalf && hour > 12) return undefined;
  const shifted = half === 'pm' ? (hour % 12) + 12 : half === 'am' ? hour % 12 : hour;
  return clockText(shifted * 60 + minutes);
}

function pointedTime([, hour, minutes, other, more, half = '']: RegExpExecArray):
  | string
  | undefined {
  return inHalf(Number(hour ?? other), Number(minutes ?? more), half);
}

/** An hour alone, as the answer to "at what time?". */
export function hourAlone({ folded, tokens }: Message): Found<string>[] {
  const word = folded
    .replace(/^(?:at|around|about|maybe|say)\s+/, '')
    .replace(/[.!?]+$|\s+please$/, '');
  const spelled = /^([a-z]+|\d{1,2})[ -]([a-z]+(?:[ -][a-z]+)?)$/.exec(word.trim());
  const minutes = spelled === null ? undefined : spokenNumber(spelled[2]?.split(/[ -]/) ?? []);
  const written = /^([01]?\d|2[0-3])(?:\.|(?<=\d\d))([0-5]\d)$/.exec(word.trim());
  const value =
    written !== null
      ? inHalf(Number(written[1]), Number(written[2]), '')
      : minutes !== undefined && minutes.value >= 10 && minutes.value < 60
        ? withMinutes(hourText(spelled?.[1] ?? ''), minutes.value)
        : hourText(word.trim());
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (value === undefined || first === undefined || last === undefined) return [];
  return [{ value, start: first.start, end: last.end }];
}

/** "Ten thirty". */
function withMinutes(hour: string | undefined, minutes: number): string | undefined {
  return hour === undefined ? undefined : `${hour.slice(0, 3)}${String(minutes)}`;
}

/** Without am, pm or part of day, 1 to 6 means the afternoon, because appointments are during the day. */
function hourText(word: string, part?: string): string | undefined {
  const hour = /^\d{1,2}$/.test(word) ? Number(word) : (spokenNumber([word])?.value ?? Number.NaN);
  if (!Number.isInteger(hour) || hour < 0 || hour > 23) return undefined;
  const half = (part ?? '').replaceAll('.', '');
  const isMorning = half === 'am' || half === 'morning' || half === "o'clock";
  const isLater = half === '' ? hour >= 1 && hour <= 6 : !isMorning && hour < 12;
  return clockText((isLater ? hour + 12 : hour) * 60);
}

/** "half past two in the afternoon" */
function inPart(time: string | undefined, { input, index }: RegExpExecArray): string | undefined {
  const isLater = /^[^.,]{0,30}\bin the (?:afternoon|evening)\b/.test(input.slice(index));
  if (time === undefined || !isLater) return time;
  const hour = Number(time.slice(0, 2));
  return hour < 12 ? `${String(hour + 12)}${time.slice(2)}` : time;
}

/** "half past seven", "quarter to 8 pm"; 1 to 6 means the afternoon here, too. */
function spokenTime(match: RegExpExecArray): string | undefined {
  const [whole, phrase = '', word = '', half] = match;
  const hour = /^\d/.test(word) ? Number(word) : (spokenNumber([word])?.value ?? 0);
  if (hour < 1 || hour > 23) return undefined;
  const minutes = { 'half past': 30, 'half to': -30, 'quarter past': 15 }[phrase] ?? -15;
  const isMorning = /^[^.,]{0,30}\bin the morning\b|^ at night\b/.test(
    match.input.slice(match.index + whole.length),
  );
  const isLater = half === 'pm' ? hour < 12 : half === undefined && !isMorning && hour <= 6;
  const shift = isLater ? 12 : 0;
  return clockText((hour + shift) * 60 + minutes);
}

function clockText(minutes: number): string {
  const pad = (value: number): string => String(value).padStart(2, '0');
  return `${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

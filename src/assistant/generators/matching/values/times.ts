import type { Message } from '../../words/words.ts';
import { type Found, free, readAll } from './found.ts';
import { spokenNumber } from './numbers.ts';

const clock =
  /\b(?:at )?(?:([01]?\d|2[0-3])[:h]([0-5]\d)(?: ?(am|pm|a\.m\.|p\.m\.))?|(1[0-2]|0?[1-9]) ?(am|pm|a\.m\.|p\.m\.|o'clock)|([01]?\d|2[0-3]) h(?:ours)?)(?![\w:])/g;
const named: readonly (readonly [RegExp, string])[] = [
  [/\b(?:at )?(?:noon|midday)\b/g, '12:00'],
  [/\b(?:at )?midnight\b/g, '00:00'],
];

const spoken = /\b(?:at )?(half past|quarter past|quarter to) (\d{1,2}|[a-z]+)\b(?: ?(am|pm))?/g;

/** Every time of day of a message, as `HH:MM`, in its order. */
export function findTimes({ folded }: Message): Found<string>[] {
  const asSpoken = readAll(folded, spoken, spokenTime);
  const found = [
    ...asSpoken,
    ...free(readAll(folded, clock, clockTime), asSpoken),
    ...named.flatMap(([pattern, value]) => readAll(folded, pattern, () => value)),
  ];
  return found.toSorted((one, two) => one.start - two.start);
}

function clockTime(match: RegExpExecArray): string | undefined {
  const hour = Number(match[1] ?? match[4] ?? match[6]);
  const half = (match[3] ?? match[5] ?? '').replaceAll('.', '');
  if (half !== '' && half !== "o'clock" && hour > 12) return undefined;
  const shifted = half === 'pm' ? (hour % 12) + 12 : half === 'am' ? hour % 12 : hour;
  return clockText(shifted * 60 + Number(match[2] ?? 0));
}

/** "half past seven", "quarter to 8 pm" */
function spokenTime([, phrase = '', word = '', half]: RegExpExecArray): string | undefined {
  const hour = /^\d/.test(word) ? Number(word) : (spokenNumber([word])?.value ?? 0);
  if (hour < 1 || hour > 23) return undefined;
  const minutes = { 'half past': 30, 'quarter past': 15 }[phrase] ?? -15;
  const shift = half === 'pm' && hour < 12 ? 12 : 0;
  return clockText((hour + shift) * 60 + minutes);
}

function clockText(minutes: number): string {
  const pad = (value: number): string => String(value).padStart(2, '0');
  return `${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

import type { Message } from '../../words/index.ts';
import type { Found } from './found.ts';

const clock =
  /\b(?:at )?(?:([01]?\d|2[0-3])[:h]([0-5]\d)(?: ?(am|pm|a\.m\.|p\.m\.))?|(1[0-2]|0?[1-9]) ?(am|pm|a\.m\.|p\.m\.|o'clock)|([01]?\d|2[0-3]) h(?:ours)?)(?![\w:])/g;
const named: readonly (readonly [RegExp, string])[] = [
  [/\b(?:at )?(?:noon|midday)\b/g, '12:00'],
  [/\b(?:at )?midnight\b/g, '00:00'],
];

/** Every time of day of a message, as `HH:MM`, in its order. */
export function findTimes(message: Message): Found<string>[] {
  const found: Found<string>[] = [];
  for (const match of message.folded.matchAll(clock)) {
    const hour = Number(match[1] ?? match[4] ?? match[6]);
    const half = (match[3] ?? match[5] ?? '').replaceAll('.', '');
    if (half !== '' && half !== "o'clock" && hour > 12) continue;
    const shifted = half === 'pm' ? (hour % 12) + 12 : half === 'am' ? hour % 12 : hour;
    const value = `${String(shifted).padStart(2, '0')}:${match[2] ?? '00'}`;
    found.push({ value, start: match.index, end: match.index + match[0].length });
  }
  for (const [pattern, value] of named) {
    for (const match of message.folded.matchAll(pattern)) {
      found.push({ value, start: match.index, end: match.index + match[0].length });
    }
  }
  return found.toSorted((one, two) => one.start - two.start);
}

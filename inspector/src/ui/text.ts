const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** The time of day; with the date if it is not today. */
export function timeOf(milliseconds: number, now = Date.now()): string {
  const isToday = new Date(milliseconds).toDateString() === new Date(now).toDateString();
  return (isToday ? clock : calendar).format(milliseconds);
}

const minute = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** The time for a narrow list: hours and minutes, or the day if it is not today. */
export function shortTimeOf(milliseconds: number, now = Date.now()): string {
  const isToday = new Date(milliseconds).toDateString() === new Date(now).toDateString();
  return (isToday ? minute : day).format(milliseconds);
}

/** A duration: `84 ms`, `1.2 s`. */
export function durationOf(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1_000)} s`;
}

/** `812 B`, `3.4 kB`, `1.2 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1 event`, `3 events`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The value if it is a text, otherwise an empty text. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export type Pair = readonly [name: string, value: string];

/** The pairs as an object; omits pairs without a name. */
export function pairsObject(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.filter(([name]) => name.trim() !== '' && name !== '__proto__'));
}

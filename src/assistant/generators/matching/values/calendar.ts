/** A day of the calendar; months count from 1. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** A day from its parts, or undefined for one that does not exist. */
export function calendar(
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

/** The day that a moment falls on in a time zone. */
export function dayAt(milliseconds: number, timeZone: string): Day {
  const parts = formatter(timeZone).formatToParts(milliseconds);
  const part = (type: string): number =>
    Number(parts.find((one) => one.type === type)?.value ?? Number.NaN);
  return { year: part('year'), month: part('month'), day: part('day') };
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Making one costs more than a whole turn; an assistant has one or two zones. */
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

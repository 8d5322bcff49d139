export const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
export const months =
  'January February March April May June July August September October November December'.split(
    ' ',
  );

const iso =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d))?)?(?:\.\d+)? ?(?<zone>\S*)$/;
/** The format of dates in prompts: `Sunday, 15 November 2026, 10:00 (UTC)`. */
const line =
  /^\w+, (?<day>\d{1,2}) (?<monthName>\w+) (?<year>\d{4}), (?<hour>\d\d):(?<minute>\d\d) \((?<zone>\S+)\)$/;

/** The fields of a date and time, in its own time zone. */
export interface DateFields {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly microsecond: number;
  /** As written: `UTC`, `Z`, `+02:00`, `Europe/Berlin`; empty for none. */
  readonly zone: string;
}

/** The fields of a text that is a date; undefined for any other text, and for dates that don't exist. */
export function dateFields(text: string): DateFields | undefined {
  const groups = (iso.exec(text) ?? line.exec(text))?.groups;
  if (groups === undefined) return undefined;
  const { month, monthName = '', zone = '' } = groups;
  const number = (name: string) => Number(groups[name] ?? 0);
  const fields: DateFields = {
    year: number('year'),
    month: month === undefined ? months.indexOf(monthName) + 1 : Number(month),
    day: number('day'),
    hour: number('hour'),
    minute: number('minute'),
    second: number('second'),
    microsecond: 0,
    zone,
  };
  return fields.month === 0 || Number.isNaN(dayOf(fields).getTime()) ? undefined : fields;
}

/** The day as a UTC date, to count days. */
export function dayOf({ year, month, day }: DateFields): Date {
  return new Date(Date.UTC(year, month - 1, day));
}

/** The name of the time zone like in Python; `Z` is UTC. */
export function zoneOf({ zone }: DateFields): string {
  return zone === 'Z' || zone === '+00:00' ? 'UTC' : zone;
}

import { attributeOf, type Call, toText, type Value } from './value.ts';

/** `'Hi {}, {0} and {name.first}'.format(...)`, without format specifications. */
export function formatBraces(text: string, call: Call): string {
  let next = 0;
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}/g, (written, field?: string) => {
    if (field === undefined) return written.charAt(0);
    const match = /^(\d*|[A-Za-z_]\w*)((?:\.\w+)*)$/.exec(field);
    if (match === null) throw new RangeError(`format does not know {${field.slice(0, 40)}}`);
    const [, name = '', path = ''] = match;
    const at = name === '' ? next++ : Number(name);
    const value = Number.isNaN(at) ? call.named.get(name) : call.positional[at];
    if (value === undefined) throw new RangeError(`format has no value for {${field}}`);
    const result = toText(path === '' ? value : attributeOf(value, path.slice(1)));
    call.spend(result.length);
    return result;
  });
}

/** `'%.2f of %s'|format(a, b)`: the conversions s, d, f and %, with width and precision. */
export function formatPercent(
  text: string,
  { positional, spend }: Pick<Call, 'positional' | 'spend'>,
): string {
  let next = 0;
  return text.replace(
    /%([-0+ ]*)(\d{0,3})(?:\.(\d{1,2}))?([a-zA-Z%])/g,
    (_, flags: string, width: string, precision: string | undefined, kind: string) => {
      if (kind === '%') return '%';
      const value = positional[next];
      next += 1;
      if (value === undefined) throw new RangeError('format has fewer values than places');
      spend(Number(width));
      const body = convert(kind, value, precision === undefined ? undefined : Number(precision));
      const signed =
        flags.includes('+') && kind !== 's' && !body.startsWith('-') ? `+${body}` : body;
      if (flags.includes('-')) return signed.padEnd(Number(width));
      return signed.padStart(Number(width), flags.includes('0') && kind !== 's' ? '0' : ' ');
    },
  );
}

function convert(kind: string, value: Value, precision: number | undefined): string {
  if (kind === 's') return toText(value).slice(0, precision);
  const number = Number(value);
  if (!Number.isFinite(number)) throw new RangeError(`format %${kind} needs a number`);
  if (kind === 'd' || kind === 'i') return String(Math.trunc(number));
  if (kind === 'f') return number.toFixed(precision ?? 6);
  throw new RangeError(`format does not know %${kind}; it knows s, d and f`);
}

const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const months =
  'January February March April May June July August September October November December'.split(
    ' ',
  );

const iso =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d))?)?(?:\.\d+)? ?(?<zone>\S*)$/;
/** As prompts get it: `Sunday, 15 November 2026, 10:00 (UTC)`. */
const line =
  /^\w+, (?<day>\d{1,2}) (?<monthName>\w+) (?<year>\d{4}), (?<hour>\d\d):(?<minute>\d\d) \((?<zone>\S+)\)$/;

/**
 * A date and time as Python's `strftime` writes it, with English names. What is not a date, or a
 * conversion that does not exist, is a `RangeError`.
 */
export function strftime(text: string, format: string): string {
  const groups = (iso.exec(text) ?? line.exec(text))?.groups;
  if (groups === undefined) throw new RangeError('strftime needs a date such as 2026-11-15T10:00');
  const { month, monthName = '', zone = '' } = groups;
  const number = (name: string) => Number(groups[name] ?? 0);
  const monthIndex = month === undefined ? months.indexOf(monthName) : Number(month) - 1;
  // Only to count days: the fields are those of the date's own time zone.
  const date = new Date(Date.UTC(number('year'), monthIndex, number('day')));
  if (Number.isNaN(date.getTime())) throw new RangeError('strftime needs a date that exists');
  const dayOfYear = (date.getTime() - Date.UTC(number('year'), 0, 1)) / 86_400_000 + 1;
  const hour = number('hour');
  const two = (value: number) => String(value).padStart(2, '0');
  const codes: Readonly<Record<string, string>> = {
    '%': '%',
    A: weekdays[date.getUTCDay()] ?? '',
    B: months[monthIndex] ?? '',
    H: two(hour),
    I: two(hour % 12 === 0 ? 12 : hour % 12),
    M: two(number('minute')),
    S: two(number('second')),
    Y: String(number('year')),
    Z: zone === 'Z' ? 'UTC' : zone,
    a: (weekdays[date.getUTCDay()] ?? '').slice(0, 3),
    b: (months[monthIndex] ?? '').slice(0, 3),
    d: two(number('day')),
    j: String(dayOfYear).padStart(3, '0'),
    m: two(monthIndex + 1),
    p: hour < 12 ? 'AM' : 'PM',
    y: two(number('year') % 100),
  };
  return format.replace(/%(-?)([a-zA-Z%])/g, (written, strip: string, code: string) => {
    const value = Object.hasOwn(codes, code) ? codes[code] : undefined;
    if (value === undefined) throw new RangeError(`strftime does not know ${written}`);
    return strip === '' ? value : value.replace(/^0+(?=\d)/, '');
  });
}

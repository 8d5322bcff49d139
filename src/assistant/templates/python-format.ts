import { type DateFields, dateFields, dayOf, months, weekdays, zoneOf } from './date-fields.ts';
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

/**
 * Formats a date and time like Python's `strftime`, with English names.
 * @throws {RangeError} for an invalid date or an unknown conversion
 */
export function strftime(text: string, format: string): string {
  const fields = dateOf(text, 'strftime');
  const { year, month, hour } = fields;
  const date = dayOf(fields);
  const dayOfYear = (date.getTime() - Date.UTC(year, 0, 1)) / 86_400_000 + 1;
  const two = (value: number) => String(value).padStart(2, '0');
  const codes: Readonly<Record<string, string>> = {
    '%': '%',
    A: weekdays[date.getUTCDay()] ?? '',
    B: months[month - 1] ?? '',
    H: two(hour),
    I: two(hour % 12 === 0 ? 12 : hour % 12),
    M: two(fields.minute),
    S: two(fields.second),
    Y: String(year),
    Z: zoneOf(fields),
    a: (weekdays[date.getUTCDay()] ?? '').slice(0, 3),
    b: (months[month - 1] ?? '').slice(0, 3),
    d: two(fields.day),
    j: String(dayOfYear).padStart(3, '0'),
    m: two(month),
    p: hour < 12 ? 'AM' : 'PM',
    y: two(year % 100),
  };
  return format.replace(/%(-?)([a-zA-Z%])/g, (written, strip: string, code: string) => {
    const value = Object.hasOwn(codes, code) ? codes[code] : undefined;
    if (value === undefined) throw new RangeError(`strftime does not know ${written}`);
    return strip === '' ? value : value.replace(/^0+(?=\d)/, '');
  });
}

/** @throws {RangeError} if the text is not a date. */
export function dateOf(text: string, method: string): DateFields {
  const fields = dateFields(text);
  if (fields !== undefined) return fields;
  throw new RangeError(`${method} needs a date such as 2026-11-15T10:00`);
}

/** `2026-11-15T10:00:00+00:00`; without an offset if the time zone is only a name. */
export function isoFormat(text: string): string {
  if (/^\d{4}-/.test(text)) return text;
  const day = strftime(text, '%Y-%m-%dT%H:%M:%S');
  return zoneOf(dateOf(text, 'isoformat')) === 'UTC' ? `${day}+00:00` : day;
}

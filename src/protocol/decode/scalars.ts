import { type DecodeLimits, defaultDecodeLimits } from './options.ts';
import type { Reader } from './reader.ts';

/**
 * Readers of single fields, as lenient as ProtoJSON: `null` is unset everywhere, and an empty string is
 * unset where the field is optional.
 */

// Ids are sent in headers and stored in logs and database keys, which can represent neither.
// oxlint-disable-next-line no-control-regex
const controlCharacter = /[\u0000-\u001f\u007f]/;

/** Why an id is invalid; undefined when it is valid. */
export function idProblem(
  id: string,
  { maxIdLength }: Pick<DecodeLimits, 'maxIdLength'> = defaultDecodeLimits,
): string | undefined {
  if (id.length > maxIdLength) return `must be at most ${maxIdLength} characters`;
  if (controlCharacter.test(id) || !id.isWellFormed()) {
    return 'must not contain control characters or broken surrogate pairs';
  }
  return undefined;
}

function checkId(reader: Reader, id: string, field: string): string {
  const problem = idProblem(id, reader.limits);
  if (problem === undefined) return id;
  reader.fail(field, problem);
  return '';
}

export function requiredId(reader: Reader, value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '') return checkId(reader, value, field);
  reader.fail(field, isUnset(value) || value === '' ? 'is required' : 'must be a string');
  return '';
}

export function optionalId(reader: Reader, value: unknown, field: string): string | undefined {
  if (isUnset(value) || value === '') return undefined;
  return requiredId(reader, value, field);
}

/** A text of any length: only the size of the body limits it. */
export function optionalText(reader: Reader, value: unknown, field: string): string | undefined {
  if (isUnset(value) || value === '') return undefined;
  if (typeof value === 'string') return value;
  reader.fail(field, 'must be a string');
  return undefined;
}

export function optionalString(reader: Reader, value: unknown, field: string): string | undefined {
  const string = optionalText(reader, value, field);
  if (string === undefined || string.length <= reader.limits.maxStringLength) return string;
  reader.fail(field, `must be at most ${reader.limits.maxStringLength} characters`);
  return undefined;
}

export function requiredString(reader: Reader, value: unknown, field: string): string {
  if (isUnset(value) || value === '') {
    reader.fail(field, 'is required');
    return '';
  }
  return optionalString(reader, value, field) ?? '';
}

export function optionalStrings(
  reader: Reader,
  value: unknown,
  field: string,
): readonly string[] | undefined {
  if (isUnset(value)) return undefined;
  // In a query string, a list is one comma-separated parameter.
  const list = reader.fromQuery && typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(list)) {
    reader.fail(field, 'must be an array of strings');
    return undefined;
  }
  if (list.length > reader.limits.maxListLength) {
    reader.fail(field, `must have at most ${reader.limits.maxListLength} entries`);
    return undefined;
  }
  const strings: string[] = [];
  reader.enter(field);
  for (let index = 0; index < list.length; index += 1) {
    const item: unknown = list[index];
    if (typeof item !== 'string') {
      reader.fail(index, 'must be a string');
    } else if (item.length > reader.limits.maxStringLength) {
      reader.fail(index, `must be at most ${reader.limits.maxStringLength} characters`);
    } else {
      strings.push(item);
    }
  }
  reader.leave();
  return strings;
}

/** A number, or a string of its digits. */
export function optionalInteger(
  reader: Reader,
  value: unknown,
  field: string,
  range: { readonly min: number; readonly max?: number },
): number | undefined {
  if (isUnset(value)) return undefined;
  const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
  const max = range.max ?? 2_147_483_647;
  if (typeof number !== 'number' || !Number.isInteger(number)) {
    reader.fail(field, 'must be an integer');
    return undefined;
  }
  if (number < range.min || number > max) {
    reader.fail(field, `must be from ${range.min} to ${max}`);
    return undefined;
  }
  return number === 0 ? 0 : number;
}

export function optionalBoolean(
  reader: Reader,
  value: unknown,
  field: string,
): boolean | undefined {
  if (isUnset(value)) return undefined;
  if (typeof value === 'boolean') return value;
  if (reader.fromQuery && (value === 'true' || value === 'false')) return value === 'true';
  reader.fail(field, 'must be true or false');
  return undefined;
}

/** Resolves an enum value by its name or number. `names` is in the order of the numbers. */
export function enumName<T extends string>(value: unknown, names: readonly T[]): T | undefined {
  if (typeof value === 'number') return names[value];
  return (names as readonly unknown[]).includes(value) ? (value as T) : undefined;
}

export function isUnset(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

const timestampPattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/;

/**
 * An ISO 8601 time as UTC with milliseconds and `Z`; undefined if the text is not one. Digits beyond the
 * millisecond are cut off. `zoneless`: a time without a zone is UTC, as old 0.3 peers send it.
 */
export function normaliseTimestamp(value: string, zoneless: boolean): string | undefined {
  const match = timestampPattern.exec(value);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zulu, sign, offH, offM] = match;
  if (zulu === undefined && sign === undefined && !zoneless) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offH ?? 0) > 23 || Number(offM ?? 0) > 59) return undefined;

  const midnight = new Date(0);
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) {
    return undefined;
  }
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const offset = (sign === '-' ? -1 : 1) * (Number(offH ?? 0) * 60 + Number(offM ?? 0)) * 60_000;
  const millis = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const time = new Date(midnight.getTime() + seconds * 1000 + millis - offset);
  // Years outside 0 to 9999 have another format, which the protocol doesn't allow.
  return time.getUTCFullYear() < 0 || time.getUTCFullYear() > 9999 ? undefined : time.toISOString();
}

export function optionalTimestamp(
  reader: Reader,
  value: unknown,
  field: string,
  options: { readonly zoneless: boolean },
): string | undefined {
  if (isUnset(value) || value === '') return undefined;
  const time = typeof value === 'string' ? normaliseTimestamp(value, options.zoneless) : undefined;
  if (time === undefined) {
    reader.fail(field, 'must be a time such as 2025-01-31T12:00:00.000Z');
  }
  return time;
}

const standardBase64 = /^[A-Za-z0-9+/]*={0,2}$/;
const anyBase64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Converts base64 of any alphabet, padded or not, to the padded standard alphabet; undefined if invalid.
 */
export function normaliseBase64(value: string): string | undefined {
  if (value.length % 4 === 0 && standardBase64.test(value)) return value;
  if (!anyBase64.test(value)) return undefined;
  const digits = value.replaceAll('=', '');
  const rest = digits.length % 4;
  const padding = rest === 0 ? '' : '='.repeat(4 - rest);
  if (rest === 1 || value.length - digits.length > padding.length) return undefined;
  return digits.replaceAll('-', '+').replaceAll('_', '/') + padding;
}

export function requiredBase64(reader: Reader, value: unknown, field: string): string {
  const normal = typeof value === 'string' ? normaliseBase64(value) : undefined;
  if (normal === undefined) reader.fail(field, 'must be a base64 string');
  return normal ?? '';
}

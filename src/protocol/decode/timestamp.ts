import type { Reader } from './reader.ts';
import { isUnset } from './scalars.ts';

const pattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/;

/**
 * An ISO 8601 time as UTC with milliseconds and `Z`; undefined when it is none. Digits beyond the
 * millisecond are cut off. `zoneless`: a time without a zone is UTC, as old 0.3 peers write it.
 */
export function normaliseTimestamp(value: string, zoneless: boolean): string | undefined {
  const match = pattern.exec(value);
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
  // Outside of the years 0 to 9999 the format would not be the protocol's.
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

import type { Call } from './operation.ts';
import { toText, type Value } from './value.ts';

/** `'%.2f of %s'|format(a, b)`: the conversions s, d, f and %, with width and precision. */
export function formatPercent(
  text: string,
  { positional, spend }: Pick<Call, 'positional' | 'spend'>,
): string {
  let next = 0;
  return text.replace(
    /%(?<flags>[-0+ ]*)(?<width>\d{0,3})(?:\.(?<precision>\d{1,2}))?(?<kind>[a-zA-Z%])/g,
    (...match: unknown[]) => {
      const groups = match[match.length - 1] as Record<string, string | undefined>;
      const { flags = '', width = '', precision, kind = '' } = groups;
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

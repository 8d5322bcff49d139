import { LegateError } from '../../protocol/index.ts';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** `500ms`, `30s`, `5m`, `1h`, or seconds without a unit; in milliseconds. */
export function durationOf(text: string, flag: string): number {
  const [, number, unit = 's'] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(text.trim()) ?? [];
  if (number !== undefined) return Math.round(Number(number) * units[unit as keyof typeof units]);
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `${flag} ${JSON.stringify(text)} is no duration; write 500ms, 30s, 5m or 1h`,
  );
}

/** The content type of the Prometheus text format. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

const unitWords: Readonly<Record<string, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  By: 'bytes',
};

/** `legate.turn.duration` in `s` becomes `legate.turn.duration_seconds`. */
export function withUnit(name: string, unit: string | undefined): string {
  const word = unit === undefined ? undefined : unitWords[unit];
  return word === undefined || name.endsWith(word) ? name : `${name}_${word}`;
}

/** The name of a metric as Prometheus shows it: `legate.turns` is `legate_turns_total`. */
export function prometheusName(metric: {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: string;
}): string {
  const name = withUnit(metric.name, metric.unit).replaceAll(/[^A-Za-z0-9_]/g, '_');
  return metric.type !== 'counter' || name.endsWith('_total') ? name : `${name}_total`;
}

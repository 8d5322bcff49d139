import type { Distribution, MetricData } from './instruments.ts';
import type { Labels } from './series.ts';

/** What answers with the text of `renderMetric` say it is. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

const units: Readonly<Record<string, string>> = { s: 'seconds', ms: 'milliseconds', By: 'bytes' };

/**
 * The name of a metric as Prometheus wants it: `legate.turn.duration` in `s` is
 * `legate_turn_duration_seconds`, and counters end in `_total`.
 */
export function prometheusName({
  name,
  unit,
  type,
}: Pick<MetricData, 'name' | 'unit' | 'type'>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_:]/g, '_');
  const word = unit === undefined ? undefined : units[unit];
  const measured = word === undefined || plain.endsWith(`_${word}`) ? plain : `${plain}_${word}`;
  return type !== 'counter' || measured.endsWith('_total') ? measured : `${measured}_total`;
}

/** One metric in the text format of Prometheus, line by line. */
export function renderMetric(metric: MetricData): readonly string[] {
  const name = prometheusName(metric);
  const head = [`# HELP ${name} ${escapeHelp(metric.help)}`, `# TYPE ${name} ${metric.type}`];
  if (metric.type !== 'histogram') {
    return [...head, ...metric.points.map(({ labels, value }) => line(name, labels, value))];
  }
  const { bounds } = metric;
  return [
    ...head,
    ...metric.points.flatMap(({ labels, value }) => distribution(name, labels, bounds, value)),
  ];
}

function distribution(
  name: string,
  labels: Labels,
  bounds: readonly number[],
  { counts, sum, count }: Distribution,
): readonly string[] {
  let total = 0;
  const buckets = bounds.map((bound, index) => {
    total += counts[index] ?? 0;
    return line(`${name}_bucket`, { ...labels, le: String(bound) }, total);
  });
  return [
    ...buckets,
    line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([key, text]) => `${key.replaceAll(/[^A-Za-z0-9_]/g, '_')}=${quote(text)}`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

function quote(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

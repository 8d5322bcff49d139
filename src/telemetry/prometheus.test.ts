import { expect, test } from 'vitest';
import { Metrics, metricTable, prometheusName } from './index.ts';

test.each([
  ['legate.turns', 'counter', undefined, 'legate_turns_total'],
  ['legate_turns_total', 'counter', undefined, 'legate_turns_total'],
  ['legate.turn.duration', 'histogram', 's', 'legate_turn_duration_seconds'],
  ['legate.a2a.duration', 'histogram', 'ms', 'legate_a2a_duration_milliseconds'],
  ['process.cpu', 'counter', 's', 'process_cpu_seconds_total'],
  ['a-b c', 'gauge', 'By', 'a_b_c_bytes'],
] as const)('%s as a %s in %s is called %s', (name, type, unit, shown) => {
  expect(prometheusName({ name, type, ...(unit !== undefined && { unit }) })).toBe(shown);
});

test('no two metrics have the same name for Prometheus', () => {
  const names = Object.entries(metricTable).map(([name, entry]) =>
    prometheusName({ name, type: entry.type, ...('unit' in entry && { unit: entry.unit }) }),
  );
  expect(new Set(names).size).toBe(names.length);
});

test('names of labels and help texts are written so that they can be read', () => {
  const metrics = new Metrics();
  metrics.counter('x', 'two\nlines \\').add(1, { 'a.b': 'c' });
  expect(metrics.render()).toBe(
    '# HELP x_total two\\nlines \\\\\n# TYPE x_total counter\nx_total{a_b="c"} 1\n',
  );
});

test('a gauge that is observed is asked when somebody looks, and not after it was given up', async () => {
  const metrics = new Metrics();
  let depth = 1;
  const stop = metrics.observe('depth', 'Depth', (observe) => observe(depth, { queue: 'a' }));
  metrics.observe('broken', 'Broken', () => {
    throw new Error('not now');
  });
  await metrics.collect();
  expect(metrics.render()).toContain('depth{queue="a"} 1\n');
  depth = 2;
  stop();
  await metrics.collect();
  expect(metrics.render()).toContain('depth{queue="a"} 1\n');
});

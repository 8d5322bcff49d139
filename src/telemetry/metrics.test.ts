import { expect, test } from 'vitest';
import { Metrics } from './index.ts';

test('counters and gauges are rendered by their labels', () => {
  const metrics = new Metrics();
  const turns = metrics.counter('legate_turns_total', 'Turns that ended');
  turns.add(1, { state: 'completed' });
  turns.add(2, { state: 'a "quoted"\nname' });
  metrics.counter('legate_turns_total', 'the same one').add(1, { state: 'completed' });
  metrics.gauge('legate_streams_open', 'Open streams').add(1);
  metrics.gauge('legate_streams_open', 'Open streams').add(-1);
  expect(metrics.render()).toBe(
    [
      '# HELP legate_turns_total Turns that ended',
      '# TYPE legate_turns_total counter',
      'legate_turns_total{state="completed"} 2',
      'legate_turns_total{state="a \\"quoted\\"\\nname"} 2',
      '# HELP legate_streams_open Open streams',
      '# TYPE legate_streams_open gauge',
      'legate_streams_open 0',
      '',
    ].join('\n'),
  );
});

test('a histogram counts into cumulative buckets', () => {
  const metrics = new Metrics();
  const durations = metrics.histogram('d', 'Durations');
  durations.record(0.004);
  durations.record(0.2);
  durations.record(1_000);
  const text = metrics.render();
  expect(text).toContain('d_seconds_bucket{le="0.005"} 1\n');
  expect(text).toContain('d_seconds_bucket{le="0.5"} 2\n');
  expect(text).toContain('d_seconds_bucket{le="600"} 2\n');
  expect(text).toContain('d_seconds_bucket{le="+Inf"} 3\n');
  expect(text).toContain('d_seconds_count 3\n');
});

test('labels chosen by callers cannot grow memory without bound', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('c', 'c');
  for (let index = 0; index < 2_000; index += 1) counter.add(1, { id: String(index) });
  const lines = metrics
    .render()
    .split('\n')
    .filter((line) => line.startsWith('c_total{'));
  expect(lines).toHaveLength(1_001);
  expect(lines).toContain('c_total{other="true"} 1000');
});

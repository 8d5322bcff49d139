import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { OtlpCollector } from '../../test/support/otlp-collector.ts';
import {
  inSpan,
  endSpan,
  counter,
  histogram,
  observeGauge,
  silentLogger,
  startSpan,
  startTelemetry,
  type TelemetryOptions,
  traceHeaders,
  traceparentOf,
  upDownCounter,
} from './index.ts';

async function collector(answer?: () => number): Promise<OtlpCollector> {
  const opened = await OtlpCollector.open(answer);
  closing.push(() => opened[Symbol.asyncDispose]());
  return opened;
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function telemetryTo(endpoint: string, options: Partial<TelemetryOptions> = {}) {
  const telemetry = await startTelemetry({
    serviceName: 'bank',
    ...options,
    otlp: { endpoint, ...options.otlp },
  });
  closing.push(() => telemetry.close());
  return telemetry;
}

test('OTLP: spans are sent as JSON, with trace, times and resource', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  const telemetry = await telemetryTo(`${endpoint}/`, {
    otlp: { endpoint, headers: { 'x-team': 'a' } },
  });
  const outer = startSpan('outer', { kind: 'server', attributes: { 'legate.attempt': 1 } });
  const inner = inSpan(outer, () => startSpan('inner', { attributes: { share: 0.5, ok: true } }));
  endSpan(inner, { code: 'TIMEOUT' });
  endSpan(outer);
  await telemetry.flush();
  const [first, second] = collecting.spans;
  expect(collecting.received[0]?.headers).toMatchObject({
    'x-team': 'a',
    'content-type': 'application/json',
  });
  expect(collecting.received[0]?.body).toMatchObject({
    resourceSpans: [
      {
        resource: {
          attributes: expect.arrayContaining([
            { key: 'service.name', value: { stringValue: 'bank' } },
          ]),
        },
      },
    ],
  });
  expect(first).toMatchObject({
    name: 'inner',
    traceId: second?.traceId,
    parentSpanId: second?.spanId,
    kind: 1,
    status: { code: 2, message: 'TIMEOUT' },
    attributes: [
      { key: 'share', value: { doubleValue: 0.5 } },
      { key: 'ok', value: { boolValue: true } },
    ],
  });
  expect(second).toMatchObject({
    name: 'outer',
    kind: 2,
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    attributes: [{ key: 'legate.attempt', value: { intValue: 1 } }],
  });
  expect(second).not.toHaveProperty('parentSpanId');
});

test('OTLP: metrics are sent as sums, gauges and histograms', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  // What is made before telemetry starts counts from then on.
  const calls = counter('legate.model.calls');
  const seconds = histogram('legate.model.duration');
  calls.add(1, { model: 'm', outcome: 'ok' });
  const telemetry = await telemetryTo(endpoint);
  calls.add(2, { model: 'm', outcome: 'ok' });
  seconds.record(0.2, { model: 'm', outcome: 'ok' });
  upDownCounter('legate.turns.running').add(3, { agent: 'a' });
  await telemetry.flush();
  const named = collecting.metrics;
  expect(named.get('legate.model.calls')).toMatchObject({
    description: 'Calls of language models by outcome',
    sum: {
      isMonotonic: true,
      aggregationTemporality: 2,
      dataPoints: [
        {
          asDouble: 2,
          attributes: [
            { key: 'model', value: { stringValue: 'm' } },
            { key: 'outcome', value: { stringValue: 'ok' } },
          ],
        },
      ],
    },
  });
  expect(named.get('legate.model.duration')).toMatchObject({
    unit: 's',
    histogram: {
      dataPoints: [{ count: 1, sum: 0.2, bucketCounts: expect.arrayContaining([1]) }],
    },
  });
  expect(named.get('legate.turns.running')).toMatchObject({
    sum: { isMonotonic: false, dataPoints: [{ asDouble: 3 }] },
  });
  expect(named.has('process.resident_memory')).toBe(true);
  expect(await telemetry.prometheus()).toContain(
    'legate_model_calls_total{model="m",outcome="ok"} 2\n',
  );
});

test('an unavailable collector costs spans, not memory, and is logged once', async () => {
  const collecting = await collector(() => 400);
  const { endpoint } = collecting;
  const said: string[] = [];
  const say = (_: object, event: string): void => void said.push(event);
  const logger = { debug: say, info: say, warn: say, error: say, child: () => logger };
  const telemetry = await telemetryTo(endpoint, {
    logger,
    otlp: { endpoint, metrics: false },
  });
  for (let count = 0; count < 10; count += 1) startSpan('x').end();
  await telemetry.flush();
  for (let count = 0; count < 2; count += 1) startSpan('x').end();
  await telemetry.flush();
  expect(await telemetry.prometheus()).toContain(
    'legate_telemetry_dropped_total{reason="not_delivered"} 12\n',
  );
  expect(said.filter((event) => event === 'telemetry.export.failed')).toHaveLength(1);
});

test('a collector that never answers delays shutdown only briefly', async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  closing.push(async () => {
    silent.closeAllConnections();
    silent.close();
  });
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const telemetry = await telemetryTo(endpoint, { otlp: { endpoint, timeoutMs: 50 } });
  startSpan('x').end();
  await telemetry.flush();
  expect(await telemetry.prometheus()).toContain(
    'legate_telemetry_dropped_total{reason="not_delivered"} 1\n',
  );
  await telemetry.close();
});

test('retryable responses of a collector are retried', async () => {
  const answers = [503, 200];
  const collecting = await collector(() => answers.shift() ?? 200);
  const { endpoint } = collecting;
  const telemetry = await telemetryTo(endpoint, { otlp: { endpoint, metrics: false } });
  startSpan('x').end();
  await telemetry.flush();
  expect(collecting.spans.map(({ name }) => name)).toEqual(['x', 'x']);
  expect(await telemetry.prometheus()).not.toContain('legate_telemetry_dropped_total{');
});

test('closing exports pending spans', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  const telemetry = await telemetryTo(endpoint);
  startSpan('last words').end();
  await telemetry.close();
  expect(collecting.spans.map(({ name }) => name)).toEqual(['last words']);
  startSpan('after').end();
  await telemetry.close();
  expect(collecting.spans).toHaveLength(1);
  expect(traceparentOf(startSpan('off'))).toBeUndefined();
});

test('a second start shares the SDK, which stops with the last close', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  const first = await telemetryTo(endpoint);
  const second = await startTelemetry();
  counter('legate.events').add(1, { agent: 'a' });
  const total = 'legate_events_total{agent="a"} 1\n';
  expect(await first.prometheus()).toContain(total);
  expect(await second.prometheus()).toContain(total);
  await first.close();
  startSpan('still on').end();
  await second.close();
  expect(collecting.spans.map(({ name }) => name)).toEqual(['still on']);
});

test.each([
  ['no address', { endpoint: 'collector' }, 'must be an http or https URL'],
  ['a password in it', { endpoint: 'https://a:b@collector' }, 'without a user'],
  [
    'credentials over plain http',
    { endpoint: 'http://collector.example.com', headers: { authorization: 'x' } },
    'use https',
  ],
])(
  'a collector with %s is refused, and telemetry can be started after that',
  async (_, otlp, why) => {
    await expect(startTelemetry({ otlp })).rejects.toThrow(why);
    const telemetry = await startTelemetry();
    await telemetry.close();
  },
);

test('W3C: a trace of the caller is continued, sampled or not', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  const telemetry = await telemetryTo(endpoint, { sampleRatio: 0 });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const sampled = startSpan('a', { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
  const other = startSpan('b', { traceparent: `00-${traceId}-00f067aa0ba902b7-00` });
  expect(inSpan(sampled, traceHeaders)).toEqual({
    traceparent: `00-${traceId}-${sampled.spanContext().spanId}-01`,
  });
  expect(inSpan(other, () => traceparentOf(startSpan('c')))).toMatch(
    new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`),
  );
  const own = startSpan('d', { traceparent: 'not a traceparent' });
  expect(own.isRecording()).toBe(false);
  expect(own.spanContext().traceId).not.toBe(traceId);
  for (const span of [sampled, other, own]) span.end();
  await telemetry.flush();
  expect(collecting.spans).toMatchObject([
    { name: 'a', traceId, parentSpanId: '00f067aa0ba902b7' },
  ]);
});

test('secrets and endless texts do not get into spans', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  const telemetry = await telemetryTo(endpoint);
  const span = startSpan('x', {
    attributes: { url: 'amqp://me:hunter2@host', long: 'a'.repeat(5_000) },
  });
  span.recordException(new Error('Bearer hunter2hunter2 was refused'));
  span.end();
  await telemetry.flush();
  const text = JSON.stringify(collecting.spans);
  expect(text).not.toContain('hunter2');
  expect(text.length).toBeLessThan(3_000);
});

test('spans arrive without a further span or a shutdown, with metrics on as well', async () => {
  const collecting = await collector();
  const { endpoint } = collecting;
  await telemetryTo(endpoint, { otlp: { endpoint, batchDelayMs: 10, metricsIntervalMs: 10 } });
  for (let count = 1; count <= 5; count += 1) {
    startSpan('turn').end();
    await expect.poll(() => collecting.spans.length).toBe(count);
  }
  expect(collecting.metrics.size).toBeGreaterThan(0);
});

test('labels chosen by callers cannot grow memory without bound', async () => {
  await using telemetry = await startTelemetry();
  const calls = counter('legate.tool.calls');
  for (let index = 0; index < 2_000; index += 1) calls.add(1, { tool: String(index) });
  const lines = (await telemetry.prometheus())
    .split('\n')
    .filter((line) => line.startsWith('legate_tool_calls_total{'));
  expect(lines.length).toBeLessThanOrEqual(1_000);
  expect(lines.some((line) => line.includes('otel_metric_overflow'))).toBe(true);
});

test('an observation that never ends leaves out its own metric, and no other', async () => {
  const problems: unknown[] = [];
  const telemetry = await startTelemetry({
    logger: { ...silentLogger, warn: (fields: unknown) => void problems.push(fields) },
  });
  closing.push(() => telemetry.close());
  const stop = observeGauge('legate.contexts.limit', () => new Promise(() => {}));
  closing.push(async () => stop());
  counter('legate.events').add(1, { agent: 'a' });
  const text = await telemetry.prometheus();
  expect(text).toContain('legate_events_total{agent="a"}');
  expect(text).not.toContain('legate_contexts_limit{');
  expect(JSON.stringify(problems)).toContain('legate.contexts.limit could not be observed in 2 s');
});

test('telemetry that starts while the former one stops has its metrics', async () => {
  const former = await startTelemetry();
  const closed = former.close();
  await using telemetry = await startTelemetry();
  await closed;
  expect(await telemetry.prometheus()).toContain('process_start_time');
});

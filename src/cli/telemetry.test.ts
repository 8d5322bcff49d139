import { expect, test } from 'vitest';
import { OtlpCollector } from '../../test/support/otlp-collector.ts';
import { connect } from '../client/index.ts';
import { busFolder, type Running, slow } from './testing.contract.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

test(
  '`telemetry:` holds for the gateway and the agents in its process: one registry, one trace',
  slow,
  async () => {
    await using collector = await OtlpCollector.open();
    await using folder = await busFolder({
      'endpoints.yml': [
        'bus: {type: memory}',
        'telemetry:',
        '  prometheus: true',
        `  otlp: {endpoint: "${collector.endpoint}"}`,
      ].join('\n'),
    });
    const args = ['gateway', folder.name, '--work', 'agent.ts', '-p', '0'];
    await using serving = folder.start(args);
    await serving.says('Stop:');
    const url = /at (http:\/\/\S+)/.exec(serving.out())?.[1] ?? '';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const client = await connect(url, { headers });
    await client.sendMessage('hello');
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/^legate_turns_total\{agent="[^"]+",outcome="completed"\} [1-9]/m);
    expect(metrics).toMatch(/^legate_messaging_publish_messages_total\{.*status="ok"\} [1-9]/m);
    expect(metrics).toMatch(/^legate_messaging_process_duration_milliseconds_count\{/m);
    expect((await serving.stop()).code).toBe(0);
    const names = collector.spans
      .filter((span) => span.traceId === traceId)
      .map(({ name }) => name);
    expect(names).toContain('legate.messaging.publish');
    expect(names).toContain('legate.messaging.process');
    expect(names.filter((name) => name === 'legate.turn')).toHaveLength(2);
    expect(collector.metrics.has('legate.messaging.process.messages')).toBe(true);
  },
);

/** The address after `Metrics:`, once it is said. */
async function metricsOf(working: Running): Promise<string> {
  await working.says(/Metrics: \S+\n/);
  return /Metrics: (\S+)/.exec(working.out() + working.err())?.[1] ?? '';
}

test('`prometheus: true` gives a worker a port, for this machine only', slow, async () => {
  await using folder = await busFolder({}, `}\ntelemetry: {prometheus: true`);
  await using working = folder.start(['work', 'agent.ts', '--port', '0']);
  const url = await metricsOf(working);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  expect((await folder.run(['call', folder.name, 'echo', 'hello'])).code).toBe(0);
  const read = async (): Promise<string> => (await fetch(url)).text();
  await expect
    .poll(read, { timeout: 10_000 })
    .toMatch(/^legate_turns_total\{agent="[^"]+",outcome="completed"\} 1$/m);
  const text = await read();
  expect(text).toMatch(/^legate_messaging_process_messages_total\{.*status="done"\} [1-9]/m);
  expect(text).toMatch(
    new RegExp(`^legate_messaging_dlq_depth\\{.*="legate\\.task\\.${folder.name}"\\} 0$`, 'm'),
  );
  // A proxy on this machine speaks for others.
  expect((await fetch(url, { headers: { 'x-forwarded-for': '10.0.0.1' } })).status).toBe(403);
  expect((await fetch(new URL('/', url))).status).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  expect((await working.stop()).code).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test(
  'a worker serves metrics at the configured address to the configured clients',
  slow,
  async () => {
    const block = '}\ntelemetry: {prometheus: {path: /numbers, access: public}';
    await using folder = await busFolder({}, block);
    await using working = folder.start(['work', 'agent.ts', '--port', '0']);
    const url = await metricsOf(working);
    expect(url).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/numbers$/);
    const here = url.replace('0.0.0.0', '127.0.0.1');
    const response = await fetch(here, { headers: { 'x-forwarded-for': '10.0.0.1' } });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('# TYPE process_resident_memory_bytes gauge');
    // A second worker on this machine is told what to do about the port.
    const port = new URL(here).port;
    const second = await folder.run(['work', 'agent.ts', '--port', port]);
    expect(second).toMatchObject({ code: 2, out: '' });
    expect(second.err).toContain(`port ${port} on 0.0.0.0 is taken`);
    await working.stop();
  },
);

test(
  'a worker serves probes where --port says, and metrics only if they are on',
  slow,
  async () => {
    await using folder = await busFolder();
    {
      await using working = folder.start(['work', 'agent.ts', '--port', '0']);
      await working.says('Stop:');
      const url = /Probes: (http:\/\/[^/]+)\/health/.exec(working.out())?.[1] ?? '';
      expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' });
      expect(await (await fetch(`${url}/ready`)).json()).toEqual({ status: 'ok' });
      expect((await fetch(`${url}/metrics`)).status).toBe(404);
      await working.stop();
    }
    await folder.write({
      'endpoints.yml': `bus: {type: rabbitmq, url: "\${AMQP_URL}"}\ntelemetry: {prometheus: true}\n`,
    });
    const once = ['work', 'agent.ts', '--once', '--idle-timeout', '0.1'];
    expect((await folder.run(once)).err).not.toContain('Metrics:');
    expect((await folder.run([...once, '--port', '0'])).err).toContain('Metrics: http://');
  },
);

test(
  'an invalid telemetry section is reported with file and line before the start',
  slow,
  async () => {
    await using folder = await busFolder({
      'endpoints.yml': 'bus: {type: memory}\ntelemetry: {otpl: {}}\n',
    });
    const { code, err } = await folder.run(['gateway', folder.name, '--work', 'agent.ts']);
    expect(code).toBe(2);
    expect(err).toMatch(
      /endpoints\.yml:2:13 telemetry\.otpl: unknown key "otpl"; did you mean "otlp"\?/,
    );
  },
);

test('`telemetry:` and `store:` beside a module hold for legate run', slow, async () => {
  await using collector = await OtlpCollector.open();
  await using folder = await busFolder({
    'endpoints.yml': [
      // Of no concern to an agent that is not on the bus.
      'bus: {type: rabbitmq, url: "${NOT_SET_HERE}"}',
      'store: {type: sqlite, path: own/tasks.db, task_retention_seconds: 60}',
      'telemetry:',
      '  prometheus: true',
      `  otlp: {endpoint: "${collector.endpoint}"}`,
    ].join('\n'),
  });
  await using serving = folder.start(['run', 'agent.ts', '-p', '0']);
  await serving.says('Stop:');
  expect(serving.out()).toContain(`Data:        ${folder.path('own/tasks.db')}`);
  const url = /at (http:\/\/\S+)/.exec(serving.out())?.[1] ?? '';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  await (await connect(url, { headers })).sendMessage('hello');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^legate_turns_total\{agent="[^"]+",outcome="completed"\} 1$/m);
  expect((await serving.stop()).code).toBe(0);
  const turns = collector.spans.filter(({ name }) => name === 'legate.turn');
  expect(turns.map((span) => span.traceId)).toEqual([traceId]);
});

test('an invalid endpoints.yml beside a module is reported with file and line', slow, async () => {
  await using folder = await busFolder({ 'endpoints.yml': 'store: {task_retention: 60}\n' });
  const { code, err } = await folder.run(['run', 'agent.ts', '-p', '0']);
  expect(code).toBe(2);
  expect(err).toMatch(/endpoints\.yml:1:9 store\.task_retention: unknown key "task_retention"/);
});

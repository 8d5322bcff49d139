import { expect, test } from 'vitest';
import { OtlpCollector } from '../../test/support/otlp-collector.ts';
import { connect } from '../client/index.ts';
import { busFolder, slow } from './testing.contract.ts';

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

test(
  'what is wrong in the block is said with its place, before anything starts',
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

import { expect, test } from 'vitest';
import { greenhouseFolder } from '../../../test/support/greenhouse.ts';
import { OtlpCollector } from '../../../test/support/otlp-collector.ts';
import { serveAssistant } from './serve-assistant.ts';

test('`telemetry:` of endpoints.yml sends traces and metrics, and shows metrics to Prometheus', async () => {
  await using collector = await OtlpCollector.open();
  await using folder = await greenhouseFolder({
    'endpoints.yml': [
      'store: {type: memory}',
      'telemetry:',
      '  service_name: greenhouse',
      '  prometheus: true',
      '  otlp: {endpoint: "${COLLECTOR}"}',
    ].join('\n'),
  });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  {
    await using serving = await serveAssistant({
      places: { directory: folder.directory },
      environment: { COLLECTOR: collector.endpoint },
      drainMs: 0,
    });
    const response = await fetch(`${serving.url}/webhooks/rest/webhook`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify({ sender: 'ada', message: 'hello' }),
    });
    expect(response.status).toBe(200);
    const metrics = await (await fetch(`${serving.url}/metrics`)).text();
    expect(metrics).toMatch(/^legate_turns_total\{agent="[^"]+",outcome="[^"]+"\} 1$/m);
  }
  // Closing sent what was left.
  expect(JSON.stringify(collector.received[0]?.body)).toContain('"stringValue":"greenhouse"');
  const turn = collector.spans.find(({ name }) => name === 'legate.turn');
  expect(turn?.traceId).toBe(traceId);
  expect(collector.metrics.has('legate.turns')).toBe(true);
});

test('without the block nothing is shown and nothing is sent', async () => {
  await using folder = await greenhouseFolder({ 'endpoints.yml': 'store: {type: memory}\n' });
  await using serving = await serveAssistant({
    places: { directory: folder.directory },
    environment: {},
    drainMs: 0,
  });
  expect((await fetch(`${serving.url}/metrics`)).status).toBe(404);
});

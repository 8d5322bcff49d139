import { expect, test } from 'vitest';
import { llmAgent } from '../../src/agents/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

test('with spans and metrics on, the spans of each turn arrive without a further turn or a shutdown', async () => {
  await using collector = await OtlpCollector.open();
  const { endpoint } = collector;
  await using server = await serve(
    llmAgent({ name: 'clerk', model: scriptedModel(() => 'done') }),
    {
      drainMs: 0,
      // The two exports interleave: metrics go out between the batches of spans.
      telemetry: { otlp: { endpoint, batchDelayMs: 20, metricsIntervalMs: 10 } },
    },
  );
  const client = await connect(server.url);
  const count = (start: string) =>
    collector.spans.filter(({ name }) => name.startsWith(start)).length;
  for (let turn = 1; turn <= 10; turn += 1) {
    await client.sendMessage('x');
    await expect.poll(() => count('legate.turn')).toBe(turn);
    await expect.poll(() => count('chat ')).toBe(turn);
  }
  expect(collector.metrics.has('legate.turns')).toBe(true);
  expect(collector.metrics.has('legate.telemetry.dropped')).toBe(false);
});

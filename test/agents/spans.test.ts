import { expect, test } from 'vitest';
import { agentTool, llmAgent } from '../../src/agents/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { Runner } from '../../src/tasks/index.ts';
import { startTelemetry } from '../../src/telemetry/index.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

test('an agent that another one runs has a span, and its model call belongs to it', async () => {
  await using collector = await OtlpCollector.open();
  await using telemetry = await startTelemetry({ otlp: { endpoint: collector.endpoint } });
  const researcher = llmAgent({ name: 'researcher', model: scriptedModel(['Found.']) });
  const call = { name: 'researcher', input: { request: 'Look' } };
  const editor = llmAgent({
    name: 'editor',
    model: scriptedModel([{ toolCalls: [call] }, 'Done.']),
    tools: [agentTool(researcher)],
  });
  await using runner = new Runner({ agent: editor });
  await runner.run({ message: 'Go' });
  await telemetry.flush();
  const named = (name: string) => collector.spans.filter((span) => span.name === name);
  const [invoked] = named('invoke_agent researcher');
  const [tool] = named('execute_tool researcher');
  expect(invoked?.parentSpanId).toBe(tool?.spanId);
  expect(named('chat scripted').map(({ parentSpanId }) => parentSpanId)).toContain(invoked?.spanId);
});

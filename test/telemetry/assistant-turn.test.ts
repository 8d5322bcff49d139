import { expect, test } from 'vitest';
import { OtlpCollector, type WireSpan } from '../support/otlp-collector.ts';
import { say, startTravelDesk } from './travel-desk.ts';

test('a turn of an assistant is one trace: reading, flow, steps, tool, action, sub agent, model', async () => {
  await using collector = await OtlpCollector.open();
  await using serving = await startTravelDesk(collector.endpoint);
  /** Names of a span and of those around it, innermost first. */
  const pathOf = (span: WireSpan | undefined): readonly string[] => {
    if (span === undefined) return [];
    const parent = collector.spans.find(({ spanId }) => spanId === span.parentSpanId);
    return [span.name, ...pathOf(parent)];
  };
  expect(await say(serving.url, 'plan my trip')).toEqual(['Noted.', 'The Ritz.']);
  const find = (name: string) =>
    collector.spans.find((span) => span.name === name && pathOf(span).includes('legate.flow'));
  await expect.poll(() => find('invoke_agent finder'), { timeout: 10_000 }).toBeDefined();
  const steps = ['legate.step', 'legate.flow', 'legate.turn'];
  expect(pathOf(find('tools/call add'))).toEqual(['tools/call add', ...steps]);
  expect(pathOf(find('legate.action'))).toEqual(['legate.action', ...steps]);
  expect(pathOf(find('invoke_agent finder'))).toEqual(['invoke_agent finder', ...steps]);
  expect(pathOf(collector.spans.find(({ name }) => name === 'chat reader'))).toEqual([
    'chat reader',
    'legate.understand',
    'legate.turn',
  ]);
  // The sub agent's own turn, in the other server, belongs to the call.
  const turns = collector.spans.filter(({ name }) => name === 'legate.turn').map(pathOf);
  expect(turns).toContainEqual(['legate.turn', 'invoke_agent finder', ...steps]);
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);

  const metrics = await (await fetch(`${serving.url}/metrics`)).text();
  for (const line of [
    'legate_turns_total{agent="travel-desk",outcome="command"} 1',
    'legate_action_calls_total{action="action_note",outcome="ok"} 1',
    'legate_mcp_calls_total{tool="add",server="sums",outcome="ok"} 1',
    'legate_sub_agent_calls_total{sub_agent="finder",outcome="ok"} 1',
    'legate_flow_events_total{flow="plan",event="started"} 1',
    'legate_flow_events_total{flow="plan",event="completed"} 1',
    'legate_flow_steps_total{flow="plan",kind="call"} 2',
  ]) {
    expect(metrics).toContain(line);
  }
});

import { expect, test } from 'vitest';
import { agent, inputRequired, textOf, working } from '../agents/index.ts';
import { message } from '../protocol/index.ts';
import { openStore } from '../store/index.ts';
import { startTelemetry } from '../telemetry/index.ts';
import { anonymous, Engine } from './index.ts';

test('turns are counted by how they end, with the events they made', async () => {
  await using telemetry = await startTelemetry();
  const store = await openStore({ type: 'memory' });
  const asking = agent({ name: 'a' }, async function* (turn) {
    yield working();
    if (textOf(turn.message) === 'ask') yield inputRequired('?');
  });
  const engine = await Engine.start({ agent: asking, store });
  const call = { caller: anonymous, version: '1.0' } as const;
  await engine.send({ message: message('x') }, call);
  await engine.send({ message: message('ask') }, call);
  await engine.stop();
  const text = await telemetry.prometheus();
  expect(text).toContain('legate_turns_total{agent="a",outcome="completed"} 1');
  expect(text).toContain('legate_turns_total{agent="a",outcome="input-required"} 1');
  expect(text).toContain('legate_turns_running{agent="a"} 0');
  expect(text).toContain('legate_events_total{agent="a"} 4');
  expect(text).toContain('legate_turn_duration_seconds_count 2');
});

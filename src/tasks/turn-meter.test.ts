import { expect, test } from 'vitest';
import { agent, inputRequired, textOf, working } from '../agents/index.ts';
import { message } from '../protocol/index.ts';
import { openStore } from '../store/index.ts';
import { createLogger, startTelemetry } from '../telemetry/index.ts';
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
  expect(text).toContain('legate_turn_duration_seconds_count{agent="');
});

test('the log has caller, operation, state and duration, and no message content', async () => {
  const lines: string[] = [];
  const logger = createLogger({ write: (line) => lines.push(line) });
  const store = await openStore({ type: 'memory' });
  const asking = agent({ name: 'a' }, async function* () {
    yield inputRequired('?');
  });
  const engine = await Engine.start({ agent: asking, store, logger });
  const ada = { tenant: 'acme', subject: 'ada', method: 'bearer' };
  await engine.send({ message: message('my secret') }, { caller: ada, version: '1.0' });
  await engine.stop();
  const ended = lines.filter((line) => line.includes('turn.ended'));
  expect(ended.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      level: 'info',
      agent: 'a',
      caller: 'ada',
      tenant: 'acme',
      what: 'message',
      state: 'input-required',
      durationMs: expect.any(Number) as number,
    },
  ]);
  expect(lines.join('')).not.toContain('my secret');
});

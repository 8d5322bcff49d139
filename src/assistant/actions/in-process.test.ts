import { expect, test } from 'vitest';
import { silentLogger } from '../../telemetry/index.ts';
import { domain, TestClock } from '../testing/domain.ts';
import { InProcessActions } from './in-process.ts';
import { type Action, type ActionCall, defineAction, firstOf, type StreamPiece } from './runner.ts';

function callOf(name: string, fields: Partial<ActionCall> = {}): ActionCall {
  let ids = 0;
  return {
    name,
    senderId: 'ada',
    slots: { amount: 5 },
    tracker: () => Promise.resolve({}),
    domain: domain([]),
    context: {},
    channel: 'rest',
    stream: () => Promise.resolve(),
    newId: () => `stream-${(ids += 1)}`,
    signal: new AbortController().signal,
    clock: new TestClock(),
    logger: silentLogger,
    ...fields,
  };
}

function run(action: Action['run'], fields: Partial<ActionCall> = {}) {
  const runner = new InProcessActions([defineAction({ name: 'action_x', run: action })]);
  return runner.run(callOf('action_x', fields));
}

test('what an action says and sets comes back in order, its returned events last', async () => {
  const result = await run(async ({ slots, utter, utterResponse, setSlot }) => {
    utter(`amount ${JSON.stringify(slots['amount'])}`);
    utterResponse('utter_rate', { rate: 2 });
    setSlot('rate', 2);
    return [{ event: 'pause' }];
  });
  expect(result).toEqual({
    messages: [{ text: 'amount 5' }, { response: 'utter_rate', values: { rate: 2 } }],
    events: [{ event: 'slot', name: 'rate', value: 2 }, { event: 'pause' }],
  });
});

test('a stream is shown piece by piece and is one message in the end', async () => {
  const pieces: StreamPiece[] = [];
  const stream = (piece: StreamPiece) => Promise.resolve(void pieces.push(piece));
  const result = await run(
    async (context) => {
      await context.stream.start();
      await context.stream.chunk('Hel');
      await context.stream.chunk('lo');
      await context.stream.end();
    },
    { stream },
  );
  expect(pieces).toEqual([
    { kind: 'start', streamId: 'stream-1' },
    { kind: 'chunk', streamId: 'stream-1', text: 'Hel' },
    { kind: 'chunk', streamId: 'stream-1', text: 'lo' },
    { kind: 'end', streamId: 'stream-1' },
  ]);
  expect(result.messages).toEqual([
    { text: 'Hello', metadata: { streamed: true, stream_id: 'stream-1' } },
  ]);
});

test('a stream that was not ended is ended, also when the action fails', async () => {
  const kinds: string[] = [];
  const stream = (piece: StreamPiece) => Promise.resolve(void kinds.push(piece.kind));
  const result = await run((context) => context.stream.chunk('half'), { stream });
  expect(kinds).toEqual(['start', 'chunk', 'end']);
  expect(result.messages).toHaveLength(1);
  kinds.length = 0;
  const failing = run(
    async (context) => {
      await context.stream.chunk('half');
      throw new Error('broke');
    },
    { stream },
  );
  await expect(failing).rejects.toThrow('broke');
  expect(kinds).toEqual(['start', 'chunk', 'end']);
});

test('a second stream cannot be started before the first ended', async () => {
  const starting = run(async ({ stream }) => {
    await stream.start();
    await stream.start();
  });
  await expect(starting).rejects.toThrow('end it before starting another');
});

test('a stream is bounded', async () => {
  const endless = run(async ({ stream }) => {
    for (;;) await stream.chunk('x'.repeat(100_000));
  });
  await expect(endless).rejects.toThrow('end it and start another');
});

test('an action that does not listen to the abort does not hold the turn', async () => {
  const abort = new AbortController();
  const stuck = run(() => new Promise(() => {}), { signal: abort.signal });
  abort.abort(new Error('cancelled'));
  await expect(stuck).rejects.toThrow('cancelled');
});

test('an action that takes too long fails', async () => {
  const runner = new InProcessActions([{ name: 'slow', run: () => new Promise(() => {}) }], {
    timeoutMs: 1,
  });
  await expect(runner.run(callOf('slow'))).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('of several runners the first that has an action runs it', async () => {
  const one = new InProcessActions([{ name: 'a', run: async () => [{ event: 'one' }] }]);
  const two = new InProcessActions([
    { name: 'a', run: async () => [{ event: 'two' }] },
    { name: 'b', run: async () => [{ event: 'two' }] },
  ]);
  const both = firstOf(one, two);
  expect((await both.run(callOf('a'))).events).toEqual([{ event: 'one' }]);
  expect((await both.run(callOf('b'))).events).toEqual([{ event: 'two' }]);
  expect(both.has('c')).toBe(false);
  await expect(both.run(callOf('c'))).rejects.toThrow('no runner for action c');
});

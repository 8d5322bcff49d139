import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createModel, scriptedModel, startScriptedModelServer } from '../../models/index.ts';
import { artifact } from '../../protocol/index.ts';
import { openMemory, ownerKey } from '../../store/index.ts';
import {
  type Agent,
  agent,
  completed,
  inputRequired,
  llmAgent,
  Memory,
  reply,
  sequential,
  textOf,
  tool,
  type TurnEvent,
  working,
} from '../../agents/index.ts';
import { intercepted } from '../../../test/support/intercepted-store.ts';
import { createLogger } from '../../telemetry/index.ts';
import { Runner, type RunnerOptions } from './runner.ts';

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(`You said ${textOf(turn.message)}`);
});

function runnerOf(made: Agent, options: Partial<RunnerOptions> = {}): Runner {
  return new Runner({ agent: made, store: openMemory(), ...options });
}

test('a run gives what the agent made, and its session', async () => {
  const runner = runnerOf(echo);
  const result = await runner.run({ message: 'hi', userId: 'alice' });
  expect(result).toMatchObject({ state: 'completed', text: 'You said hi', parts: [] });
  const key = { caller: { tenant: '', subject: 'alice' }, sessionId: result.sessionId };
  const messages = await runner.sessions.messages(key);
  expect(messages.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
    ['ROLE_USER', 'hi'],
    ['ROLE_AGENT', 'You said hi'],
  ]);
});

test('events come as the agent makes them, and the result after them', async () => {
  const runner = runnerOf(
    agent({ name: 'steps' }, async function* () {
      yield working('one');
      yield working('two');
      yield completed('done');
    }),
  );
  const invocation = runner.start({ message: 'go' });
  const events: TurnEvent[] = [];
  for await (const event of invocation) events.push(event);
  expect(events.map((event) => ('kind' in event ? event.kind : 'artifact'))).toEqual([
    'working',
    'working',
    'completed',
  ]);
  expect(await invocation.result()).toMatchObject({
    state: 'completed',
    parts: [{ text: 'done' }],
  });
});

test('the end is stored before the caller gets it', async () => {
  const runner = runnerOf(
    agent({ name: 'saver' }, async function* (turn) {
      turn.session?.set('done', true);
      yield completed('done', { context: { value: { saved: 1 } } });
    }),
  );
  const invocation = runner.start({ message: 'go', userId: 'u', sessionId: 's' });
  for await (const event of invocation) {
    expect(event).toHaveProperty('kind', 'completed');
    const key = { caller: { tenant: '', subject: 'u' }, sessionId: 's' };
    expect(await runner.sessions.session(key).get('done')).toBe(true);
  }
});

test('a plain message is an answer like any other', async () => {
  const runner = runnerOf(
    agent({ name: 'quick' }, async function* () {
      yield reply('pong');
    }),
  );
  expect(await runner.run({ message: 'ping' })).toMatchObject({
    state: 'completed',
    parts: [{ text: 'pong' }],
  });
});

test('a conversation continues in its session, and in no other', async () => {
  const model = scriptedModel(() => 'ok');
  const runner = runnerOf(llmAgent({ name: 'chat', model }));
  const { sessionId } = await runner.run({ message: 'one', userId: 'alice' });
  await runner.run({ message: 'two', userId: 'alice', sessionId });
  await runner.run({ message: 'three', userId: 'bob', sessionId });
  expect(model.requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
    ['one'],
    ['one', 'ok', 'two'],
    ['three'],
  ]);
});

test('runs of one session wait for each other, runs of different sessions do not', async () => {
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const runner = runnerOf(
    agent({ name: 'gated' }, async function* (turn) {
      const text = textOf(turn.message);
      order.push(`begin ${text}`);
      if (text === 'a1') await gate.promise;
      order.push(`end ${text}`);
      yield completed();
    }),
  );
  const first = runner.run({ message: 'a1', sessionId: 'a' });
  const second = runner.run({ message: 'a2', sessionId: 'a' });
  await runner.run({ message: 'b1', sessionId: 'b' });
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(['begin a1', 'begin b1', 'end b1', 'end a1', 'begin a2', 'end a2']);
});

test('a run that asks is resumed with the answer, in a new process too', async () => {
  let transfers = 0;
  const transfer = tool({
    name: 'transfer',
    description: 'Transfers.',
    needsConfirmation: true,
    run: () => {
      transfers += 1;
      return 'ok';
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'transfer', input: {} }] }, 'Transferred']);
  const made = llmAgent({ name: 'clerk', model, tools: [transfer] });
  const store = openMemory();
  const asked = await new Runner({ agent: made, store }).run({ message: 'Send', userId: 'alice' });
  expect(asked.state).toBe('input-required');
  const after = new Runner({ agent: made, store });
  const resumed = await after.resume(asked.invocationId, { data: { confirmed: true } });
  expect(resumed.id).toBe(asked.invocationId);
  expect(await resumed.result()).toMatchObject({ state: 'completed', text: 'Transferred' });
  expect(transfers).toBe(1);
  await expect((await after.resume(asked.invocationId, 'yes')).result()).rejects.toThrow(
    /cannot be resumed: it waits for no answer/,
  );
  await expect(after.resume('unknown', 'yes')).rejects.toThrow(/no invocation unknown/);
});

test('a run whose process died is resumed where it stopped, and finished steps are skipped', async () => {
  const runs: string[] = [];
  const alive = Promise.withResolvers<void>();
  let isDead = true;
  const first = agent({ name: 'first' }, async function* () {
    runs.push('first');
    yield artifact('made');
  });
  const second = agent({ name: 'second' }, async function* (turn) {
    runs.push(`second, attempt ${turn.attempt}`);
    if (isDead) {
      alive.resolve();
      await new Promise(() => {});
    }
    yield artifact(`used ${textOf(turn.message)}`);
  });
  const line = sequential({ name: 'line', steps: [first, second] });
  const store = openMemory();
  const dying = new Runner({ agent: line, store, replica: 'dying' }).start({ message: 'go' });
  void dying.result();
  await alive.promise;
  isDead = false;
  await store.retire('dying');
  const resumed = await new Runner({ agent: line, store }).resume(dying.id);
  expect(await resumed.result()).toMatchObject({ state: 'completed', text: 'used made' });
  expect(runs).toEqual(['first', 'second, attempt 1', 'second, attempt 2']);
});

test('a run whose process died continues when its store is used again, and is followed to its end', async () => {
  const alive = Promise.withResolvers<void>();
  let isDead = true;
  const worker = agent({ name: 'worker' }, async function* (turn) {
    if (isDead) {
      alive.resolve();
      await new Promise(() => {});
    }
    yield artifact(`attempt ${turn.attempt}`);
  });
  const store = openMemory();
  const dying = new Runner({ agent: worker, store, replica: 'dying' }).start({ message: 'go' });
  void dying.result();
  await alive.promise;
  isDead = false;
  await store.retire('dying');
  const runner = new Runner({ agent: worker, store });
  await runner.run({ message: 'something else' });
  await expect.poll(async () => (await runner.find(dying.id))?.state).toBe('completed');
  const followed = await runner.resume(dying.id);
  expect(await followed.result()).toMatchObject({ state: 'completed', text: 'attempt 2' });
});

test('a run that is not resumable has failed when its process is stopped', async () => {
  const started = Promise.withResolvers<void>();
  const worker = agent({ name: 'worker' }, async function* () {
    yield working();
    started.resolve();
    await new Promise(() => {});
  });
  const runner = runnerOf(worker, { isResumable: false, cancelGraceMs: 0 });
  const running = runner.run({ message: 'go' });
  await started.promise;
  await runner.stop();
  expect(await running).toMatchObject({
    state: 'failed',
    metadata: { error_type: 'interrupted' },
  });
});

test('a run is cancelled by its id, and its open question is dropped', async () => {
  const started = Promise.withResolvers<void>();
  const runner = runnerOf(
    agent({ name: 'endless' }, async function* (turn) {
      yield working();
      started.resolve();
      await new Promise((_, reject) =>
        turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error)),
      );
    }),
  );
  const invocation = runner.start({ message: 'go' });
  const result = invocation.result();
  await started.promise;
  expect(runner.isActive(invocation.id)).toBe(true);
  expect(await runner.cancel(invocation.id)).toBe(true);
  expect(await result).toMatchObject({ state: 'canceled' });
  expect(runner.isActive(invocation.id)).toBe(false);
  expect(await runner.cancel(invocation.id)).toBe(false);
  expect(await runner.cancel('unknown')).toBe(false);
});

test('an agent that ignores the signal is abandoned', async () => {
  const runner = runnerOf(
    agent({ name: 'deaf' }, async function* () {
      yield working();
      await new Promise(() => {});
    }),
    { cancelGraceMs: 0 },
  );
  const invocation = runner.start({ message: 'go' });
  for await (const event of invocation) {
    expect(event).toHaveProperty('kind');
    invocation.cancel();
  }
  expect(await invocation.result()).toMatchObject({ state: 'canceled' });
});

test('a run that waits for an answer is cancelled too, and its agent is notified', async () => {
  const told: unknown[] = [];
  const asker: Agent = {
    ...agent({ name: 'asker' }, async function* () {
      yield inputRequired('?', { context: { value: { open: true } } });
    }),
    abandon: async (turn) => {
      told.push(await turn.state.load());
      return { context: { value: {} } };
    },
  };
  const runner = runnerOf(asker);
  const { invocationId } = await runner.run({ message: 'go' });
  expect(await runner.cancel(invocationId)).toBe(true);
  expect(told).toEqual([{ open: true }]);
  await expect((await runner.resume(invocationId, 'late')).result()).rejects.toThrow(/canceled/);
});

/** Asks, and completes with the answer unless it is stopped. */
const asking = agent({ name: 'asking' }, async function* (turn) {
  if (!turn.isContinuation) {
    yield inputRequired('?');
    return;
  }
  await new Promise((resolve) => setImmediate(resolve));
  turn.signal.throwIfAborted();
  yield completed('done');
});

test('a cancel that meets the run that its answer starts stops it', async () => {
  const runner = runnerOf(asking);
  const { invocationId } = await runner.run({ message: 'go' });
  const resumed = await runner.resume(invocationId, 'answer');
  const cancelling = runner.cancel(invocationId);
  const result = await resumed.result();
  expect(await cancelling).toBe(true);
  expect(result.state).toBe('canceled');
  expect(await runner.find(invocationId)).toMatchObject({ state: 'canceled', isWaiting: false });
});

test('a run that completed while its cancel looked for it stays completed', async () => {
  const store = openMemory();
  const [looking, completing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isHeld = false;
  const slow = intercepted(store, {
    load: async (go) => {
      const found = await go();
      if (isHeld) {
        isHeld = false;
        looking.resolve();
        await completing.promise;
      }
      return found;
    },
  });
  const here = new Runner({ agent: asking, store: slow });
  const elsewhere = new Runner({ agent: asking, store });
  const { invocationId } = await here.run({ message: 'go' });
  isHeld = true;
  const cancelling = here.cancel(invocationId);
  await looking.promise;
  const resumed = await elsewhere.resume(invocationId, 'answer');
  expect(await resumed.result()).toMatchObject({ state: 'completed' });
  completing.resolve();
  expect(await cancelling).toBe(false);
  expect(await here.find(invocationId)).toMatchObject({ state: 'completed' });
});

test('of two cancels of a run that waits one tells its agent', async () => {
  let told = 0;
  const asker: Agent = {
    ...asking,
    abandon: async () => {
      told += 1;
      return undefined;
    },
  };
  const runner = runnerOf(asker);
  const { invocationId } = await runner.run({ message: 'go' });
  const both = [runner.cancel(invocationId), runner.cancel(invocationId)];
  expect(await Promise.all(both)).toEqual([true, false]);
  expect(told).toBe(1);
});

test('leaving the iterator before its end cancels the run', async () => {
  let cleaned = false;
  const runner = runnerOf(
    agent({ name: 'long' }, async function* (turn) {
      try {
        for (let index = 0; ; index += 1) yield working(String(index));
      } finally {
        cleaned = turn.signal.aborted;
      }
    }),
  );
  const invocation = runner.start({ message: 'go' });
  for await (const event of invocation) if ('kind' in event) break;
  expect(await invocation.result()).toMatchObject({ state: 'canceled' });
  await expect.poll(() => cleaned).toBe(true);
  expect(runner.isActive(invocation.id)).toBe(false);
});

test('an agent that throws fails the run, and the result has the error', async () => {
  const boom = new Error('boom');
  const runner = runnerOf(
    agent({ name: 'broken' }, async function* () {
      yield working();
      throw boom;
    }),
  );
  const result = await runner.run({ message: 'go' });
  expect(result).toMatchObject({ state: 'failed' });
  expect(result.error).toMatchObject({ code: 'INTERNAL', message: 'boom', cause: boom });
});

test('sessions are made, listed, changed and deleted', async () => {
  const counter = agent({ name: 'counter' }, async function* (turn) {
    const count = ((await turn.session?.get('count')) as number | undefined) ?? 0;
    turn.session?.set('count', count + 1);
    turn.session?.set('user:last', textOf(turn.message));
    yield completed(String(count + 1), { context: { log: [{ count }] } });
  });
  const runner = runnerOf(counter);
  const caller = { tenant: '', subject: 'alice' };
  const key = { caller, sessionId: 's1' };
  await runner.sessions.create(key, { count: 41 });
  await expect(runner.sessions.create(key)).rejects.toThrow(/already/);
  const run = (sessionId: string) => runner.run({ message: sessionId, userId: 'alice', sessionId });
  expect((await run('s1')).text).toBe('42');
  await runner.sessions.update(key, { count: 99, 'user:last': null });
  expect((await run('s1')).text).toBe('100');
  await run('s2');
  expect((await runner.sessions.list(caller)).map(({ sessionId }) => sessionId)).toEqual([
    's1',
    's2',
  ]);
  expect(await runner.sessions.list(caller, { after: 's1', limit: 1 })).toMatchObject([
    { sessionId: 's2' },
  ]);
  expect(await runner.sessions.get(key)).toMatchObject({ sessionId: 's1' });
  expect(await runner.sessions.delete(key)).toBe(true);
  expect(await runner.sessions.delete(key)).toBe(false);
  expect(await runner.sessions.messages(key)).toEqual([]);
  expect((await run('s1')).text).toBe('1');
  expect(await runner.sessions.session({ caller, sessionId: 'other' }).get('user:last')).toBe('s1');
});

test('messages of a session are added to the memory of their user once', async () => {
  const store = openMemory();
  const runner = runnerOf(echo, { store });
  const memory = new Memory(store);
  const { sessionId } = await runner.run({ message: 'I like blue', userId: 'alice' });
  const key = { caller: { tenant: '', subject: 'alice' }, sessionId };
  expect(await runner.remember(memory, key)).toBe(2);
  await runner.run({ message: 'and green', userId: 'alice', sessionId });
  expect(await runner.remember(memory, key)).toBe(2);
  expect(await runner.remember(memory, key)).toBe(0);
  const found = await memory.search({ agent: 'echo', caller: key.caller }, 'blue');
  expect(found).toMatchObject([
    { text: 'I like blue', author: 'user', sessionId },
    { text: 'You said I like blue', author: 'echo' },
  ]);
});

test('long logs are read from their end', async () => {
  const seen: number[] = [];
  const logger = agent({ name: 'logger' }, async function* (turn) {
    const all = await turn.state.log();
    const last = await turn.state.log({ last: 2 });
    seen.push(all.length);
    const log = Array.from({ length: 150 }, (_, index) => ({ index: all.length + index }));
    yield completed(JSON.stringify(last.map(({ index }) => index)), { context: { log } });
  });
  const runner = runnerOf(logger);
  for (let turn = 0; turn < 3; turn += 1) await runner.run({ message: 'x', sessionId: 's' });
  const result = await runner.run({ message: 'x', sessionId: 's' });
  expect(seen).toEqual([0, 150, 300, 450]);
  expect(result.text).toBe('[448,449]');
});

test('runs of one session wait for each other in other runners, too', async () => {
  const store = openMemory();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const slow = agent({ name: 'a' }, async function* (turn) {
    const text = textOf(turn.message);
    order.push(`begin ${text}`);
    begun.resolve();
    if (text === 'slow') await gate.promise;
    order.push(`end ${text}`);
    yield completed('done');
  });
  const first = new Runner({ agent: slow, store }).run({ message: 'slow', sessionId: 's' });
  await begun.promise;
  const second = new Runner({ agent: slow, store }).run({ message: 'quick', sessionId: 's' });
  const owner = ownerKey({ agent: 'a', tenant: '', subject: '' });
  const query = { owner, contextId: 's', limit: 10 };
  await expect.poll(async () => (await store.list(query)).records.length).toBe(2);
  gate.resolve();
  expect((await Promise.all([first, second])).map(({ state }) => state)).toEqual([
    'completed',
    'completed',
  ]);
  expect(order).toEqual(['begin slow', 'end slow', 'begin quick', 'end quick']);
});

test('a model that refuses the key is a typed error with provider, model and hint', async () => {
  const refused = { error: { status: 401, message: 'Incorrect API key provided' } };
  await using server = await startScriptedModelServer([refused]);
  const entry = { provider: 'openai', model: 'gpt-4o', api_key: 'wrong', api_base: server.url };
  const model = createModel({ id: 'main', models: [entry] });
  const lines: string[] = [];
  const logger = createLogger({ format: 'pretty', write: (line) => lines.push(line) });
  const clerk = llmAgent({ name: 'clerk', model });
  await using runner = new Runner({ agent: clerk, logger });
  const { state, error } = await runner.run({ message: 'Hi' });
  expect(state).toBe('failed');
  expect(error).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/^model gpt-4o of openai answered 401: .*; check api_key of/),
    cause: expect.objectContaining({ statusCode: 401 }),
  });
  expect(lines.join('')).toContain('model gpt-4o of openai answered 401');
});

test('the output of an agent with a schema has its type', async () => {
  const city = llmAgent({
    name: 'city',
    model: scriptedModel(['{"name":"Bern","people":130000}']),
    output: z.object({ name: z.string(), people: z.number() }),
  });
  await using runner = new Runner({ agent: city });
  const { output } = await runner.run({ message: 'Which city?' });
  expectTypeOf(output).toEqualTypeOf<{ name: string; people: number }>();
  expect(output.people + 1).toBe(130_001);
});

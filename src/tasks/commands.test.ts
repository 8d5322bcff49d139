import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  agent,
  type AgentCommand,
  type CommandTurn,
  completed,
  handleCommand,
  inputRequired,
  textOf,
} from '../agents/index.ts';
import { LegateError, message } from '../protocol/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { type Call, type ContextKey, Engine, type EngineOptions } from './index.ts';

const caller = { tenant: '', subject: 'alice', method: 'test' };
const call: Call = { caller, version: '1.0' };
const key: ContextKey = { caller, contextId: 'c' };

/** Adds to the count of the conversation, once its gate is open. */
const add: AgentCommand<{ by: number; waits?: boolean | undefined }, number, string> = {
  name: 'add',
  input: z.object({ by: z.number(), waits: z.boolean().optional() }),
  result: z.number(),
  progress: z.string(),
};
const fail: AgentCommand<{ code: 'UNSUPPORTED_OPERATION' | 'none' }, null> = {
  name: 'fail',
  input: z.object({ code: z.enum(['UNSUPPORTED_OPERATION', 'none']) }),
  result: z.null(),
};
const answer: AgentCommand<object, string> = {
  name: 'answer',
  input: z.object({}),
  result: z.string(),
  supersedes: true,
};

const engines: Engine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

/** An agent whose messages and commands count, and can be held up. */
function counting() {
  const gate = Promise.withResolvers<void>();
  const turns: CommandTurn[] = [];
  const counter: Agent = {
    ...agent({ name: 'counter' }, async function* (turn) {
      const text = textOf(turn.message);
      if (text === 'wait') await gate.promise;
      if (text === 'ask') yield inputRequired('?');
      const count = Number((await turn.state.load())?.['count'] ?? 0);
      yield completed(`${count}`, { context: { value: { count: count + 100 } } });
    }),
    commands: [
      handleCommand(add, async (turn, { by, waits = false }) => {
        turns.push(turn);
        turn.report('adding');
        if (waits) await gate.promise;
        const count = Number((await turn.state.load())?.['count'] ?? 0) + by;
        return { result: count, context: { value: { count }, log: [{ added: by }] } };
      }),
      handleCommand(fail, async (_turn, { code }) => {
        throw code === 'none' ? new Error('secret') : new LegateError(code, 'not like this');
      }),
      handleCommand(answer, async (turn) => ({ result: turn.id })),
    ],
  };
  return { counter, gate, turns };
}

async function start(
  agent: Agent,
  store: Store = openMemory(),
  options: Partial<EngineOptions> = {},
): Promise<Engine> {
  const base = { agent, store, logger: silentLogger, leaseMs: 60, pollIntervalMs: 10 };
  const engine = await Engine.start({ ...base, ...options });
  engines.push(engine);
  return engine;
}

async function tell(engine: Engine, text: string) {
  const outcome = await engine.send({ message: message(text, { contextId: 'c' }) }, call);
  if (!('task' in outcome)) throw new Error('a task was expected');
  return outcome.task.value;
}

describe('a command', () => {
  test('reads and saves the conversation, and leaves no task', async () => {
    const store = openMemory();
    const { counter, turns } = counting();
    const engine = await start(counter, store);
    expect(await engine.command(key, add, { by: 2 })).toBe(2);
    expect(await engine.command(key, add, { by: 3 })).toBe(5);
    expect(await engine.command({ ...key, contextId: 'other' }, add, { by: 1 })).toBe(1);
    expect(await turns[1]?.state.log()).toEqual([{ added: 2 }, { added: 3 }]);
    expect((await engine.listTasks({}, call)).tasks).toEqual([]);
    expect(turns[0]).toMatchObject({ contextId: 'c', caller });
  });

  test('waits behind the messages of its conversation, and they behind it', async () => {
    const { counter, gate } = counting();
    const engine = await start(counter);
    const said = [tell(engine, 'wait'), engine.command(key, add, { by: 5 }), tell(engine, 'hi')];
    expect(await engine.command({ ...key, contextId: 'other' }, add, { by: 1 })).toBe(1);
    gate.resolve();
    const [, count, last] = await Promise.all(said);
    expect(count).toBe(105);
    expect(last).toMatchObject({ status: { message: { parts: [{ text: '105' }] } } });
  });

  test('tells on the way, also after it has waited its place', async () => {
    const { counter, gate } = counting();
    const engine = await start(counter);
    const before = tell(engine, 'wait');
    const told: string[] = [];
    const added = engine.command(key, add, { by: 1 }, { onProgress: (word) => told.push(word) });
    gate.resolve();
    await Promise.all([before, added]);
    expect(told).toEqual(['adding']);
  });

  test('continues when its caller leaves', async () => {
    const { counter, gate, turns } = counting();
    const engine = await start(counter);
    const leaving = new AbortController();
    const left = engine.command(key, add, { by: 1, waits: true }, { signal: leaving.signal });
    await expect.poll(() => turns.length).toBe(1);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    gate.resolve();
    expect(await engine.command(key, add, { by: 1 })).toBe(2);
  });

  test('that the agent does not have is refused, as is input that does not fit', async () => {
    const { counter } = counting();
    const engine = await start(counter);
    const unknown = { ...add, name: 'subtract' };
    await expect(engine.command(key, unknown, { by: 1 })).rejects.toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
      message: expect.stringContaining('no command subtract'),
    });
    const loose: AgentCommand<object, number, string> = { ...add, input: z.object({}) };
    await expect(engine.command(key, loose, {})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('that fails changes nothing and does not stop others; callers see only errors meant for them', async () => {
    const { counter } = counting();
    const engine = await start(counter);
    await expect(
      engine.command(key, fail, { code: 'UNSUPPORTED_OPERATION' }),
    ).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION', message: 'not like this' });
    await expect(engine.command(key, fail, { code: 'none' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.not.stringContaining('secret'),
    });
    expect(await engine.command(key, add, { by: 1 })).toBe(1);
  });

  test('that takes too long is stopped', async () => {
    const { counter, turns } = counting();
    const engine = await start(counter, openMemory(), { taskTimeoutMs: 20, cancelGraceMs: 0 });
    const slow = engine.command(key, add, { by: 1, waits: true });
    await expect(slow).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /longer than/ });
    expect(turns[0]?.signal.aborted).toBe(true);
  });

  test('answers open questions of its conversation where it says so', async () => {
    const { counter } = counting();
    const engine = await start(counter);
    const asked = await tell(engine, 'ask');
    await engine.command(key, add, { by: 1 });
    expect((await engine.getTask({ id: asked.id }, call)).value.status.state).toBe(
      'TASK_STATE_INPUT_REQUIRED',
    );
    const id = await engine.command(key, answer, {});
    expect((await engine.getTask({ id: asked.id }, call)).value).toMatchObject({
      status: {
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { parts: [{ data: { superseded_by: id } }] },
      },
    });
  });

  test('is cancelled with its conversation, whether it runs or waits; messages are not', async () => {
    const { counter, gate, turns } = counting();
    const engine = await start(counter);
    const running = engine.command(key, add, { by: 1, waits: true });
    await expect.poll(() => turns.length).toBe(1);
    const waiting = engine.command(key, add, { by: 2 });
    const said = tell(engine, 'hi');
    await expect.poll(() => engine.runningTurns).toBe(1);
    const cancelled = Promise.allSettled([running, waiting]);
    expect(await engine.cancelCommands(key)).toHaveLength(2);
    for (const { status } of await cancelled) expect(status).toBe('rejected');
    expect(turns[0]?.signal.aborted).toBe(true);
    expect((await said).status.message?.parts).toEqual([{ text: '0' }]);
    gate.resolve();
    expect(await engine.cancelCommands(key)).toEqual([]);
  });

  test('runs when its process stops only as long as it is let', async () => {
    const { counter, turns } = counting();
    const engine = await start(counter, openMemory(), { cancelGraceMs: 0 });
    const cut = engine.command(key, add, { by: 1, waits: true });
    await expect.poll(() => turns.length).toBe(1);
    const refused = expect(cut).rejects.toMatchObject({ message: /server was stopped/ });
    await engine.drain();
    await refused;
    await expect(engine.command(key, add, { by: 1 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});

describe('with several replicas, a command', () => {
  async function replicas(clock: { now(): number } = { now: () => Date.now() }) {
    const [one, two] = openMemoryReplicas(2, { clock });
    if (one === undefined || two === undefined) throw new Error('two stores were expected');
    const here = counting();
    const there = counting();
    const options = { leaseMs: 60_000 };
    return {
      here: { ...here, engine: await start(here.counter, one, options) },
      there: { ...there, engine: await start(there.counter, two, options) },
      stores: [one, two] as const,
    };
  }

  test('that waits behind a message of another one runs there, and its result comes back', async () => {
    const { here, there } = await replicas();
    const said = tell(there.engine, 'wait');
    await expect.poll(() => there.engine.runningTurns).toBe(1);
    const added = here.engine.command(key, add, { by: 7 });
    await expect
      .poll(() => here.engine.command({ ...key, contextId: 'd' }, add, { by: 1 }))
      .toBe(1);
    there.gate.resolve();
    await said;
    expect(await added).toBe(107);
    expect(there.turns).toHaveLength(1);
  });

  test('is cancelled wherever it runs', async () => {
    const { here, there } = await replicas();
    const running = here.engine.command(key, add, { by: 1, waits: true });
    await expect.poll(() => here.turns.length).toBe(1);
    const refused = expect(running).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await there.engine.cancelCommands(key)).toHaveLength(1);
    await refused;
    expect(await there.engine.command(key, add, { by: 1 })).toBe(1);
  });

  test('of a process that died is dropped, and the conversation continues', async () => {
    const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
    const { here, there, stores } = await replicas(clock);
    const running = here.engine.command(key, add, { by: 1, waits: true });
    await expect.poll(() => here.turns.length).toBe(1);
    const refused = expect(running).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    // As if the process had died: others take its turns.
    await stores[0].retire(here.engine.replica);
    const next = await start(there.counter, stores[1], { leaseMs: 60_000 });
    expect(await next.command(key, add, { by: 5 })).toBe(5);
    expect(there.turns).toHaveLength(1);
    await refused;
  });
});

test('a command whose end was stored but not answered counts, and is not run twice', async () => {
  const inner = openMemory();
  const { counter, turns } = counting();
  let losses = 1;
  const commands: Store['commands'] = {
    ...inner.commands,
    async end(end) {
      const outcome = await inner.commands.end(end);
      if (losses-- > 0) throw new LegateError('STORE_FAILED', 'the answer was lost');
      return outcome;
    },
  };
  const store = new Proxy(inner, {
    get(target, name: keyof Store) {
      const member = name === 'commands' ? commands : target[name];
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const engine = await start(counter, store);
  expect(await engine.command(key, add, { by: 1 })).toBe(1);
  expect(await engine.command(key, add, { by: 1 })).toBe(2);
  expect(turns).toHaveLength(2);
});

import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { postgres } from '../../../test/support/postgres.ts';
import { rabbitMq } from '../../../test/support/rabbitmq.ts';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { agent, chunk, textOf } from '../../agents/index.ts';
import { connect } from '../../client/index.ts';
import { LegateError, artifact, message, type Task } from '../../protocol/index.ts';
import { openMemory, openStore } from '../../store/index.ts';
import { nameOf, TestCaller, eventually } from '../testing.contract.ts';
import {
  busLink,
  declareAgentQueue,
  gateway,
  hostOnBus,
  openBus,
  taskQueueName,
  topics,
} from '../index.ts';
import { joinPeers } from '../../peers/index.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(exchange = nameOf('exchange'), options = {}) {
  const { url } = await rabbitMq();
  const bus = await openBus({ type: 'rabbitmq', url, exchange, ...options });
  cleanups.push(() => bus.close());
  return { bus, url, exchange };
}

describe('a worker that is killed', { timeout: 90_000 }, () => {
  const worker = join(import.meta.dirname, 'worker.contract.ts');
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  /** `reported` lists what the worker logged. */
  async function work(
    ...args: string[]
  ): Promise<{ kill: () => Promise<void>; reported: readonly unknown[] }> {
    const child = fork(worker, args, { execArgv: [] });
    children.push(child);
    const reported: unknown[] = [];
    child.on('message', (event) => reported.push(event));
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error('the worker did not start')));
      child.on('message', (event) => {
        if (event === 'ready') resolve();
      });
    });
    return {
      reported,
      kill: () =>
        new Promise((resolve) => {
          child.once('exit', () => resolve());
          child.kill('SIGKILL');
        }),
    };
  }

  for (const [policy, state, turns] of [
    ['fail', 'TASK_STATE_FAILED', ['hang 1']],
    ['run-again', 'TASK_STATE_COMPLETED', ['hang 1', 'hang 2']],
  ] as const) {
    test(`in the middle of a turn leaves it to the next, by the agent's policy (${policy})`, async () => {
      const { bus, url, exchange } = await open();
      await using directory = await temporaryDirectory();
      const path = join(directory.path, 'store.db');
      const name = nameOf('worker');
      await declareAgentQueue(bus, name);
      const caller = await TestCaller.start(bus);
      const first = await work(url, exchange, name, path, policy);
      const before = await caller.send(name, 'quick');
      await eventually(() => caller.state(before), { timeout: 5_000 }).toBe('TASK_STATE_COMPLETED');
      const id = await caller.send(name, 'hang');
      await eventually(() => caller.updatesOf(id).length, { timeout: 5_000 }).toBe(2);
      await first.kill();
      expect(caller.of(id)).toEqual([]);
      await work(url, exchange, name, path, policy);
      // The broker gives the message out again; the engine knows it, and answers by what it stored.
      await eventually(() => caller.state(id), { timeout: 20_000 }).toBe(state);
      const begun = readFileSync(`${path}.turns`, 'utf8').trim().split('\n');
      expect(begun.filter((line) => line.startsWith('hang'))).toEqual(turns);
      // What was answered before is not done or told again.
      expect(begun.filter((line) => line.startsWith('quick'))).toEqual(['quick 1']);
      expect(caller.of(before)).toHaveLength(1);
      expect((await bus.inspect(taskQueueName(name)))?.deadLetters).toBe(0);
    });
  }

  test('long after its task was acknowledged leaves it to a process on the same database', async () => {
    const { bus, url, exchange } = await open();
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'log');
    const name = nameOf('worker');
    await declareAgentQueue(bus, name);
    const database = await (await postgres()).database();
    const caller = await TestCaller.start(bus);
    const first = await work(url, exchange, name, path, 'run-again', database);
    const id = await caller.send(name, 'hang');
    const store = await openStore({ type: 'postgres', url: database });
    cleanups.push(() => store.close());
    const accepted = () =>
      store.records.list({ space: 'bus-accepted-tasks', limit: 9, now: store.clock.now() });
    await eventually(async () => (await accepted()).length).toBe(1);
    // The message is acknowledged after its record is written.
    await eventually(() => first.reported).toContain('bus.task.accepted');
    await first.kill();
    // The broker has nothing to redeliver.
    expect(await bus.inspect(taskQueueName(name))).toMatchObject({ messages: 0 });
    await work(url, exchange, name, path, 'run-again', database);
    await eventually(() => caller.state(id), { timeout: 20_000 }).toBe('TASK_STATE_COMPLETED');
    await eventually(async () => (await accepted()).length).toBe(0);
    expect(caller.of(id)).toHaveLength(1);
    const begun = readFileSync(`${path}.turns`, 'utf8').trim().split('\n');
    expect(begun).toEqual(['hang 1', 'hang 2']);
  });

  test('while it runs one task only leaves that task in its queue, which wakes the next one', async () => {
    const { bus, url, exchange } = await open();
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'log');
    const name = nameOf('job');
    await declareAgentQueue(bus, name);
    const database = await (await postgres()).database();
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'hang');
    const first = await work(url, exchange, name, path, 'run-again', database, 'once');
    await eventually(() => caller.updatesOf(id).length, { timeout: 5_000 }).toBe(2);
    await first.kill();
    await eventually(async () => (await bus.inspect(taskQueueName(name)))?.messages).toBe(1);
    await work(url, exchange, name, path, 'run-again', database, 'once');
    await eventually(() => caller.state(id), { timeout: 20_000 }).toBe('TASK_STATE_COMPLETED');
  });

  test('by its own task, each time, stops doing so', { timeout: 60_000 }, async () => {
    const { bus, url, exchange } = await open();
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'store.db');
    const name = nameOf('worker');
    await declareAgentQueue(bus, name);
    const caller = await TestCaller.start(bus);
    const id = await caller.send(name, 'die');
    const live = (): ChildProcess => {
      const args = [url, exchange, name, path, 'run-again'];
      const child = fork(worker, args, { execArgv: [], stdio: 'ignore' });
      children.push(child);
      return child;
    };
    for (let life = 0; life < 3; life += 1) {
      const child = live();
      await new Promise((resolve) => void child.once('exit', resolve));
    }
    live();
    await eventually(() => caller.state(id), { timeout: 20_000 }).toBe('TASK_STATE_FAILED');
    const begun = readFileSync(`${path}.turns`, 'utf8').trim().split('\n');
    expect(begun).toEqual(['die 1', 'die 2', 'die 3']);
  });
});

test(
  'a gateway that is killed leaves its tasks to the next one, and the agent runs them once',
  { timeout: 60_000 },
  async () => {
    const { bus, url, exchange } = await open();
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'gateway.db');
    const name = nameOf('slow');
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const begun: string[] = [];
    const slow = agent({ name, serialise: 'task' }, async function* (turn) {
      const said = textOf(turn.message);
      begun.push(said);
      yield chunk('a', 'begun ');
      await gates.get(said)?.promise;
      yield chunk('a', said, { append: true, last: true });
    });
    await using _host = await hostOnBus(slow, { bus, store: openMemory() });
    const children: ChildProcess[] = [];
    cleanups.push(async () => children.forEach((child) => child.kill('SIGKILL')));
    const serve = async (): Promise<{ address: string; kill: () => Promise<void> }> => {
      const file = join(import.meta.dirname, 'gateway.contract.ts');
      const child = fork(file, [url, exchange, name, path], { execArgv: [] });
      children.push(child);
      const address = await new Promise<string>((resolve, reject) => {
        child.once('message', (said) => resolve(said as string));
        child.once('exit', () => reject(new Error('the gateway did not start')));
      });
      const gone = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
      return {
        address,
        kill: () => {
          child.kill('SIGKILL');
          return gone;
        },
      };
    };
    const first = await serve();
    const client = await connect(first.address);
    const words = ['while it is away', 'when it is back'];
    for (const said of words) gates.set(said, Promise.withResolvers());
    const ids: string[] = [];
    for (const said of words) {
      const configuration = { returnImmediately: true };
      const answer = await client.sendMessage({ message: message(said), configuration });
      if ('task' in answer) ids.push(answer.task.id);
    }
    await eventually(() => begun.length).toBe(2);
    await first.kill();
    // Its answer finds nobody for now.
    gates.get('while it is away')?.resolve();
    const second = await serve();
    gates.get('when it is back')?.resolve();
    const next = await connect(second.address);
    const ended = await Promise.all(ids.map((id) => next.waitForEnd(id)));
    expect(ended.map(({ status }) => status.state)).toEqual(
      words.map(() => 'TASK_STATE_COMPLETED'),
    );
    const texts = ended.map(({ artifacts }) => artifacts?.[0]?.parts.map((part) => part.text));
    expect(texts.map((parts) => parts?.join(''))).toEqual(words.map((said) => `begun ${said}`));
    expect(begun).toHaveLength(2);
  },
);

const echo = (name: string) =>
  agent({ name, serialise: 'task' }, async function* (turn) {
    yield artifact(`echo ${textOf(turn.message)}`);
  });

test('a thousand tasks at a time all come back, each with its own answer', async () => {
  const { bus } = await open();
  await using directory = await temporaryDirectory();
  const store = await openStore({ type: 'sqlite', path: join(directory.path, 'store.db') });
  cleanups.push(() => store.close());
  const name = nameOf('echo');
  await using host = await hostOnBus(echo(name), { bus, store, concurrency: 200 });
  const caller = await TestCaller.start(bus);
  const ids = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => caller.send(host.name, `m${index}`)),
  );
  await eventually(() => caller.answers.length, {
    timeout: 25_000,
    interval: 100,
  }).toBeGreaterThanOrEqual(1_000);
  expect(ids.map((id) => caller.task(id)?.artifacts?.[0]?.parts[0]?.text)).toEqual(
    ids.map((_, index) => `echo m${index}`),
  );
  expect(caller.answers).toHaveLength(1_000);
});

test('poison of every kind among good tasks: it is dead with its reason, and the others are answered', async () => {
  const { bus } = await open();
  const name = nameOf('echo');
  const errors: string[] = [];
  await using host = await hostOnBus(echo(name), { bus, store: openMemory(), concurrency: 20 });
  const caller = await TestCaller.start(bus);
  const poisons = [
    '',
    '{',
    'null',
    '[]',
    '{"message":null}',
    '{"message":{"messageId":"x","role":"ROLE_USER","parts":[]}}',
    '{"__proto__":{"message":{}}}',
    `{"message":${'['.repeat(200)}${']'.repeat(200)}}`,
    JSON.stringify({ message: { messageId: 'y'.repeat(10_000), role: 'ROLE_USER', parts: [{}] } }),
  ];
  const ids: string[] = [];
  for (let round = 0; round < 10; round += 1) {
    for (const body of poisons) {
      await bus.publish(topics.task(name), { type: 'task', body }, { mandatory: true });
    }
    ids.push(await caller.send(name, `good ${round}`));
  }
  await eventually(() => ids.filter((id) => caller.state(id) === 'TASK_STATE_COMPLETED').length, {
    timeout: 20_000,
  }).toBe(10);
  const queue = taskQueueName(host.name);
  const count = 10 * poisons.length;
  await eventually(async () => (await bus.inspect(queue))?.deadLetters, {
    timeout: 20_000,
  }).toBe(count);
  expect(await bus.inspect(queue)).toMatchObject({ messages: 0, deadLetters: count });
  const dead = await bus.deadLetters(queue, { limit: 1_000 });
  for (const { reason, attempts } of dead) if (reason === '' || attempts !== 1) errors.push(reason);
  expect(errors).toEqual([]);
  // What is put back dies again, and no more than once.
  expect(await bus.replay(queue)).toBe(count);
  await eventually(async () => (await bus.inspect(queue))?.deadLetters, {
    timeout: 20_000,
  }).toBe(count);
  const after = await caller.send(name, 'still there');
  await eventually(() => caller.state(after)).toBe('TASK_STATE_COMPLETED');
});

test.each(['meeting', 'research'])(
  'the example %s runs over a real broker as it does in memory',
  { timeout: 60_000 },
  async (example) => {
    const { url } = await rabbitMq();
    const file = join(import.meta.dirname, '../../../examples', example, 'check.ts');
    const child = fork(file, [], {
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, AMQP_URL: url },
    });
    cleanups.push(async () => child.kill('SIGKILL'));
    let said = '';
    for (const output of [child.stdout, child.stderr]) {
      output?.setEncoding('utf8').on('data', (words: string) => (said += words));
    }
    const code = await new Promise((resolve) => void child.once('close', resolve));
    expect({ code, said }).toEqual({ code: 0, said: expect.stringMatching(`^${example}: `) });
  },
);

test(
  'a restart of the broker in the middle of everything loses no task',
  { timeout: 120_000 },
  async () => {
    const broker = await rabbitMq();
    const { bus, exchange } = await open(undefined, { publishTimeoutMs: 60_000 });
    const { bus: theirs } = await open(exchange, { publishTimeoutMs: 60_000 });
    const name = nameOf('echo');
    const turns = new Map<string, number>();
    const counting = agent({ name, serialise: 'task' }, async function* (turn) {
      const said = textOf(turn.message);
      turns.set(said, (turns.get(said) ?? 0) + 1);
      yield artifact(`echo ${said}`);
    });
    await using host = await hostOnBus(counting, { bus: theirs, store: openMemory() });
    await using server = await gateway({
      bus,
      agents: [host.name],
      drainMs: 0,
      taskTimeoutMs: 90_000,
    });
    await using network = await joinPeers({
      name: nameOf('me'),
      store: openMemory(),
      links: [busLink({ bus })],
      wellKnown: [{ name }],
      timeoutMs: 90_000,
    });
    const client = await connect(server.url);
    const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
    const asked: Promise<string | undefined>[] = [];
    /** Without its broker the gateway refuses messages, which are sent again when it is back. */
    const send = async (said: string): Promise<string | undefined> => {
      for (;;) {
        try {
          const answer = await client.sendMessage(said);
          return textIn('task' in answer ? answer.task : undefined);
        } catch (error) {
          if (!(error instanceof LegateError) || error.code !== 'UNAVAILABLE') throw error;
          await expect.poll(() => bus.isConnected, { timeout: 60_000 }).toBe(true);
        }
      }
    };
    const ask = (index: number): void => {
      if (index % 2 === 0) {
        asked.push(send(`m${index}`));
      } else {
        const request = { agent: name, skill: name, message: `m${index}` };
        asked.push(
          network.invoker
            .invokeAndWait(request, { ...session, id: `c${index}` })
            .then(({ outcome }) => outcome?.text),
        );
      }
    };
    for (let index = 0; index < 20; index += 1) ask(index);
    const restarted = broker.restart();
    for (let index = 20; index < 40; index += 1) ask(index);
    await restarted;
    for (let index = 40; index < 60; index += 1) ask(index);
    expect(await Promise.all(asked)).toEqual(asked.map((_, index) => `echo m${index}`));
    expect([...turns.values()].every((count) => count === 1)).toBe(true);
    expect(turns.size).toBe(60);
  },
);

function textIn(task: Task | undefined): string | undefined {
  return task?.artifacts?.[0]?.parts[0]?.text;
}

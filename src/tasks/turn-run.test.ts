import { afterEach, expect, test } from 'vitest';
import { agent, type Agent, chunk, type Turn, working } from '../agents/index.ts';
import { artifact, message, type Task } from '../protocol/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../store/index.ts';
import { type Call, Engine, type EngineOptions, type SendOutcome } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };
const engines = new Set<Engine>();
afterEach(async () => {
  for (const engine of engines) await engine.stop();
  engines.clear();
});

async function start(
  declared: Agent,
  options: Partial<EngineOptions> = {},
  store: Store = openMemory(),
): Promise<Engine> {
  const engine = await Engine.start({ agent: declared, store, cancelGraceMs: 20, ...options });
  engines.add(engine);
  return engine;
}

async function sendAtOnce(engine: Engine, text: string, contextId: string): Promise<Task> {
  const request = {
    message: message(text, { contextId }),
    configuration: { returnImmediately: true },
  };
  return taskOf(await engine.send(request, call));
}

function taskOf(outcome: SendOutcome): Task {
  if (!('task' in outcome)) throw new Error('expected a task');
  return outcome.task.value;
}

/** Continues until it is told to end, and does not listen to its signal. */
function deaf(): { agent: Agent; taken: string[]; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const taken: string[] = [];
  const made = agent({ name: 'deaf' }, async function* (turn: Turn) {
    taken.push(turn.taskId);
    yield working();
    await promise;
  });
  return { agent: made, taken, end: resolve };
}

test('a turn that is cancelled while it waits for a slot ends without running the agent', async () => {
  const { agent: busy, taken, end } = deaf();
  const engine = await start(busy, { maxRunningTurns: 1 });
  const first = await sendAtOnce(engine, 'first', 'a');
  const second = await sendAtOnce(engine, 'second', 'b');
  const canceled = engine.cancelTask({ id: second.id }, call);
  end();
  expect((await canceled).value.status.state).toBe('TASK_STATE_CANCELED');
  expect(taken).toEqual([first.id]);
});

test('a turn that waits for a slot is cancelled at once, and its slot is released', async () => {
  const { agent: busy, taken, end } = deaf();
  const engine = await start(busy, { maxRunningTurns: 1 });
  const first = await sendAtOnce(engine, 'first', 'a');
  const second = await sendAtOnce(engine, 'second', 'b');
  const third = await sendAtOnce(engine, 'third', 'c');
  const canceled = await engine.cancelTask({ id: second.id }, call);
  expect(canceled.value.status.state).toBe('TASK_STATE_CANCELED');
  expect(taken).toEqual([first.id]);
  end();
  await expect.poll(() => taken).toEqual([first.id, third.id]);
});

test('a turn that waits for a slot at shutdown is released to other replicas, as if never started', async () => {
  const [store, other] = openMemoryReplicas(2);
  const { agent: busy } = deaf();
  const engine = await start(busy, { maxRunningTurns: 1 }, store);
  const first = await sendAtOnce(engine, 'first', 'a');
  const second = await sendAtOnce(engine, 'second', 'b');
  await engine.stop();
  const stateOf = async (task: Task) => (await other?.load(task.id))?.state;
  expect(await stateOf(first)).toBe('TASK_STATE_FAILED');
  expect(await stateOf(second)).toBe('TASK_STATE_SUBMITTED');
  const left = { agent: 'deaf', replica: 'other', limit: 10 };
  expect(await other?.takeOver(left)).toMatchObject([{ taskId: second.id, attempt: 1 }]);
});

test('a message that an agent answers with during shutdown is delivered, and its state stored', async () => {
  const begun = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow', replies: 'message' }, async function* ({ signal }) {
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
    begun.resolve();
    await stopped;
    yield { kind: 'message', parts: [{ text: 'done' }], context: { value: { count: 1 } } };
  });
  const store = openMemory();
  const engine = await start(slow, { cancelGraceMs: 5_000 }, store);
  const answer = engine.send({ message: message('hi', { contextId: 'c' }) }, call);
  await begun.promise;
  const stopped = engine.stop();
  expect(await answer).toMatchObject({ message: { value: { parts: [{ text: 'done' }] } } });
  await stopped;
  const owner = '["slow","","alice"]';
  expect((await store.loadContext(owner, 'c'))?.value?.value).toEqual({ count: 1 });
});

test('a cancel that comes again does not cut off the turn that abandons the task', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isAborted: boolean | undefined;
  const careful: Agent = {
    ...agent({ name: 'careful' }, async function* () {
      yield { kind: 'input-required', parts: [{ text: 'Which?' }] };
    }),
    async abandon(turn) {
      await promise;
      isAborted = turn.signal.aborted;
      return { context: { value: { open: 0 } } };
    },
  };
  const [store, other] = openMemoryReplicas(2);
  const engine = await start(careful, { cancelGraceMs: 0, pollIntervalMs: 5 }, store);
  const asked = taskOf(await engine.send({ message: message('hi', { contextId: 'c' }) }, call));
  const canceled = engine.cancelTask({ id: asked.id }, call);
  await expect.poll(() => engine.runningTurns).toBe(1);
  // Another replica is asked as well, and tells this one.
  await other?.requestCancel(asked.id);
  await new Promise((done) => setImmediate(done));
  resolve();
  expect((await canceled).value.status.state).toBe('TASK_STATE_CANCELED');
  expect(isAborted).toBe(false);
  const owner = '["careful","","alice"]';
  expect((await store?.loadContext(owner, 'c'))?.value?.value).toEqual({ open: 0 });
});

test('a stream starts with the first event of an agent that might have answered with a message', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = [{ done: false, value: working('at once') }] as const;
  let taken = 0;
  const quick: Agent = {
    ...agent({ name: 'quick', replies: 'message' }, async function* () {}),
    // No generator, which would take a moment to come to its first event.
    take: () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const event = events[taken++];
          return event === undefined
            ? promise.then(() => ({ done: true, value: undefined }))
            : Promise.resolve(event);
        },
      }),
    }),
  };
  const engine = await start(quick);
  const stream = await engine.stream({ message: message('hi') }, call);
  expect(Object.keys((await stream.next())?.body.value ?? {})).toEqual(['task']);
  expect(Object.keys((await stream.next())?.body.value ?? {})).toEqual(['statusUpdate']);
  stream.close();
  resolve();
});

/** Answers when it is told to; says nothing before. */
function quiet(): { agent: Agent; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const made = agent({ name: 'quiet' }, async () => {
    await promise;
    return 'done';
  });
  return { agent: made, end: resolve };
}

/** The states that a stream shows, its first task included. */
async function statesOf(engine: Engine, text: string): Promise<readonly string[]> {
  const states: string[] = [];
  for await (const { body } of await engine.stream({ message: message(text) }, call)) {
    if ('task' in body.value) states.push(body.value.task.status.state);
    if ('statusUpdate' in body.value) states.push(body.value.statusUpdate.status.state);
  }
  return states.map((state) => state.replace('TASK_STATE_', ''));
}

test('a task is working from the start of its turn, though its agent says nothing', async () => {
  const { agent: busy, end } = quiet();
  const engine = await start(busy);
  const { id } = await sendAtOnce(engine, 'go', 'a');
  const stateOf = async () => (await engine.getTask({ id }, call)).value.status.state;
  await expect.poll(stateOf).toBe('TASK_STATE_WORKING');
  end();
  await expect.poll(stateOf).toBe('TASK_STATE_COMPLETED');
});

test('a turn that waits for room is submitted, and working once it starts', async () => {
  const { agent: busy, end } = quiet();
  const engine = await start(busy, { maxRunningTurns: 1 });
  const first = await sendAtOnce(engine, 'first', 'a');
  const second = await sendAtOnce(engine, 'second', 'b');
  const stateOf = async ({ id }: Task) => (await engine.getTask({ id }, call)).value.status.state;
  await expect.poll(() => stateOf(first)).toBe('TASK_STATE_WORKING');
  expect(await stateOf(second)).toBe('TASK_STATE_SUBMITTED');
  end();
  await expect.poll(() => stateOf(second)).toBe('TASK_STATE_COMPLETED');
});

test.each([
  ['says nothing', agent({ name: 'quick' }, () => 'done'), 1],
  [
    'says it too',
    agent({ name: 'eager' }, async function* () {
      yield working();
      yield artifact('done');
    }),
    1,
  ],
  [
    'reports progress',
    agent({ name: 'chatty' }, async function* () {
      yield working('half');
      yield working();
    }),
    3,
  ],
] as const)('a stream is told once that an agent works which %s', async (_, made, count) => {
  const engine = await start(made);
  const between = Array.from({ length: count }, () => 'WORKING');
  expect(await statesOf(engine, 'go')).toEqual(['SUBMITTED', ...between, 'COMPLETED']);
});

test('a failed task names the artifacts that are not whole', async () => {
  const breaking = agent({ name: 'breaking' }, async function* () {
    yield artifact('whole', { artifactId: 'whole' });
    yield chunk('sealed', 'x', { last: true });
    yield 'Half an';
    throw new Error('out of paper');
  });
  const engine = await start(breaking, { logger: silentLogger });
  const { metadata, status } = taskOf(await engine.send({ message: message('go') }, call));
  expect(status.state).toBe('TASK_STATE_FAILED');
  expect(metadata).toMatchObject({ incomplete_artifacts: ['answer'] });
});

test.each([
  [false, ['The agent failed while working on this task.']],
  [true, ['The agent failed while working on this task: out of paper']],
])('with showErrors: %s, callers are told: %s', async (showErrors, expected) => {
  const breaking = agent({ name: 'breaking' }, () => {
    throw new Error('out of paper');
  });
  const engine = await start(breaking, { logger: silentLogger, showErrors });
  const { status } = taskOf(await engine.send({ message: message('go') }, call));
  expect(status.message?.parts.flatMap(({ text }) => text ?? [])).toEqual(expected);
});

import { afterEach, expect, test } from 'vitest';
import type { Caller } from '../../agents/index.ts';
import {
  type AgentCard,
  LegateError,
  type Message,
  type Task,
  type TaskState,
} from '../../protocol/index.ts';
import { openMemory, type RecordStore, type Store } from '../../store/index.ts';
import { Directory } from '../directory/directory.ts';
import { WorkingMemory } from '../memory/working-memory.ts';
import { type Answer, type Asked, TestClock, testPeer, withRecords } from '../testing.contract.ts';
import type { Conversations } from './conversations.ts';
import { httpTransport } from './http-transport.ts';
import { Invoker } from './invoker.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const caller: Caller = { tenant: '', subject: 'user', method: 'test' };
const session = { id: 'c1', caller };
const request = { agent: 'vault', skill: 'open', message: 'open' };

/** A peer that does not stream; the test says what it answers. */
async function peer(answer: (asked: Asked) => Answer | Promise<Answer>) {
  const made = await testPeer(answer);
  cleanups.push(() => made[Symbol.asyncDispose]());
  return made;
}

interface Calling {
  readonly store?: Store;
  readonly conversations?: Conversations;
  readonly scheduler?: TestClock;
}

async function calling(url: string, { store = openMemory(), ...options }: Calling = {}) {
  const { records } = store;
  const directory = new Directory({ records, wellKnown: [{ name: 'vault', card: cardOf(url) }] });
  await directory.start();
  const client = { poll: { initialMs: 5, maximumMs: 10 } };
  const invoker = new Invoker({
    name: 'me',
    directory,
    transports: [httpTransport({ directory, client })],
    store,
    memory: () => new WorkingMemory({ records, owner: 'user' }),
    ...options,
  });
  await invoker.start();
  const stop = async (): Promise<void> => {
    await invoker.stop();
    directory.stop();
  };
  cleanups.push(stop);
  return { invoker, store, stop };
}

function cardOf(url: string): AgentCard {
  return {
    name: 'vault',
    description: 'Opens the vault.',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'open', name: 'open', description: 'open', tags: [] }],
  };
}

function taskIn(state: TaskState): Task {
  const parts = [{ text: state }];
  return {
    id: 't',
    contextId: 'c',
    status: { state, message: { messageId: `said ${state}`, role: 'ROLE_AGENT', parts } },
  };
}

/** Answers what is sent with a task in the first state, and every look with the present one. */
function inState(now: { state: TaskState }): (asked: Asked) => Answer {
  return ({ path }) => {
    const task = taskIn(now.state);
    return { json: path.endsWith(':send') ? { task } : task };
  };
}

test('a task that continues after consent elsewhere ends without an answer', async () => {
  const now: { state: TaskState } = { state: 'TASK_STATE_WORKING' };
  const { url } = await peer(inState(now));
  const { invoker } = await calling(url);
  const { id } = await invoker.invoke(request, session, { mode: 'wait' });
  now.state = 'TASK_STATE_AUTH_REQUIRED';
  const asked = await invoker.wait(id);
  expect(asked).toMatchObject({ state: 'asking', question: { needsAuthorization: true } });
  now.state = 'TASK_STATE_COMPLETED';
  await expect.poll(async () => (await invoker.find(id))?.state).toBe('ended');
  expect((await invoker.find(id))?.outcome?.end).toBe('TASK_STATE_COMPLETED');
});

test('an answer to a task that continued after consent elsewhere brings its result', async () => {
  const now: { state: TaskState } = { state: 'TASK_STATE_AUTH_REQUIRED' };
  const { url, asked: requests } = await peer(inState(now));
  const first = await calling(url);
  const { id } = await first.invoker.invokeAndWait(request, session);
  await first.stop();
  const { invoker } = await calling(url, { store: first.store });
  now.state = 'TASK_STATE_COMPLETED';
  await invoker.answer(id, 'I have logged in');
  expect((await invoker.wait(id)).outcome?.end).toBe('TASK_STATE_COMPLETED');
  expect(requests.filter(({ path }) => path.endsWith(':send'))).toHaveLength(1);
});

test('a call that is being sent when its process stops stays open for the next one', async () => {
  const gate = Promise.withResolvers<Answer>();
  const { url, asked: requests } = await peer(() => gate.promise);
  const { invoker, store, stop } = await calling(url);
  const called = invoker.invokeAndWait(request, session);
  const failure = expect(called).rejects.toThrow(/shutting down/);
  await expect.poll(() => requests.length).toBe(1);
  await stop();
  await failure;
  const [left] = await store.records.list({ space: 'invocations', limit: 2, now: Date.now() });
  expect(left?.value.value).toMatchObject({ agent: 'vault', state: 'sending' });
  gate.resolve({ status: 503 });
});

/** A peer that lists its tasks and answers no message before the gate opens. */
async function slowPeer(now: { state: TaskState }, tasks: Task[]) {
  const gate = Promise.withResolvers<void>();
  cleanups.push(async () => gate.resolve());
  const made = await peer(async ({ path, body }) => {
    if (path.endsWith(':send')) {
      const { message } = JSON.parse(body) as { message: Message };
      tasks.unshift({ ...taskIn(now.state), history: [message] });
      await gate.promise;
      return { status: 503 };
    }
    if (path.endsWith(':cancel')) now.state = 'TASK_STATE_CANCELED';
    const page = { tasks, nextPageToken: '', pageSize: 20, totalSize: tasks.length };
    return { json: path.startsWith('/tasks?') ? page : taskIn(now.state) };
  });
  const paths = (end: string): readonly string[] =>
    made.asked.map(({ path }) => path).filter((path) => path.endsWith(end));
  return { ...made, paths };
}

test('a task whose sending was cut off is found by its message, and not sent again', async () => {
  const now: { state: TaskState } = { state: 'TASK_STATE_WORKING' };
  const { url, paths } = await slowPeer(now, []);
  const first = await calling(url);
  const called = expect(first.invoker.invokeAndWait(request, session)).rejects.toThrow(
    /shutting down/,
  );
  await expect.poll(() => paths(':send')).toHaveLength(1);
  await first.stop();
  await called;
  const notices: string[] = [];
  const conversations = {
    ended: async (_: unknown, said: { text: string }) => void notices.push(said.text),
  };
  const { invoker } = await calling(url, { store: first.store, conversations });
  const [taken] = await invoker.list();
  await expect.poll(async () => (await invoker.find(taken?.id ?? ''))?.remote?.taskId).toBe('t');
  now.state = 'TASK_STATE_COMPLETED';
  await expect.poll(() => notices).toEqual([expect.stringContaining("Agent 'vault' completed")]);
  expect(paths(':send')).toHaveLength(1);
});

test('a task whose sending was cut off is cancelled by its message when its time is up', async () => {
  const now: { state: TaskState } = { state: 'TASK_STATE_WORKING' };
  const { url, paths } = await slowPeer(now, []);
  const first = await calling(url);
  const called = expect(first.invoker.invokeAndWait(request, session)).rejects.toThrow(
    /shutting down/,
  );
  await expect.poll(() => paths(':send')).toHaveLength(1);
  await first.stop();
  await called;
  const clock = new TestClock(Date.now() + 3_600_000);
  await calling(url, { store: first.store, scheduler: clock });
  clock.advance(1);
  await expect.poll(() => paths(':cancel')).toHaveLength(1);
});

test('a call whose fate cannot be found out ends with that, and is not sent again', async () => {
  const { url, paths } = await slowPeer({ state: 'TASK_STATE_WORKING' }, unlisted());
  const first = await calling(url);
  const called = expect(first.invoker.invokeAndWait(request, session)).rejects.toThrow(
    /shutting down/,
  );
  await expect.poll(() => paths(':send')).toHaveLength(1);
  const [left] = await first.invoker.list();
  await first.stop();
  await called;
  const { invoker } = await calling(url, { store: first.store });
  await expect
    .poll(async () => (await invoker.find(left?.id ?? ''))?.outcome)
    .toMatchObject({
      end: 'error',
      text: expect.stringContaining('unknown whether the agent received message') as string,
    });
  expect(paths(':send')).toHaveLength(1);
});

/** Tasks of which the peer shows none. */
function unlisted(): Task[] {
  const tasks: Task[] = [];
  tasks.unshift = () => 0;
  return tasks;
}

test('an answer that did not reach the peer before its process stopped is sent by the next', async () => {
  const gate = Promise.withResolvers<void>();
  cleanups.push(async () => gate.resolve());
  const answers: string[] = [];
  let state: TaskState = 'TASK_STATE_INPUT_REQUIRED';
  const { url } = await peer(async ({ path, body }) => {
    if (path.endsWith(':send') && body.includes('this one')) {
      answers.push((JSON.parse(body) as { message: Message }).message.messageId);
      // The first is lost on its way.
      if (answers.length === 1) await gate.promise;
      else state = 'TASK_STATE_COMPLETED';
    }
    return { json: path.endsWith(':send') ? { task: taskIn(state) } : taskIn(state) };
  });
  const first = await calling(url);
  const { id } = await first.invoker.invokeAndWait(request, session);
  const answered = expect(first.invoker.answer(id, 'this one')).rejects.toThrow(/shutting down/);
  await expect.poll(() => answers.length).toBe(1);
  await first.stop();
  await answered;
  const { invoker } = await calling(url, { store: first.store });
  expect((await invoker.wait(id)).outcome?.end).toBe('TASK_STATE_COMPLETED');
  expect(answers).toEqual([answers[0], answers[0]]);
});

test('an answer that arrives while the store is away ends the call once it is back', async () => {
  const now: { state: TaskState } = { state: 'TASK_STATE_WORKING' };
  const { url } = await peer(inState(now));
  const store = openMemory();
  let failures = 0;
  const unlessAway =
    <Input extends unknown[], Output>(go: (...input: Input) => Promise<Output>) =>
    async (...input: Input): Promise<Output> => {
      if (failures-- > 0) throw new LegateError('STORE_FAILED', 'away');
      return go(...input);
    };
  const records: RecordStore = {
    clock: store.records.clock,
    get: unlessAway((...input) => store.records.get(...input)),
    write: unlessAway((...input) => store.records.write(...input)),
    increment: unlessAway((...input) => store.records.increment(...input)),
    list: unlessAway((...input) => store.records.list(...input)),
  };
  const { invoker } = await calling(url, { store: withRecords(store, records) });
  const { id } = await invoker.invoke(request, session);
  failures = 3;
  now.state = 'TASK_STATE_COMPLETED';
  await expect.poll(async () => failures <= 0 && (await invoker.find(id))?.state).toBe('ended');
  expect((await invoker.find(id))?.outcome?.end).toBe('TASK_STATE_COMPLETED');
});

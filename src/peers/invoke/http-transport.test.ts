import { afterEach, expect, test } from 'vitest';
import type { Caller } from '../../agents/index.ts';
import type { AgentCard, Task, TaskState } from '../../protocol/index.ts';
import { openMemory, type Store } from '../../store/index.ts';
import { Directory } from '../directory/index.ts';
import { WorkingMemory } from '../memory/index.ts';
import { type Answer, type Asked, testPeer } from '../testing.contract.ts';
import { type Conversations, HttpTransport, Invoker } from './index.ts';

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
}

async function calling(url: string, { store = openMemory(), conversations }: Calling = {}) {
  const { records } = store;
  const directory = new Directory({ records, wellKnown: [{ name: 'vault', card: cardOf(url) }] });
  await directory.start();
  const client = { poll: { initialMs: 5, maximumMs: 10 } };
  const invoker = new Invoker({
    name: 'me',
    directory,
    transports: [new HttpTransport({ directory, client })],
    records,
    memory: () => new WorkingMemory({ records, owner: 'user' }),
    ...(conversations !== undefined && { conversations }),
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

test('a task that goes on after consent elsewhere ends without an answer', async () => {
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

test('an answer to a task that went on after consent elsewhere brings its result', async () => {
  const now: { state: TaskState } = { state: 'TASK_STATE_AUTH_REQUIRED' };
  const { url, asked: requests } = await peer(inState(now));
  const first = await calling(url);
  const { id } = await first.invoker.call(request, session);
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
  const called = invoker.call(request, session);
  const failure = expect(called).rejects.toThrow(/shutting down/);
  await expect.poll(() => requests.length).toBe(1);
  await stop();
  await failure;
  const [left] = await store.records.list({ space: 'invocations', limit: 2, now: Date.now() });
  expect(left?.value.value).toMatchObject({ agent: 'vault', state: 'sending' });
  gate.resolve({ status: 503 });
});

import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import type { Caller } from '../../agents/index.ts';
import {
  type AgentCard,
  data,
  file,
  LegateError,
  message,
  type Message,
  type Part,
  type SendMessageResponse,
  type TaskState,
  text,
  Json,
  type JsonValue,
} from '../../protocol/index.ts';
import {
  openMemory,
  openStore,
  openMemoryReplicas,
  ownerKey,
  type RecordStore,
  Replica,
  type Store,
} from '../../store/index.ts';
import { busInterface } from '../directory/transport-kind.ts';
import { Directory } from '../directory/directory.ts';
import { WorkingMemory } from '../memory/working-memory.ts';
import { TestClock, withRecords } from '../testing.contract.ts';
import { peerSubject } from '../trust/trust-subject.ts';
import { TrustLedger } from '../trust/trust-ledger.ts';
import type { Conversations } from './conversations.ts';
import type { Invocation, PeerEvent, PeerListener, PeerTransport } from './invocation.ts';
import { Invoker, type InvokerOptions } from './invoker.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const caller: Caller = { tenant: '', subject: 'user', method: 'test' };
const session = { id: 'c1', caller };

/** A transport whose peer is the test. */
class FakeTransport implements PeerTransport {
  readonly transportKind = 'bus';
  readonly deduplicates: boolean;
  readonly sent: { id: string; message: Message; remote: Invocation['remote'] }[] = [];
  readonly cancelled: string[] = [];
  readonly resumed: string[] = [];
  failure: Error | undefined;
  cancelFailure: Error | undefined;
  #listener: PeerListener | undefined;

  constructor(deduplicates = true) {
    this.deduplicates = deduplicates;
  }
  async start(listener: PeerListener): Promise<void> {
    this.#listener = listener;
  }
  async send({ id, message: sent, remote }: Invocation): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.sent.push({ id, message: sent, remote });
  }
  async resume({ id }: Invocation): Promise<void> {
    this.resumed.push(id);
  }
  async cancel({ id }: Invocation): Promise<void> {
    if (this.cancelFailure !== undefined) throw this.cancelFailure;
    this.cancelled.push(id);
  }
  async stop(): Promise<void> {}

  tell(id: string, event: PeerEvent): Promise<boolean> {
    return this.#listener?.(id, event) ?? Promise.resolve(false);
  }

  answer(
    id: string,
    state: TaskState,
    parts: readonly Part[],
    more: object = {},
  ): Promise<boolean> {
    return this.tell(id, { kind: 'answer', response: answerOf(state, parts, more) });
  }
}

let answers = 0;
function answerOf(
  state: TaskState,
  parts: readonly Part[],
  more: object = {},
): SendMessageResponse {
  answers += 1;
  const status = {
    state,
    message: message(parts, { messageId: `a${answers}`, role: 'ROLE_AGENT' }),
  };
  return { task: { id: 'remote-task', contextId: 'remote-context', status, ...more } };
}

interface Told {
  readonly notices: { id: string; text: string }[];
  readonly questions: { id: string; text: string }[];
  readonly progress: string[];
}

interface Setup extends Partial<InvokerOptions> {
  clock?: TestClock;
  transport?: FakeTransport;
  told?: Told;
  talk?: Partial<Conversations>;
  /** In place of those of the store. */
  records?: RecordStore;
}

async function start(setup: Setup = {}) {
  const {
    store = openMemory(),
    clock = new TestClock(),
    transport = new FakeTransport(),
    told = { notices: [], questions: [], progress: [] },
    talk = {},
    records = store.records,
    ...options
  } = setup;
  const directory = new Directory({ records, scheduler: clock });
  for (const name of ['Bob', 'Carol']) {
    await directory.announced({ card: cardOf(name), isGone: false, sender: undefined });
  }
  const memory = new WorkingMemory({
    records,
    owner: ownerKey({ agent: 'me', tenant: '', subject: 'user' }),
    clock,
  });
  const trust = new TrustLedger({ records, scheduler: clock });
  const conversations: Conversations = {
    progress: (_invocation, said) => void told.progress.push(said),
    ended: async (_invocation, { id, text: said }) => void told.notices.push({ id, text: said }),
    ask: async ({ id }, { text: said }) => void told.questions.push({ id, text: said }),
    ...talk,
  };
  const replica = new Replica({ store, id: crypto.randomUUID(), scheduler: clock });
  const invoker = new Invoker({
    name: 'me',
    directory,
    transports: [transport],
    store: withRecords(store, records),
    memory: () => memory,
    trust,
    conversations,
    scheduler: clock,
    replica,
    ...options,
  });
  await invoker.start();
  cleanups.push(() => invoker.stop());
  const ask = (more: object = {}) =>
    invoker.invoke({ agent: 'Bob', skill: 'echo', message: 'hello', ...more }, session);
  /** The lease ends as that of a process that died. */
  const die = (): Promise<void> => store.retire(replica.id);
  return { invoker, transport, memory, told, clock, trust, store, directory, ask, die };
}

function cardOf(name: string): AgentCard {
  return {
    name,
    description: '',
    version: '1',
    supportedInterfaces: [busInterface(name)],
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: ['echo', 'meeting'].map((id) => ({ id, name: id, description: id, tags: [] })),
  };
}

test('a task goes out with words, data and metadata, and its skill on the message', async () => {
  const { transport, ask } = await start();
  const invocation = await ask({
    data: { recordId: 'r-42' },
    metadata: { urgent: true },
    skill: 'ECHO',
  });
  expect(invocation).toMatchObject({ state: 'working', agent: 'Bob', skill: 'echo' });
  expect(transport.sent[0]?.message).toMatchObject({
    parts: [{ text: 'hello' }, { data: { recordId: 'r-42' }, mediaType: 'application/json' }],
    metadata: { skill: 'echo', urgent: true },
    role: 'ROLE_USER',
  });
});

test('a result is kept whole in working memory, and the conversation is told its key', async () => {
  const { transport, memory, told, ask } = await start();
  const { id } = await ask();
  const artifacts = [
    { artifactId: '1', name: 'report', parts: [text('one'), data({ a: 1 }), data([2])] },
    { artifactId: '2', parts: [text('two'), file({ url: 'https://x/f.png', filename: 'f.png' })] },
  ];
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('three')], { artifacts });
  const root = `session/c1/a2a/Bob/${id}`;
  expect((await memory.get(`${root}/result`))?.value).toBe(
    'one\ntwo\n[file f.png at https://x/f.png]\nthree',
  );
  expect(JSON.parse((await memory.get(`${root}/data`))?.value ?? '')).toEqual([
    { a: 1 },
    { value: [2] },
  ]);
  expect(JSON.parse((await memory.get(`${root}/artifacts`))?.value ?? '')).toEqual(artifacts);
  const entry = await memory.get(`${root}/result`);
  expect(entry).toMatchObject({ category: 'a2a-result', tags: ['Bob', id] });
  expect((entry?.expiresAt ?? 0) - (entry?.savedAt ?? 0)).toBe(60 * 60 * 1000);
  expect(told.notices).toHaveLength(1);
  expect(told.notices[0]?.text).toContain(`[Agent 'Bob' completed task ${id} (state=completed)]`);
  expect(told.notices[0]?.text).toContain(`get_from_working_memory with key '${root}/result'`);
  expect(told.notices[0]?.text).toContain(
    `Structured JSON is also available at key '${root}/data'`,
  );
});

test('several tasks of one conversation are under way at a time, up to a limit', async () => {
  const { invoker, transport, told, ask } = await start({ maxInFlight: 3 });
  const ids = [(await ask()).id, (await ask({ agent: 'carol' })).id, (await ask()).id];
  await expect(ask()).rejects.toThrow(/3 agent tasks .* Wait for their results/);
  const other = { id: 'c2', caller };
  await invoker.invoke({ agent: 'Bob', skill: 'echo', message: 'x' }, other);
  expect(await invoker.list(session)).toHaveLength(3);
  for (const id of ids.toReversed()) await transport.answer(id, 'TASK_STATE_COMPLETED', [text(id)]);
  expect(told.notices).toHaveLength(3);
  expect(await invoker.list(session)).toEqual([]);
});

test.each([
  [{ agent: '' }, /Missing required argument: agent_name/],
  [{ skill: ' ' }, /Missing required argument: skill/],
  [{ message: '' }, /Missing required argument: message/],
  [{ data: [] }, /'data' must be a JSON object/],
  [{ metadata: { x: {} } }, /'metadata\.x' must be a string, a number or a boolean; put nested/],
  [{ metadata: { skill: 'x' } }, /'metadata\.skill' is reserved/],
  [{ agent: 'Me' }, /Cannot invoke yourself \('Me'\)\. Use list_known_agents/],
  [{ agent: 'Bbo' }, /No agent named 'Bbo' is in the directory; did you mean "Bob"/],
  [
    { skill: 'meetng' },
    /has no skill 'meetng'; did you mean "meeting"\? Its skills are: echo, meeting/,
  ],
  [{ timeoutMs: -1 }, /timeout/],
])('a request that cannot be is refused with what to do: %j', async (change, text_) => {
  const { transport, ask } = await start();
  await expect(ask(change)).rejects.toThrow(text_);
  expect(transport.sent).toEqual([]);
});

test('an agent that no process hosts is an error at once, and leaves no record', async () => {
  const { invoker, transport, told, ask } = await start();
  transport.failure = new LegateError('PEER_UNREACHABLE', 'nobody listens');
  await expect(ask()).rejects.toThrow('nobody listens');
  expect(await invoker.list()).toEqual([]);
  expect(told.notices).toEqual([]);
  transport.failure = undefined;
  await ask();
});

test('what a peer says on its way reaches the user, and its ids are remembered', async () => {
  const { invoker, transport, told, ask } = await start();
  const { id } = await ask();
  await transport.tell(id, { kind: 'known', taskId: 'remote', contextId: 'context' });
  await transport.tell(id, { kind: 'progress', text: 'half way' });
  expect(told.progress).toEqual(['half way']);
  expect((await invoker.find(id))?.remote).toEqual({ taskId: 'remote', contextId: 'context' });
});

test('an error of the peer is told', async () => {
  const { transport, told, ask } = await start();
  const { id } = await ask();
  await transport.tell(id, {
    kind: 'error',
    error: new LegateError('CONTENT_TYPE_NOT_SUPPORTED', 'no png'),
  });
  expect(told.notices[0]?.text).toBe(`[Agent 'Bob' failed task ${id}]: no png`);
});

test('after its time a task is cancelled at the peer, the user is told, and one can continue', async () => {
  const { invoker, transport, told, clock, ask } = await start();
  const { id } = await ask({ timeoutMs: 120_000 });
  clock.advance(119_000);
  expect(told.notices).toEqual([]);
  clock.advance(1_000);
  await expect.poll(() => transport.cancelled).toEqual([id]);
  expect(told.notices[0]?.text).toContain(`did not answer task ${id} within 2 minutes`);
  expect(await invoker.list()).toEqual([]);
  await ask();
});

test('a peer that cannot be told to stop is told later, by this process or the next', async () => {
  const transport = new FakeTransport();
  const first = await start({ transport });
  const { id } = await first.ask({ timeoutMs: 60_000 });
  transport.cancelFailure = new LegateError('UNAVAILABLE', 'broker away');
  first.clock.advance(60_000);
  // The user need not wait for that.
  await expect.poll(() => first.told.notices.length).toBe(1);
  await expect.poll(async () => (await first.invoker.find(id))?.mustCancel).toBe(true);
  transport.cancelFailure = undefined;
  await expect
    .poll(() => {
      first.clock.advance(1_000);
      return transport.cancelled;
    })
    .toEqual([id]);
  await expect.poll(async () => (await first.invoker.find(id))?.mustCancel).toBe(undefined);

  const cut = await first.ask({ timeoutMs: 60_000 });
  transport.cancelFailure = new LegateError('UNAVAILABLE', 'broker away');
  first.clock.advance(60_000);
  await expect.poll(() => first.told.notices.length).toBe(2);
  await expect.poll(async () => (await first.invoker.find(cut.id))?.mustCancel).toBe(true);
  await first.invoker.stop();
  const { store, clock, told } = first;
  const second = await start({ store, clock, told });
  expect(second.transport.cancelled).toEqual([cut.id]);
  // It is told once, and so is the user.
  const third = await start({ store, clock, told });
  expect(third.transport.cancelled).toEqual([]);
  expect(told.notices).toHaveLength(2);
});

test('a result that comes late is still joined; that the peer stopped is not news', async () => {
  const { transport, memory, told, clock, ask } = await start();
  const ids = [(await ask()).id, (await ask()).id] as const;
  clock.advance(5 * 60_000);
  await expect.poll(() => told.notices.length).toBe(2);
  await transport.answer(ids[0], 'TASK_STATE_COMPLETED', [text('better late')]);
  await transport.answer(ids[0], 'TASK_STATE_COMPLETED', [text('twice')]);
  await transport.answer(ids[1], 'TASK_STATE_CANCELED', [text('stopped')]);
  expect(told.notices).toHaveLength(3);
  expect(told.notices[2]?.text).toContain('(state=completed, late)');
  expect((await memory.get(`session/c1/a2a/Bob/${ids[0]}/result`))?.value).toBe('better late');
});

test('an answer told twice is heard once', async () => {
  const { transport, told, ask } = await start();
  const { id } = await ask();
  const response = answerOf('TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  await transport.tell(id, { kind: 'answer', response });
  await transport.tell(id, { kind: 'answer', response });
  expect(told.questions).toHaveLength(1);
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('x')]);
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('y')]);
  expect(told.notices).toHaveLength(1);
});

test('a peer whose name is sent in another Unicode form may answer', async () => {
  const { invoker, transport, directory } = await start();
  await directory.register({ name: 'Zo\u00eb', card: cardOf('zoe') });
  const request = { agent: 'ZO\u00cb', skill: 'echo', message: 'hello' };
  const { id } = await invoker.invoke(request, session);
  const response = answerOf('TASK_STATE_COMPLETED', [text('hi')]);
  expect(await transport.tell(id, { kind: 'answer', response, sender: 'zoe\u0308' })).toBe(true);
});

test('answers of others than the peer are not heard', async () => {
  const { invoker, transport, told, ask } = await start();
  const { id } = await ask();
  const response = answerOf('TASK_STATE_COMPLETED', [text('forged')]);
  expect(await transport.tell(id, { kind: 'answer', response, sender: 'Eve' })).toBe(false);
  expect(await transport.tell('unknown', { kind: 'answer', response })).toBe(false);
  expect(told.notices).toEqual([]);
  expect((await invoker.find(id))?.state).toBe('working');
  expect(await transport.tell(id, { kind: 'answer', response, sender: 'bob' })).toBe(true);
});

test('results after a restart are joined, because what is pending is stored', async () => {
  const first = await start();
  const { id } = await first.ask();
  const asked = await first.ask();
  await first.transport.answer(asked.id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  await first.invoker.stop();
  const { store, clock, told } = first;
  const second = await start({ store, clock, told });
  expect(second.transport.resumed).toEqual([id]);
  // The user is asked again by the same question, and can answer it.
  expect(told.questions.map((question) => question.id)).toEqual([asked.id, asked.id]);
  await second.transport.answer(id, 'TASK_STATE_COMPLETED', [text('done')]);
  expect(told.notices).toHaveLength(1);
  await second.invoker.answer(asked.id, 'noon');
  expect(second.transport.sent[0]?.message).toMatchObject({
    parts: [{ text: 'noon' }],
    taskId: 'remote-task',
    contextId: 'remote-context',
  });
});

test('a task whose sending was cut off is sent again where repeats are known, with the same id', async () => {
  const failing = new FakeTransport();
  const first = await start({ transport: failing });
  failing.send = async () => new Promise<void>(() => {});
  void first.ask();
  await expect.poll(async () => (await first.invoker.list())[0]?.state).toBe('sending');
  const [cut] = await first.invoker.list();
  await first.die();
  const again = await start({ store: first.store, clock: first.clock });
  expect(again.transport.sent.map(({ message: sent }) => sent.messageId)).toEqual([
    cut?.message.messageId,
  ]);
  const unsure = await start({
    store: first.store,
    clock: first.clock,
    transport: new FakeTransport(false),
  });
  expect(unsure.transport.sent).toEqual([]);
});

test('a conversation that could not be told is told by the next process, and no more than that', async () => {
  let isDown = true;
  const told: string[] = [];
  const talk: Partial<Conversations> = {
    ended: async (_invocation, { id }) => {
      if (isDown) throw new Error('engine away');
      told.push(id);
    },
  };
  const first = await start({ talk });
  const { id } = await first.ask();
  await first.transport.answer(id, 'TASK_STATE_COMPLETED', [text('x')]);
  expect(told).toEqual([]);
  isDown = false;
  await first.die();
  await start({ store: first.store, clock: first.clock, talk });
  expect(told).toEqual([`${id} result`]);
  await start({ store: first.store, clock: first.clock, talk });
  expect(told).toHaveLength(1);
});

test('a deadline that passed while no process ran is enforced at the start', async () => {
  const first = await start();
  const { id } = await first.ask();
  await first.invoker.stop();
  first.clock.advance(10 * 60_000);
  const { transport, told } = await start({ store: first.store, clock: first.clock });
  first.clock.advance(1);
  await expect.poll(() => transport.cancelled).toEqual([id]);
  expect(told.notices[0]?.text).toContain('did not answer');
});

test('a question is put to the user, who has time, and the answer goes back as a new message', async () => {
  const { invoker, transport, told, clock, ask } = await start();
  const { id } = await ask();
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  expect(told.questions).toEqual([{ id, text: 'When?' }]);
  expect((await invoker.find(id))?.state).toBe('asking');
  clock.advance(60 * 60_000);
  expect(told.notices).toEqual([]);
  await invoker.answer(id, 'At noon');
  const [first, second] = transport.sent;
  expect(second?.message).toMatchObject({
    parts: [{ text: 'At noon' }],
    taskId: 'remote-task',
    contextId: 'remote-context',
    metadata: { skill: 'echo' },
  });
  expect(second?.message.messageId).not.toBe(first?.message.messageId);
  await expect(invoker.answer(id, 'again')).rejects.toThrow(/does not wait for an answer/);
  // The peer has its whole time again, however long the user took.
  clock.advance(4 * 60_000);
  expect(told.notices).toEqual([]);
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('booked')]);
  expect(told.notices).toHaveLength(1);
  expect((await invoker.find(id))?.outcome).toMatchObject({ text: 'booked' });
});

test('a model answers only where the peer may act and the skill is approved', async () => {
  const answer = async (): Promise<string> => 'noon';
  const { transport, trust, told, ask } = await start({ talk: { answer } });
  const bob = peerSubject('Bob');
  await trust.grant(bob, { level: 'act', skills: ['meeting'], by: 'user' });
  const unapproved = await ask({ skill: 'echo' });
  await transport.answer(unapproved.id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  expect(told.questions.map(({ id }) => id)).toEqual([unapproved.id]);
  const trusted = await ask({ skill: 'meeting' });
  await transport.answer(trusted.id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  await expect.poll(() => transport.sent.at(-1)?.message.parts).toEqual([{ text: 'noon' }]);
  expect(told.questions).toHaveLength(1);
  // No model can consent.
  await transport.answer(trusted.id, 'TASK_STATE_AUTH_REQUIRED', [text('Log in')]);
  expect(told.questions.map(({ text: said }) => said)).toEqual(['When?', 'Log in']);
});

test('where the model has no answer, the user is asked instead', async () => {
  const { transport, trust, told, ask } = await start({
    talk: { answer: () => Promise.reject(new Error('model away')) },
  });
  await trust.grant(peerSubject('Bob'), { level: 'act', skills: ['echo'], by: 'user' });
  const { id } = await ask();
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  await expect.poll(() => told.questions).toEqual([{ id, text: 'When?' }]);
  expect(transport.sent).toHaveLength(1);
});

test('a peer may ask twenty times and no more', async () => {
  let count = 0;
  const { transport, trust, told, invoker, ask } = await start({
    talk: { answer: async () => `answer ${(count += 1)}` },
  });
  await trust.grant(peerSubject('Bob'), { level: 'act', skills: ['echo'], by: 'user' });
  const { id } = await ask();
  for (let round = 1; round <= 20; round += 1) {
    await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text(`question ${round}`)]);
    await expect.poll(() => transport.sent.length).toBe(round + 1);
  }
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('question 21')]);
  expect(transport.sent).toHaveLength(21);
  expect(told.notices[0]?.text).toMatch(/max rounds exceeded\. Consider breaking the request/);
  expect(transport.cancelled).toEqual([id]);
  expect((await invoker.find(id))?.outcome?.end).toBe('TASK_STATE_FAILED');
});

test('the same question with the same answer, three times in a row, ends the loop', async () => {
  const { transport, trust, told, ask } = await start({ talk: { answer: async () => 'Tuesday' } });
  await trust.grant(peerSubject('Bob'), { level: 'act', skills: ['echo'], by: 'user' });
  const { id } = await ask();
  for (let round = 1; round <= 3; round += 1) {
    await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('Which day?')]);
    if (round < 3) await expect.poll(() => transport.sent.length).toBe(round + 1);
  }
  await expect.poll(() => told.notices[0]?.text).toMatch(/stuck in a loop/);
  expect(transport.sent).toHaveLength(3);
  expect(transport.cancelled).toEqual([id]);
});

test('a question in between starts the counting again, for answers of the user too', async () => {
  const { invoker, transport, told, ask } = await start();
  const { id } = await ask();
  for (const question of ['A?', 'A?', 'B?', 'A?', 'A?']) {
    await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text(question)]);
    await invoker.answer(id, 'yes');
  }
  expect(told.notices).toEqual([]);
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('A?')]);
  await invoker.answer(id, 'yes');
  expect(told.notices[0]?.text).toMatch(/stuck in a loop/);
});

test('an answer that cannot be sent leaves the question open', async () => {
  const { invoker, transport, ask } = await start();
  const { id } = await ask();
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  transport.failure = new LegateError('UNAVAILABLE', 'broker away');
  await expect(invoker.answer(id, 'noon')).rejects.toThrow('broker away');
  transport.failure = undefined;
  await invoker.answer(id, 'noon');
  expect(transport.sent).toHaveLength(2);
});

test('an answer that cannot be sent leaves the user the time they had', async () => {
  const { invoker, transport, clock, ask } = await start({ askTimeoutMs: 60 * 60_000 });
  const { id } = await ask({ timeoutMs: 60_000 });
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('Which?')]);
  transport.failure = new LegateError('PEER_UNREACHABLE', 'away');
  await expect(invoker.answer(id, 'this')).rejects.toThrow('away');
  clock.advance(59 * 60_000);
  // Whatever was due by then has run.
  await new Promise(setImmediate);
  expect((await invoker.find(id))?.state).toBe('asking');
  transport.failure = undefined;
  await invoker.answer(id, 'this');
  expect(transport.sent).toHaveLength(2);
});

test('a question that the user never answers ends in time', async () => {
  const { transport, told, clock, ask } = await start({ askTimeoutMs: 60_000 });
  const { id } = await ask();
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  clock.advance(60_000);
  await expect.poll(() => transport.cancelled).toEqual([id]);
  expect(told.notices).toHaveLength(1);
});

test('a waiting caller gets progress and outcome, and the conversation is not notified again', async () => {
  const { invoker, transport, told } = await start();
  const progress: string[] = [];
  const request = { agent: 'Bob', skill: 'echo', message: 'x' };
  const called = invoker.invokeAndWait(request, session, {
    onProgress: (said) => void progress.push(said),
  });
  await expect.poll(() => transport.sent.length).toBe(1);
  const id = transport.sent[0]?.id ?? '';
  await transport.tell(id, { kind: 'progress', text: 'on it' });
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  expect(await called).toMatchObject({ state: 'asking', question: { text: 'When?' } });
  await invoker.answer(id, 'noon');
  const waited = invoker.wait(id);
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('done'), data({ a: 1 })]);
  expect(await waited).toMatchObject({
    state: 'ended',
    outcome: { end: 'TASK_STATE_COMPLETED', text: 'done', data: [{ a: 1 }] },
  });
  expect(progress).toEqual(['on it']);
  expect(told).toMatchObject({ notices: [], questions: [] });
});

test('a status message that is delivered twice is passed on once', async () => {
  const { invoker, transport } = await start();
  const progress: string[] = [];
  const request = { agent: 'Bob', skill: 'echo', message: 'x' };
  const onProgress = (said: string) => void progress.push(said);
  const called = invoker.invokeAndWait(request, session, { onProgress });
  await expect.poll(() => transport.sent.length).toBe(1);
  const id = transport.sent[0]?.id ?? '';
  for (const text of ['one', 'two', 'one', 'two', 'three']) {
    await transport.tell(id, { kind: 'progress', text, id: `m-${text}` });
  }
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('done')]);
  await called;
  expect(progress).toEqual(['one', 'two', 'three']);
});

test('a waiting caller outlives a failure of the store, and of its progress callback', async () => {
  const store = openMemory();
  const { records } = store;
  const { invoker, transport, clock } = await start({ store });
  const request = { agent: 'Bob', skill: 'echo', message: 'x' };
  const { id } = await invoker.invoke(request, session, { mode: 'wait' });
  let failures = 0;
  const get = vi.spyOn(records, 'get').mockImplementationOnce(async () => {
    failures += 1;
    throw new LegateError('STORE_FAILED', 'the store is away');
  });
  const heard: string[] = [];
  const waited = invoker.wait(id, {
    onProgress(said) {
      heard.push(said);
      if (said === 'one') throw new Error('broken');
      return Promise.reject(new Error('broken as well'));
    },
  });
  await expect.poll(() => failures).toBe(1);
  get.mockRestore();
  clock.advance(1_000);
  for (const said of ['one', 'two']) await transport.tell(id, { kind: 'progress', text: said });
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('done')]);
  expect(await waited).toMatchObject({ state: 'ended' });
  expect(heard).toEqual(['one', 'two']);
});

test('a caller that aborts cancels the task, here and at the peer', async () => {
  const { invoker, transport } = await start();
  const controller = new AbortController();
  const request = { agent: 'Bob', skill: 'echo', message: 'x' };
  const called = invoker.invokeAndWait(request, session, { signal: controller.signal });
  await expect.poll(() => transport.sent.length).toBe(1);
  controller.abort(new Error('user left'));
  await expect(called).rejects.toThrow('user left');
  expect(transport.cancelled).toEqual([transport.sent[0]?.id]);
  expect(await invoker.list()).toEqual([]);
});

test('an answer that another process received reaches the waiting caller', async () => {
  const one = await start();
  const two = await start({ store: one.store, clock: one.clock });
  const { id } = await one.invoker.invoke({ agent: 'Bob', skill: 'echo', message: 'x' }, session, {
    mode: 'wait',
  });
  const waited = one.invoker.wait(id);
  await two.transport.answer(id, 'TASK_STATE_COMPLETED', [text('heard there')]);
  await expect
    .poll(async () => {
      one.clock.advance(1_000);
      return Promise.race([waited, Promise.resolve()]);
    })
    .toMatchObject({ outcome: { text: 'heard there' } });
});

test('a result that does not fit into working memory is told in words', async () => {
  const clock = new TestClock();
  const store = openMemory();
  const owner = ownerKey({ agent: 'me', tenant: '', subject: 'user' });
  const full = new WorkingMemory({ records: store.records, owner, clock, maxValueLength: 3 });
  const { transport, told, ask } = await start({ store, clock, memory: () => full });
  const { id } = await ask();
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('too long')]);
  expect(told.notices[0]?.text).toBe(
    `[Agent 'Bob' completed task ${id} (state=completed)]: too long`,
  );
});

/** A store that replicas share, with a clock that continues when that of a replica stands still. */
function sharedStore(clock: TestClock): Store {
  const [store] = openMemoryReplicas(1, { clock });
  if (store === undefined) throw new Error('no store');
  return store;
}

/** Clocks go in small steps, so that leases are renewed in time. */
const patient = { timeout: 10_000, interval: 20 };

test('a process that starts does not take over calls of a live process', async () => {
  const clock = new TestClock();
  const store = sharedStore(clock);
  const one = await start({ store, clock, transport: new FakeTransport(false) });
  const notified = await one.ask();
  const { id } = await one.invoker.invoke({ agent: 'Bob', skill: 'echo', message: 'x' }, session, {
    mode: 'wait',
  });
  const waited = one.invoker.wait(id);
  const { told } = one;
  const two = await start({ store, clock, told });
  expect([...two.transport.resumed, ...two.transport.sent]).toEqual([]);
  // What the other hears is for the one who waits, and the conversation is not told besides.
  await two.transport.answer(id, 'TASK_STATE_COMPLETED', [text('heard there')]);
  expect(told.notices).toEqual([]);
  await expect
    .poll(async () => {
      clock.advance(1_000);
      return Promise.race([waited, Promise.resolve()]);
    }, patient)
    .toMatchObject({ outcome: { text: 'heard there' } });
  await expect.poll(async () => (await one.invoker.find(id))?.isNotified).toBe(true);
  await two.transport.answer(notified.id, 'TASK_STATE_COMPLETED', [text('x')]);
  expect(told.notices).toHaveLength(1);
});

test('calls of a dead process are taken over by one other process', async () => {
  const clock = new TestClock();
  const store = sharedStore(clock);
  const dead = await start({ store, transport: new FakeTransport(false) });
  const working = await dead.ask();
  const waited = await dead.invoker.invoke({ agent: 'Bob', skill: 'echo', message: 'x' }, session, {
    mode: 'wait',
  });
  const { told } = dead;
  // The clock of the dead one stands still.
  const others: Awaited<ReturnType<typeof start>>[] = [];
  for (let count = 0; count < 2; count += 1) {
    const transport = new FakeTransport(false);
    others.push(await start({ store, told, clock, transport }));
  }
  const [two, three] = others;
  // It answers while it is not known yet that nobody waits any more.
  await two?.transport.answer(waited.id, 'TASK_STATE_COMPLETED', [text('for nobody')]);
  expect(told.notices).toEqual([]);
  const resumed = (): string[] => others.flatMap(({ transport }) => transport.resumed);
  await expect
    .poll(() => {
      clock.advance(1_000);
      return [resumed(), told.notices.map(({ id }) => id)];
    }, patient)
    .toEqual([[working.id], [`${waited.id} result`]]);
  await three?.transport.answer(working.id, 'TASK_STATE_COMPLETED', [text('done')]);
  expect(told.notices).toHaveLength(2);
});

/** A transport that cannot resume calls as often as it is told. */
class BrokenTransport extends FakeTransport {
  failures: number;

  constructor(failures: number) {
    super(false);
    this.failures = failures;
  }
  override async resume(invocation: Invocation): Promise<void> {
    this.failures -= 1;
    if (this.failures >= 0) throw new LegateError('UNAVAILABLE', 'not now');
    await super.resume(invocation);
  }
}

test('what could not be taken over from a process that is gone is tried again', async () => {
  const clock = new TestClock();
  const store = sharedStore(clock);
  const dead = await start({ store, transport: new FakeTransport(false) });
  const { id } = await dead.ask();
  const { told } = dead;
  const transport = new BrokenTransport(2);
  let looks = 0;
  const inner = store.records;
  const records: Store['records'] = {
    clock: inner.clock,
    get: (...input) => inner.get(...input),
    write: (...input) => inner.write(...input),
    increment: (...input) => inner.increment(...input),
    // The first look for what was left behind fails; the one at the start is for its own.
    list: async (query) => {
      if (query.space === 'invocations.open' && (looks += 1) === 2) {
        throw new LegateError('STORE_FAILED', 'away');
      }
      return inner.list(query);
    },
  };
  await start({ store, told, clock, transport, records });
  await expect
    .poll(() => {
      clock.advance(1_000);
      return transport.resumed;
    }, patient)
    .toEqual([id]);
  expect(transport.failures).toBe(-1);
});

test('what a process of its own could not take up when it started is tried again', async () => {
  const dead = await start({ transport: new FakeTransport(false) });
  const { id } = await dead.ask();
  await dead.die();
  const { store, told, clock } = dead;
  const transport = new BrokenTransport(1);
  await start({ store, told, clock, transport });
  expect(transport.resumed).toEqual([]);
  await expect
    .poll(() => {
      clock.advance(1_000);
      return transport.resumed;
    }, patient)
    .toEqual([id]);
});

test('what a peer said during a long outage of the store is fetched from its task, for the waiter too', async () => {
  const store = openMemory();
  let isAway = false;
  const records = new Proxy(store.records, {
    get(target, name: keyof RecordStore) {
      const member: unknown = target[name];
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...input: unknown[]) => Promise<unknown>;
      return async (...input: unknown[]) => {
        if (isAway) throw new LegateError('STORE_FAILED', 'away');
        return method(...input);
      };
    },
  });
  const { invoker, transport, clock, told } = await start({
    store,
    records,
    transport: new FakeTransport(false),
  });
  const invocation = await invoker.invoke(
    { agent: 'Bob', skill: 'echo', message: 'hello' },
    session,
    { mode: 'wait' },
  );
  const { id } = invocation;
  isAway = true;
  const answered = transport.answer(id, 'TASK_STATE_COMPLETED', [text('lost')]);
  let isLost = false;
  answered.catch(() => (isLost = true));
  await expect
    .poll(() => {
      clock.advance(5_000);
      return isLost;
    }, patient)
    .toBe(true);
  isAway = false;
  await expect
    .poll(() => {
      clock.advance(1_000);
      return transport.resumed;
    }, patient)
    .toEqual([id]);
  await transport.answer(id, 'TASK_STATE_COMPLETED', [text('again')]);
  expect((await invoker.wait(id)).outcome).toMatchObject({ text: 'again' });
  expect(told.notices).toEqual([]);
});

test('a wait that is abandoned looks at the store no more', async () => {
  const { invoker, transport, clock, store, ask } = await start();
  const { id } = await ask();
  const looked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let looks = 0;
  const find = store.records.get.bind(store.records);
  store.records.get = async (...input) => {
    looks += 1;
    looked.resolve();
    await gate.promise;
    return find(...input);
  };
  const giving = new AbortController();
  const left = expect(
    invoker.wait(id, {
      signal: AbortSignal.any([giving.signal]),
    }),
  ).rejects.toBeDefined();
  await looked.promise;
  giving.abort({ handsOver: true });
  await left;
  gate.resolve();
  await transport.tell(id, { kind: 'progress', text: 'still at it' });
  const before = looks;
  clock.advance(10_000);
  await transport.tell(id, { kind: 'progress', text: 'and more' });
  expect(looks).toBe(before + 1);
});

test('a process that stops leaves at once, and what it asked the user is not asked again', async () => {
  const clock = new TestClock();
  const store = sharedStore(clock);
  const one = await start({ store, clock });
  const { told } = one;
  const two = await start({ store, clock, told });
  const { id } = await one.invoker.invoke({ agent: 'Bob', skill: 'echo', message: 'x' }, session, {
    mode: 'wait',
  });
  await one.transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('When?')]);
  const notified = await one.ask();
  await one.invoker.stop();
  await expect
    .poll(() => {
      clock.advance(1_000);
      return two.transport.resumed;
    }, patient)
    .toEqual([notified.id]);
  expect(told.questions).toEqual([]);
  await two.invoker.answer(id, 'noon');
  const waited = two.invoker.wait(id);
  await two.transport.answer(id, 'TASK_STATE_COMPLETED', [text('done')]);
  expect(await waited).toMatchObject({ outcome: { text: 'done' } });
  expect(told.notices).toEqual([]);
});

test.each(['memory', 'sqlite'] as const)(
  'an invocation costs the store the same however many came before (%s)',
  async (type) => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'peers.db');
    const store = type === 'memory' ? openMemory() : await openStore({ type, path });
    let [calls, rows] = [0, 0];
    const counted: RecordStore = {
      clock: store.clock,
      get: async (...input) => {
        calls += 1;
        const found = await store.records.get(...input);
        rows += found === undefined ? 0 : 1;
        return found;
      },
      list: async (query) => {
        calls += 1;
        const found = await store.records.list(query);
        rows += found.length;
        return found;
      },
      write: (writes, now) => {
        calls += writes.length;
        return store.records.write(writes, now);
      },
      increment: (counter) => store.records.increment(counter),
    };
    const { invoker, transport, ask } = await start({ store, records: counted });
    await using _closed = {
      async [Symbol.asyncDispose]() {
        await invoker.stop();
        await store.close();
      },
    };
    async function costOfOne() {
      [calls, rows] = [0, 0];
      const { id } = await ask();
      await transport.answer(id, 'TASK_STATE_COMPLETED', []);
      return { calls, rows };
    }
    const first = await costOfOne();
    for (let before = 1; before < 500; before += 1) await costOfOne();
    expect(await costOfOne()).toEqual(first);
  },
);

test('what is open in a conversation is known after its deadline was moved, and not once it is over', async () => {
  const { invoker, transport, clock, ask } = await start({ maxInFlight: 2 });
  const { id } = await ask();
  await transport.answer(id, 'TASK_STATE_INPUT_REQUIRED', [text('which one?')]);
  clock.advance(23 * 60 * 60_000);
  const second = await ask();
  expect((await invoker.list(session)).map((each) => each.id).toSorted()).toEqual(
    [id, second.id].toSorted(),
  );
  await expect(ask()).rejects.toThrow(/2 agent tasks of this conversation are in flight/);
  await invoker.cancel(id);
  expect((await invoker.list(session)).map((each) => each.id)).toEqual([second.id]);
  const elsewhere = { id: 'c1', caller: { ...caller, subject: 'somebody else' } };
  expect(await invoker.list(elsewhere)).toEqual([]);
});

test('a call that cannot be read is an error that says so, and keeps no other from being taken over', async () => {
  const store = openMemory();
  const clock = new TestClock();
  const first = await start({ store, clock });
  const bad = await first.ask();
  const good = await first.ask();
  const value = Json.of<JsonValue>({ id: bad.id, state: 'somewhere' });
  await store.records.write([{ space: 'invocations', key: `me\n${bad.id}`, value }], clock.now());
  await expect(first.invoker.find(bad.id)).rejects.toMatchObject({ code: 'STORE_VERSION' });
  await first.invoker.stop();
  const transport = new FakeTransport(false);
  const second = await start({ store, clock, transport });
  expect(transport.resumed).toEqual([good.id]);
  expect(await second.invoker.find(good.id)).toMatchObject({ state: 'working' });
});

/** What `peers:` of endpoints.yml gives to each kind of agent, in one process with a bus in memory. */
import { expect, onTestFinished, test } from 'vitest';
import { projectFolder } from '../../test/support/greenhouse.ts';
import { type Agent, agent, completed, inputRequired, llmAgent, textOf } from '../agents/index.ts';
import { type Bus, busLink, hostOnBus, openBus } from '../bus/index.ts';
import { createModel, type Script, startScriptedModelServer } from '../models/index.ts';
import { joinPeers, type PeerNetwork, peerSubject } from '../peers/index.ts';
import { openMemory, openStore, type Store, type StoreOptions } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { readEndpoints } from './endpoints.ts';
import { loadAgent } from './load-agent.ts';
import { openCommandPeers } from './peers.ts';
import { agentModule, legate, slow } from './testing.contract.ts';

const session = { id: 'chat', caller: { tenant: '', subject: 'user', method: 'local' } };

/** Asks for a year, then tells what it found. */
const archive = agent({ name: 'archive', description: 'Finds old records' }, async (turn) =>
  turn.isContinuation
    ? completed(`3 records of ${textOf(turn.message)}`)
    : inputRequired('Which year?'),
);

async function memoryBus(): Promise<Bus> {
  const bus = await openBus({ type: 'memory' });
  onTestFinished(() => bus[Symbol.asyncDispose]());
  return bus;
}

async function folderOf(files: Readonly<Record<string, string>>) {
  const folder = await projectFolder(files);
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder;
}

interface Configured {
  readonly bus: Bus;
  /** The text of `peers:`. */
  readonly peers: string;
  readonly storage?: StoreOptions;
  readonly usePeers?: ((network: PeerNetwork) => void) | undefined;
}

/** Hosts an agent as `legate work` does; `stop` ends it as SIGTERM does. */
async function host(hosted: Agent, { bus, peers, storage, usePeers }: Configured) {
  const { name } = hosted;
  const folder = await folderOf({ 'endpoints.yml': `peers: ${peers}\n` });
  const endpoints = await readEndpoints(folder.directory, {});
  const options = storage ?? { type: 'memory' };
  const store: Store = await openStore(options);
  const opened = await openCommandPeers({
    endpoints,
    name,
    store,
    storage: options,
    logger: silentLogger,
    bus,
  });
  const { network } = opened;
  if (network === undefined) throw new Error('no peers');
  usePeers?.(network);
  const hosting = await hostOnBus(opened.wrap(hosted), { bus, store });
  await opened.start(hosting.engine);
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await hosting.close();
    await opened[Symbol.asyncDispose]();
    await store.close();
  };
  onTestFinished(stop);
  return { network, hosting, stop };
}

async function callerOn(bus: Bus, name: string): Promise<PeerNetwork> {
  const me = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown: [{ name }],
  });
  onTestFinished(() => me.close());
  return me;
}

async function modelServer(script: Script) {
  const server = await startScriptedModelServer(script);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const entry = { provider: 'openai', model: 'scripted', api_key: 'k', api_base: server.url };
  return { server, model: createModel({ id: 'main', models: [entry] }) };
}

function calling(name: string, input: Readonly<Record<string, string>>) {
  return { toolCalls: [{ name, input }] };
}

test('a model finds a peer, calls it, passes its question on and remembers the answer', async () => {
  const bus = await memoryBus();
  await using _archive = await hostOnBus(archive, { bus });
  const { server, model } = await modelServer([
    calling('search_known_services', { query: 'old records' }),
    calling('list_known_agents', {}),
    calling('get_agent_details', { agent_name: 'archive' }),
    calling('invoke_agent', { agent_name: 'archive', skill: 'archive', message: 'bees' }),
    calling('save_to_working_memory', { key: 'bees', data: '3 records' }),
    calling('get_from_working_memory', { key: 'bees' }),
    'The archive has 3 records.',
  ]);
  await host(llmAgent({ name: 'desk', model }), { bus, peers: '{well_known: [archive]}' });
  const me = await callerOn(bus, 'desk');
  const asked = await me.call({ agent: 'desk', message: 'What is there on bees?' }, session);
  if (asked.state !== 'input-required') throw new Error(JSON.stringify(asked));
  expect(asked.question).toContain('Which year?');
  const done = await asked.answer('1901');
  expect(done).toMatchObject({ state: 'completed', text: 'The archive has 3 records.' });
  const [first, found, listed, described, invoked, saved, read] = server.requests;
  expect(first?.tools).toEqual(expect.arrayContaining(['invoke_agent', 'search_working_memory']));
  const results = [found, listed, described, invoked, saved, read].map(
    (request) => request?.messages.findLast(({ role }) => role === 'tool')?.text,
  );
  expect(results).toEqual([
    expect.stringContaining('archive'),
    expect.stringContaining('Finds old records'),
    expect.stringContaining('"isWellKnown":true'),
    expect.stringContaining('3 records of 1901'),
    expect.stringContaining('bees'),
    expect.stringContaining('3 records'),
  ]);
});

test('a step of a flow calls a peer, and the user answers its question', async () => {
  const bus = await memoryBus();
  await using _archive = await hostOnBus(archive, { bus });
  const folder = await folderOf({
    'config.yml':
      'recipe: default.v1\nlanguage: en\nassistant_id: clerk\npipeline:\n  - name: MatchingCommandGenerator\n',
    'domain.yml': 'version: "3.1"\nresponses:\n  utter_found:\n    - text: That is all there is.\n',
    'data/flows.yml': `
flows:
  find_records:
    name: find records
    description: Find records in the archive.
    steps:
      - call: archive
      - action: utter_found
`,
    'endpoints.yml': 'peers: {well_known: [archive]}\n',
  });
  const { agent: clerk, usePeers } = await loadAgent(folder.directory, { logger: silentLogger });
  await host(clerk, { bus, peers: '{well_known: [archive]}', usePeers });
  const me = await callerOn(bus, clerk.name);
  const asked = await me.call({ agent: clerk.name, message: 'find records' }, session);
  if (asked.state !== 'input-required') throw new Error(JSON.stringify(asked));
  expect(asked.question).toContain('Which year?');
  const done = await asked.answer('1901');
  const text = done.state === 'completed' ? done.text : JSON.stringify(done);
  expect(text).toContain('3 records of 1901');
  expect(text).toContain('That is all there is.');
});

test('a peer that cannot be reached is a failed result, in a turn that runs again too', async () => {
  const bus = await memoryBus();
  await using _archive = await hostOnBus(archive, { bus });
  const desk = agent({ name: 'desk' }, async ({ peers }) => {
    const absent = await peers.call({ agent: 'absent', message: 'bees' });
    const found = await peers.call({ agent: 'archive', message: 'bees' });
    return found.state === 'completed' ? completed(`${absent.state}, ${found.text}`) : found.end;
  });
  await host(desk, { bus, peers: '{well_known: [absent, archive]}' });
  const me = await callerOn(bus, 'desk');
  const asked = await me.call({ agent: 'desk', message: 'go' }, session);
  if (asked.state !== 'input-required') throw new Error(JSON.stringify(asked));
  const text = 'failed, 3 records of 1901';
  expect(await asked.answer('1901')).toMatchObject({ state: 'completed', text });
});

test('with answered_by: trusted_agent the agent answers peers that it trusts to act', async () => {
  const bus = await memoryBus();
  await using _archive = await hostOnBus(archive, { bus });
  const desk = agent({ name: 'desk' }, async ({ peers, message }) => {
    if (textOf(message).includes('Which year?')) return completed('1901');
    const found = await peers.call({ agent: 'archive', skill: 'archive', message: 'bees' });
    return found.state === 'completed' ? completed(found.text) : found.end;
  });
  const peers = '{well_known: [archive], questions: {answered_by: trusted_agent}}';
  const { network } = await host(desk, { bus, peers });
  const me = await callerOn(bus, 'desk');
  const asked = await me.call({ agent: 'desk', message: 'go' }, session);
  expect(asked).toMatchObject({ state: 'input-required', question: 'Which year?' });
  await network.trust.grant(peerSubject('archive'), {
    level: 'act',
    skills: ['archive'],
    by: 'ada',
  });
  const done = await me.call({ agent: 'desk', message: 'go' }, session);
  expect(done).toMatchObject({ state: 'completed', text: '3 records of 1901' });
});

test('the known agents of another program are imported, listed and removed', slow, async () => {
  const known = [
    {
      card: {
        agentName: 'Archive',
        description: 'Finds old records',
        skills: [{ id: 'find', name: 'Find' }],
        isDeregistering: false,
      },
      lastSeenAt: '2026-11-17T09:30:00+00:00',
      llmSummary: null,
    },
    {
      card: {
        agentName: 'bob',
        url: 'https://bob.example',
        authHeaderName: 'X-Api-Key',
        authHeaderValueBase64: 'c2VjcmV0',
        skills: [{ id: 'latin', name: 'Latin' }],
      },
      lastSeenAt: '2026-11-17T09:30:00+00:00',
    },
    { card: { agentName: 'desk', skills: [] } },
  ];
  const folder = await folderOf({
    'agent.ts': agentModule('desk'),
    'known-agents.json': JSON.stringify(known),
    'broken.json': '[{"card": {}}]',
  });
  const peers = (...args: string[]) => legate(['peers', ...args], { cwd: folder.directory });
  const file = folder.path('known-agents.json');
  expect(await peers('import', file, 'agent.ts')).toMatchObject({
    code: 0,
    out: 'Added to desk: 2, known already: 1\n',
  });
  const { out } = await peers('list', 'agent.ts');
  expect(out.trim().split('\n')).toEqual([
    expect.stringMatching(/^Archive {2}registered {2}bus {2}.* ago {2}find$/),
    expect.stringMatching(/^bob {2}registered {2}https:\/\/bob\.example {2}.* ago {2}latin$/),
  ]);
  expect(out).not.toContain('secret');
  expect((await peers('remove', 'bob', 'agent.ts')).code).toBe(0);
  expect((await peers('list', 'agent.ts', '--json')).out).not.toContain('bob');
  const refused = await peers('import', folder.path('broken.json'), 'agent.ts');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain('0.card.agentName');
});

test('an answer that comes while the process is down reaches its conversation after the start', async () => {
  const bus = await memoryBus();
  const folder = await folderOf({});
  const storage = { type: 'sqlite', path: folder.path('desk.db') } as const;
  const { server, model } = await modelServer(({ promptText }) => {
    if (promptText.includes('3 records of bees')) return 'Here they are.';
    const [, key] = /get_from_working_memory with key '(.*)'/.exec(promptText) ?? [];
    if (key !== undefined) return calling('get_from_working_memory', { key });
    if (promptText.includes('Task dispatched')) return 'I have asked the archive.';
    return calling('invoke_agent', { agent_name: 'archive', skill: 'archive', message: 'bees' });
  });
  const configured = { bus, storage, peers: '{well_known: [archive], tools: dispatch}' };
  const finder = agent({ name: 'archive' }, async (turn) =>
    completed(`3 records of ${textOf(turn.message)}`),
  );
  // Declares the queue: the task waits for the archive.
  await (await hostOnBus(finder, { bus })).close();
  const before = await host(llmAgent({ name: 'desk', model }), configured);
  const me = await callerOn(bus, 'desk');
  const told = await me.call({ agent: 'desk', message: 'What is there on bees?' }, session);
  expect(told).toMatchObject({ state: 'completed', text: 'I have asked the archive.' });
  await before.stop();
  const asked = server.requests.length;
  const working = await hostOnBus(finder, { bus, once: true });
  expect(await working.finished).toMatchObject({ kind: 'answered', isSuccess: true });
  await working.close();
  expect(server.requests).toHaveLength(asked);
  await host(llmAgent({ name: 'desk', model }), configured);
  await expect.poll(() => server.requests.length, { timeout: 10_000 }).toBe(asked + 2);
  // The same conversation: it continues from what was said before.
  const { promptText = '' } = server.requests.at(-1) ?? {};
  expect(promptText).toContain('What is there on bees?');
  expect(promptText).toContain('3 records of bees');
});

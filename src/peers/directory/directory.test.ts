import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startScriptedModelServer } from '../../models/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import { openMemory, RecordSpace, type Store } from '../../store/index.ts';
import { runTool, TestClock, testPeer } from '../testing.contract.ts';
import { busInterface } from './transport-kind.ts';
import { Directory, type DirectoryOptions } from './directory.ts';
import { directoryTools } from './directory-tools.ts';
import { readKnownAgents, readWellKnownAgents } from './directory-files.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

const hour = 60 * 60 * 1000;

async function start(options: Partial<DirectoryOptions> & { store?: Store } = {}) {
  const clock = (options.scheduler as TestClock | undefined) ?? new TestClock();
  const store = options.store ?? openMemory();
  const directory = new Directory({ records: store.records, scheduler: clock, ...options });
  cleanups.push(() => directory.stop());
  await directory.start();
  return { directory, clock, store };
}

function card(name: string, skills: readonly string[] = ['echo'], more: object = {}): AgentCard {
  return {
    name,
    description: `The agent ${name}`,
    version: '1',
    supportedInterfaces: [busInterface(name)],
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: skills.map((id) => ({ id, name: id, description: `does ${id}`, tags: [id] })),
    ...more,
  };
}

const here = (announced: unknown, sender?: string) => ({ card: announced, isGone: false, sender });
const gone = (announced: unknown, sender?: string) => ({ card: announced, isGone: true, sender });

test('an announced agent is known until it goes, or falls silent', async () => {
  const { directory, clock } = await start();
  await directory.announced(here(card('Bob')));
  clock.advance(3 * 60_000);
  expect(await directory.find('bOB')).toMatchObject({
    name: 'Bob',
    origin: 'announced',
    lastSeen: '3m ago',
    hasCredential: false,
  });
  await directory.announced(here(card('Bob', ['new'])));
  expect((await directory.list())[0]).toMatchObject({ lastSeen: 'just now' });
  expect(await directory.list({ skill: 'NEW' })).toHaveLength(1);
  expect(await directory.list({ skill: 'echo' })).toEqual([]);
  await directory.announced(gone(card('Bob')));
  expect(await directory.list()).toEqual([]);
  await directory.announced(here(card('Bob')));
  clock.advance(25 * hour);
  expect(await directory.list()).toEqual([]);
});

test.each([
  [59_000, 'just now'],
  [60_000, '1m ago'],
  [59 * 60_000, '59m ago'],
  [hour, '1h ago'],
  [23 * hour, '23h ago'],
  [49 * hour, '2d ago'],
])('after %i ms an agent was last seen %s', async (ms, text) => {
  const { directory, clock } = await start({ expiresAfterMs: 100 * hour });
  await directory.announced(here(card('Bob')));
  clock.advance(ms);
  expect((await directory.find('Bob'))?.lastSeen).toBe(text);
});

test('agents that share a store have a directory each', async () => {
  const store = openMemory();
  const desk = { store, self: 'desk', wellKnown: [{ name: 'archive' }] };
  const shop = { store, self: 'shop', wellKnown: [{ name: 'bank' }] };
  const first = await start(desk);
  const second = await start(shop);
  await second.directory.register({
    name: 'till',
    card: card('till'),
    credential: { headerName: 'X-Api-Key', headerValue: 'secret' },
  });
  await first.directory.announced(here(card('Bob')));
  first.directory.stop();
  second.directory.stop();
  const names = async ({ directory }: { directory: Directory }) =>
    (await directory.list()).map(({ name }) => name);
  expect(await names(await start(desk))).toEqual(['archive', 'Bob']);
  expect(await names(await start(shop))).toEqual(['bank', 'till']);
  expect(await first.directory.credential('till')).toBe(undefined);
});

test('registered peers of a store whose agents shared one directory are kept', async () => {
  const { records } = openMemory();
  const before = new RecordSpace({
    records,
    space: 'peers',
    schema: z.looseObject({}),
    clock: new TestClock(),
  });
  const credentials = new RecordSpace({
    records,
    space: 'peer-credentials',
    schema: z.looseObject({}),
    clock: new TestClock(),
  });
  const bob = { name: 'Bob', card: card('Bob'), origin: 'registered', cardSource: 'override' };
  const credential = { headerName: 'X-Api-Key', headerValue: 'secret' };
  await before.write(before.toWrite('bob', bob));
  await credentials.write(credentials.toWrite('bob', credential));
  const { directory } = await start({ records, self: 'desk' });
  expect(await directory.find('bob')).toMatchObject({ name: 'Bob', hasCredential: true });
  expect(await before.values()).toEqual([]);
});

test('our own announcement is ignored, and an invalid card is refused', async () => {
  const { directory } = await start({ self: 'Me' });
  await directory.announced(here(card('me')));
  expect(await directory.list()).toEqual([]);
  await expect(directory.announced(here({}))).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
  await expect(directory.announced(here(null))).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
});

test('a shared list of well-known peers may contain the agent itself', async () => {
  const { directory } = await start({ self: 'Me', wellKnown: [{ name: 'me' }, { name: 'bob' }] });
  expect((await directory.list()).map(({ name }) => name)).toEqual(['bob']);
});

test('the number of announced agents is bounded', async () => {
  const { directory } = await start({ maxAnnounced: 2 });
  await directory.announced(here(card('a')));
  await directory.announced(here(card('b')));
  await expect(directory.announced(here(card('c')))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
  });
  await directory.announced(here(card('a')));
});

test('an announcement cannot send our calls elsewhere', async () => {
  const { directory } = await start();
  const elsewhere = {
    url: 'http://evil.example',
    protocolBinding: 'JSONRPC',
    protocolVersion: '1.0',
  };
  const interfaces = [elsewhere, busInterface('Other'), busInterface('Bob')];
  await directory.announced(here(card('Bob', ['x'], { supportedInterfaces: interfaces })));
  expect((await directory.find('Bob'))?.card.supportedInterfaces).toEqual([busInterface('Bob')]);
  const only = card('Eve', ['x'], { supportedInterfaces: [elsewhere] });
  await expect(directory.announced(here(only))).rejects.toThrow(/no interface on the bus/);
});

test('a signed card may name other places, and an unsigned one can be refused', async () => {
  const verifyCard = async (json: unknown): Promise<unknown> => {
    if ((json as { signatures?: unknown }).signatures === undefined) throw new Error('unsigned');
    return json;
  };
  const { directory } = await start({ verifyCard, requireSignedCards: true });
  await expect(directory.announced(here(card('Bob')))).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
  const web = { url: 'https://bob.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
  const signed = card('Bob', ['x'], { signatures: [], supportedInterfaces: [web] });
  await directory.announced(here(signed));
  expect((await directory.find('Bob'))?.card.supportedInterfaces).toEqual([web]);
  expect(() => new Directory({ records: openMemory().records, requireSignedCards: true })).toThrow(
    /set verifyCard/,
  );
});

test('an unverified peer does not replace or remove a verified one', async () => {
  const { directory } = await start();
  await directory.announced(here(card('Bob', ['true']), 'Bob'));
  await expect(directory.announced(here(card('Bob', ['false'])))).rejects.toThrow(
    /with a signature before/,
  );
  await expect(directory.announced(gone(card('Bob')))).rejects.toThrow(/with a signature before/);
  await expect(directory.announced(here(card('Bob'), 'Eve'))).rejects.toThrow(/another agent/);
  expect((await directory.find('Bob'))?.card.skills[0]?.id).toBe('true');
  await directory.announced(gone(card('Bob'), 'Bob'));
  expect(await directory.find('Bob')).toBe(undefined);
});

test('an announcement signed before the last one is ignored', async () => {
  const { directory } = await start();
  const at = (ms: number) => ({ sender: 'Bob', at: ms });
  await directory.announced({ ...here(card('Bob', ['new'])), ...at(2_000) });
  for (const old of [here(card('Bob', ['old'])), gone(card('Bob'))]) {
    await expect(directory.announced({ ...old, ...at(1_000) })).rejects.toThrow(
      /newer announcement/,
    );
    // Nor is what does not say when it was signed.
    await expect(directory.announced({ ...old, sender: 'Bob' })).rejects.toThrow(
      /newer announcement/,
    );
  }
  expect((await directory.find('Bob'))?.card.skills[0]?.id).toBe('new');
  await directory.announced({ ...gone(card('Bob')), ...at(2_000) });
  expect(await directory.find('Bob')).toBe(undefined);
});

test('an unverified peer does not describe a verified well-known agent', async () => {
  const { directory } = await start({ wellKnown: [{ name: 'Job' }] });
  await directory.announced(here(card('Job', ['unproved'])));
  await directory.announced(here(card('Job', ['true']), 'Job'));
  await expect(directory.announced(here(card('Job', ['false'])))).rejects.toThrow(
    /with a signature before/,
  );
  expect(await directory.find('Job')).toMatchObject({
    origin: 'well-known',
    card: { skills: [{ id: 'true' }] },
  });
});

test('a well-known agent is fetched from its address, and stays there whatever is announced', async () => {
  await using peer = await testPeer(({ path }) =>
    path === '/.well-known/agent-card.json'
      ? {
          json: card('Whatever', ['fetched'], {
            supportedInterfaces: [
              { url: 'https://evil.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
            ],
          }),
        }
      : { status: 404 },
  );
  const credential = { headerName: 'X-Api-Key', headerValue: 'secret' };
  const { directory } = await start({ wellKnown: [{ name: 'Bob', url: peer.url, credential }] });
  const found = await directory.find('bob');
  expect(found).toMatchObject({
    name: 'Bob',
    origin: 'well-known',
    cardSource: 'fetched',
    hasCredential: true,
    lastSeen: 'just now (well-known)',
    card: { name: 'Bob', skills: [{ id: 'fetched' }] },
  });
  // Neither the card nor an announcement leads our credentials elsewhere.
  const own = [{ url: peer.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  expect(found?.card.supportedInterfaces).toEqual(own);
  const elsewhere = {
    url: 'https://evil.example',
    supportedInterfaces: [busInterface('Bob')],
  };
  await directory.announced(here(card('Bob', ['announced'], elsewhere), 'Bob'));
  expect(await directory.find('Bob')).toMatchObject({
    origin: 'well-known',
    url: peer.url,
    card: { skills: [{ id: 'fetched' }], supportedInterfaces: own },
  });
  expect(await directory.credential('Bob')).toEqual(credential);
  await directory.announced(gone(card('Bob'), 'Bob'));
  expect(await directory.find('Bob')).toBeDefined();
  await expect(directory.register({ name: 'BOB', url: 'http://x' })).rejects.toThrow(/well-known/);
  await expect(directory.unregister('Bob')).rejects.toThrow(/remove it from the configuration/);
});

test('a well-known agent that cannot be reached is a skeleton that can be called', async () => {
  const { directory } = await start({
    wellKnown: [{ name: 'Bob', url: 'http://127.0.0.1:1' }, { name: 'Job' }],
  });
  expect(await directory.find('Bob')).toMatchObject({
    cardSource: 'none',
    lastSeen: 'well-known (not yet seen this session)',
    card: { skills: [], supportedInterfaces: [{ url: 'http://127.0.0.1:1' }] },
  });
  // One that is on the bus only tells what it can do when it first comes up.
  expect(await directory.find('Job')).toMatchObject({
    lastSeen: 'well-known (not yet seen this session)',
    card: { skills: [], supportedInterfaces: [busInterface('Job')] },
  });
  await directory.announced(here(card('Job', ['work'])));
  await directory.announced(gone(card('Job', ['work'])));
  expect(await directory.find('Job')).toMatchObject({
    lastSeen: 'just now (well-known)',
    card: { skills: [{ id: 'work' }] },
  });
});

test('an offline override is taken as it is and never fetched', async () => {
  await using peer = await testPeer(() => ({ json: card('Bob', ['real']) }));
  const json = JSON.stringify([
    { agentName: 'Bob', url: peer.url, skills: [{ id: 'pinned', name: 'Pinned' }] },
  ]);
  const { directory, clock } = await start({ wellKnown: readWellKnownAgents(json) });
  clock.advance(5 * hour);
  expect(await directory.refresh('Bob')).toEqual({
    agentName: 'Bob',
    refreshed: false,
    skillsChanged: false,
    skillCount: 1,
    reason: 'offline override',
  });
  expect((await directory.find('Bob'))?.card.skills[0]?.id).toBe('pinned');
  expect(peer.asked).toEqual([]);
});

test('cards are fetched again every four hours, and kept when that fails', async () => {
  let skills = ['one'];
  let isUp = true;
  await using peer = await testPeer(() => (isUp ? { json: card('Bob', skills) } : { status: 503 }));
  const { directory, clock } = await start({ wellKnown: [{ name: 'Bob', url: peer.url }] });
  skills = ['one', 'two'];
  clock.advance(4 * hour);
  await expect.poll(async () => (await directory.find('Bob'))?.card.skills.length).toBe(2);
  skills = ['three'];
  expect(await directory.refresh('Bob')).toMatchObject({ refreshed: true, skillsChanged: true });
  isUp = false;
  expect(await directory.refresh('Bob')).toMatchObject({ refreshed: false, skillCount: 1 });
});

test('a restart keeps known agents, and drops those that the configuration no longer names', async () => {
  const store = openMemory();
  const clock = new TestClock();
  const first = await start({
    store,
    scheduler: clock,
    wellKnown: [{ name: 'Old' }, { name: 'Kept' }],
  });
  await first.directory.announced(here(card('Bob')));
  await first.directory.announced(here(card('Kept', ['known'])));
  first.directory.stop();
  clock.advance(1_000);
  const { directory } = await start({ store, scheduler: clock, wellKnown: [{ name: 'Kept' }] });
  expect((await directory.list()).map(({ name }) => name)).toEqual(['Bob', 'Kept']);
  expect(await directory.find('Kept')).toMatchObject({
    lastSeen: 'well-known (not yet seen this session)',
    card: { skills: [{ id: 'known' }] },
  });
  // One that is only read, as by a command, has no session.
  const read = new Directory({ records: store.records, scheduler: clock });
  expect(await read.find('Kept')).toMatchObject({ lastSeen: 'just now (well-known)' });
});

test('a plain agent at /tasks/send is known by its own kind of card', async () => {
  await using peer = await testPeer(({ path }) =>
    path === '/.well-known/agent.json'
      ? { json: { agentName: 'Sample', skills: [{ id: 'echo' }], description: 'x' } }
      : { status: 404 },
  );
  const { directory } = await start({ wellKnown: [{ name: 'Sample', url: peer.url }] });
  expect((await directory.find('Sample'))?.card).toMatchObject({
    skills: [{ id: 'echo' }],
    supportedInterfaces: [{ url: peer.url, protocolBinding: 'urn:legate:binding:tasks-send' }],
  });
});

test('what a model registers may not be in places where only the operator sends us', async () => {
  const { directory } = await start({
    strangerPolicy: { schemes: ['https'], allowLoopback: false, allowPrivate: false },
  });
  await expect(directory.register({ name: 'X', url: 'http://127.0.0.1:1' })).rejects.toThrow();
  await expect(directory.register({ name: 'X', url: 'http://10.0.0.1' })).rejects.toThrow();
  expect(await directory.list()).toEqual([]);
});

test('a peer that is registered again without a credential has none', async () => {
  await using first = await testPeer(() => ({ json: card('Bob') }));
  await using second = await testPeer(() => ({ json: card('Bob') }));
  const { directory } = await start();
  const credential = { headerName: 'X-Api-Key', headerValue: 'secret' };
  await directory.register({ name: 'Bob', url: first.url, credential });
  await directory.refresh('Bob');
  await directory.register({ name: 'bob', url: second.url });
  expect(await directory.refresh('Bob')).toMatchObject({ refreshed: true });
  expect(await directory.credential('Bob')).toBe(undefined);
  const sent = ({ asked }: typeof first) => asked.map(({ headers }) => headers['x-api-key']);
  expect(sent(first)).toEqual(['secret', 'secret']);
  expect(sent(second)).toEqual([undefined, undefined]);
});

test('a refresh neither restores a removed peer nor reverts one that was registered again', async () => {
  let meanwhile = async (): Promise<unknown> => undefined;
  await using first = await testPeer(async () => {
    await meanwhile();
    return { json: card('Bob', ['first']) };
  });
  await using second = await testPeer(() => ({ json: card('Bob', ['second']) }));
  const { directory } = await start();
  await directory.register({ name: 'Bob', url: first.url });
  meanwhile = () => directory.register({ name: 'Bob', url: second.url });
  const dropped = { refreshed: false, reason: expect.stringMatching(/removed or registered/) };
  expect(await directory.refresh('Bob')).toMatchObject(dropped);
  expect(await directory.find('Bob')).toMatchObject({
    url: second.url,
    card: { skills: [{ id: 'second' }] },
  });
  meanwhile = async () => undefined;
  await directory.register({ name: 'Bob', url: first.url });
  meanwhile = () => directory.unregister('Bob');
  expect(await directory.refresh('Bob')).toMatchObject(dropped);
  expect(await directory.find('Bob')).toBe(undefined);
});

test('an announcement does not revert a peer that is registered meanwhile', async () => {
  const store = openMemory();
  const { records } = store;
  const { directory } = await start({ store });
  const list = records.list.bind(records);
  vi.spyOn(records, 'list').mockImplementationOnce(async (query) => {
    await directory.register({ name: 'Bob', card: card('Bob', ['registered']) });
    return list(query);
  });
  await directory.announced(here(card('Bob', ['announced'])));
  expect(await directory.find('Bob')).toMatchObject({
    origin: 'registered',
    card: { skills: [{ id: 'registered' }] },
  });
});

test('an unknown name is told with what there is', async () => {
  const { directory } = await start();
  await expect(directory.require('Bob')).rejects.toThrow(/none is known yet/);
  await directory.announced(here(card('Robert')));
  await expect(directory.require('Robret')).rejects.toThrow(/did you mean "Robert"/);
  await expect(directory.require('Zoe')).rejects.toThrow(/known are Robert/);
});

test('files of other programs are read, with the place of what is wrong', () => {
  const value = Buffer.from('alice-calls-bob').toString('base64');
  const peers = readWellKnownAgents(
    JSON.stringify([
      { agentName: 'ResearchAgent', url: 'http://researchagent:5100' },
      {
        agentName: 'Bob',
        url: 'http://b',
        authHeaderName: 'X-Api-Key',
        authHeaderValueBase64: value,
      },
      { agentName: 'Job' },
    ]),
  );
  expect(peers).toEqual([
    { name: 'ResearchAgent', url: 'http://researchagent:5100' },
    {
      name: 'Bob',
      url: 'http://b',
      credential: { headerName: 'X-Api-Key', headerValue: 'alice-calls-bob' },
    },
    { name: 'Job' },
  ]);
  expect(() => readWellKnownAgents('{')).toThrow(/not JSON/);
  expect(() => readWellKnownAgents('[{"url":"x"}]')).toThrow(/0\.agentName/);
  const half = '[{"agentName":"a","authHeaderName":"x"}]';
  expect(() => readWellKnownAgents(half)).toThrow(/both authHeaderName and/);
  const secret = '[{"agentName":"a","authHeaderName":"x","authHeaderValueBase64":"s3cret!"}]';
  expect(() => readWellKnownAgents(secret)).toThrow(/not base64/);
  expect(() => readWellKnownAgents(secret)).not.toThrow(/s3cret/);
});

test('a directory of another program is taken over', async () => {
  const known = readKnownAgents(
    JSON.stringify([
      {
        card: {
          agentName: 'Old',
          skills: [{ id: 's' }],
          url: 'http://old',
          protocolVersion: '1.0',
        },
        lastSeenAt: '2026-01-01T00:00:00Z',
        llmSummary: null,
      },
      { card: { agentName: 'OnBus', skills: [{ id: 's' }] } },
      { card: { agentName: 'Bare' } },
    ]),
  );
  const { directory } = await start();
  expect(await directory.import(known)).toBe(3);
  expect(await directory.import(known)).toBe(0);
  expect((await directory.find('Old'))?.card).toMatchObject({
    skills: [{ id: 's' }],
    supportedInterfaces: [{ url: 'http://old', protocolVersion: '1.0' }],
  });
  for (const name of ['OnBus', 'Bare']) {
    const found = await directory.find(name);
    expect(found?.card.supportedInterfaces).toEqual([busInterface(name)]);
  }
});

test('the search covers agents and tool servers, in any script, and says how well they fit', async () => {
  const { directory } = await start();
  await directory.announced(here(card('Flights', ['book-flight'])));
  await directory.announced(here(card('Tianqi', ['天气'], { description: '天气预报' })));
  const toolServers = [
    {
      name: 'calendar',
      description: 'Appointments',
      tools: ['create_event', 'list_events', 'third', 'fourth'],
    },
  ];
  const tools = directoryTools({ directory, toolServers: () => toolServers });
  expect(await runTool(tools, 'search_known_services', { query: 'book a flight' })).toMatchObject({
    results: [{ id: 'Flights', type: 'a2a', relevance_score: 1, top_skills: ['book-flight'] }],
  });
  expect(await runTool(tools, 'search_known_services', { query: '天气' })).toMatchObject({
    results: [{ id: 'Tianqi', fit: 1 }],
  });
  expect(await runTool(tools, 'search_known_services', { query: 'create event' })).toMatchObject({
    results: [{ id: 'calendar', type: 'mcp', top_tools: ['create_event', 'list_events', 'third'] }],
  });
  expect(await runTool(tools, 'search_known_services', { query: 'zebra' })).toEqual({
    results: [],
  });
});

test('the tools tell a model what it asks for, and register only where they may', async () => {
  const { directory } = await start();
  const tools = directoryTools({ directory, mayRegister: true });
  expect(await runTool(tools, 'list_known_agents', {})).toMatch(/No agents have announced/);
  await using peer = await testPeer(() => ({ json: card('Bob', ['echo']) }));
  expect(
    await runTool(tools, 'register_agent', {
      agent_name: 'Bob',
      url: peer.url,
      auth_header_name: 'X-Key',
      auth_header_value_base64: Buffer.from('hidden').toString('base64'),
    }),
  ).toBe("Registered agent 'Bob' with 1 skills.");
  const listed = await runTool(tools, 'list_known_agents', { skill: 'echo' });
  const details = await runTool(tools, 'get_agent_details', { agent_name: 'bob' });
  expect(listed).toMatchObject([{ agentName: 'Bob', skills: [{ id: 'echo' }] }]);
  expect(details).toMatchObject({ hasAuth: true, isWellKnown: false, url: peer.url });
  expect(JSON.stringify([listed, details])).not.toMatch(/hidden|aGlkZGVu/);
  expect(await runTool(tools, 'get_agent_details', { agent_name: 'X' })).toMatch(/No agent named/);
  await expect(runTool(tools, 'unregister_agent', { agent_name: 'X' })).rejects.toThrow(/No agent/);
  expect(await runTool(tools, 'unregister_agent', { agent_name: 'Bob' })).toMatch(/Removed/);
  expect(directoryTools({ directory }).map(({ name }) => name)).not.toContain('register_agent');
});

test('with an embedding model, services are found by their meaning; without it, by words', async () => {
  let isDown = false;
  await using server = await startScriptedModelServer([], {
    embed: (texts) =>
      isDown
        ? { status: 401 }
        : texts.map((text) => (/train|railway/i.test(text) ? [1, 0.1] : [0.1, 1])),
  });
  const models = [{ provider: 'openai-compatible', model: 'vectors', api_base: server.url }];
  const store = openMemory();
  const embeddings = { model: { id: 'embeddings', models }, vectors: store.vectors };
  const { directory, clock } = await start({ store, embeddings });
  await directory.announced(here(card('Cook', ['bake'])));
  await directory.announced(here(card('Timetables', ['trains'])));
  const [best] = await directory.search('railway connections');
  expect(best).toMatchObject({ id: 'Timetables', relevance_score: 1, fit: 1 });
  await directory.announced(gone(card('Cook', ['bake'])));
  expect((await directory.search('railway')).map(({ id }) => id)).toEqual(['Timetables']);
  // The descriptions once, then the queries alone.
  expect(server.calls.map(({ body }) => [body['input']].flat().length)).toEqual([2, 1, 1]);
  isDown = true;
  expect(await directory.search('railway')).toEqual([]);
  expect(await directory.search('trains')).toMatchObject([{ id: 'Timetables' }]);
  expect(server.calls).toHaveLength(4);
  isDown = false;
  clock.advance(31_000);
  expect(await directory.search('railway')).toMatchObject([{ id: 'Timetables' }]);
});

test('agents on one store, and searches without tool servers, keep the vectors of others', async () => {
  await using server = await startScriptedModelServer([], {
    embed: (texts) => texts.map((text) => (/train/i.test(text) ? [1, 0.1] : [0.1, 1])),
  });
  const models = [{ provider: 'openai-compatible', model: 'vectors', api_base: server.url }];
  const store = openMemory();
  const embeddings = { model: { id: 'embeddings', models }, vectors: store.vectors };
  const { directory: desk } = await start({ store, embeddings, self: 'desk' });
  const { directory: shop } = await start({ store, embeddings, self: 'shop' });
  await desk.announced(here(card('Timetables', ['trains'])));
  await shop.announced(here(card('Cook', ['bake'])));
  const toolServers = [{ name: 'tickets', description: 'train tickets', tools: ['buy'] }];
  await desk.search('train', { toolServers });
  await shop.search('train');
  await desk.search('train');
  await desk.search('train', { toolServers });
  // The descriptions once, then the queries alone.
  const texts = server.calls.flatMap(({ body }) => [body['input']].flat());
  expect(texts.filter((text) => text !== 'train')).toHaveLength(3);
});

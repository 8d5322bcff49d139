import { expect, test } from 'vitest';
import { z } from 'zod';
import * as legate from '../src/index.ts';
import * as auth from '../src/auth/index.ts';
import { fetchAgentCard } from '../src/client/index.ts';
import { hostOnBus } from '../src/bus/index.ts';
import { recordedModel, scriptedModel, startScriptedModelServer } from '../src/models/index.ts';
import { joinPeers } from '../src/peers/index.ts';

const echo = legate.agent({ name: 'echo' }, async () => 'hello');
const model = scriptedModel([]);
const card = {
  name: 'a',
  supportedInterfaces: [{ url: 'http://localhost', protocolBinding: 'JSONRPC' }],
};

/** What a program in JavaScript passes, where no compiler looks. */
function untyped(options: unknown) {
  return options as never;
}

/** Options within options. */
const nested = [
  [{ limits: { maxBodyByte: 1 } }, 'limits of serve: unknown option "maxBodyByte"; did you mean'],
  [{ card: { verison: '2' } }, 'card of serve: unknown option "verison"; did you mean "version"?'],
  [{ card: { capabilities: { streaming: true } } }, 'capabilities of card of serve'],
  [{ push: { maxAttemps: 1 } }, 'did you mean "maxAttempts"?'],
  [{ callerLimits: { requestPerSecond: 1 } }, 'did you mean "requestsPerSecond"?'],
  [{ clusterRate: {} }, '"limit" is missing'],
  [{ inspect: { proxi: true } }, 'inspect of serve: unknown option "proxi"; did you mean "proxy"?'],
  [{ inspect: 'yes' }, 'pass a boolean, or an object'],
  [{ tls: { certificate: 'a.pem' } }, 'tls of serve: the option "key" is missing'],
  [{ connections: { maximum: 1 } }, 'connections of serve: unknown option "maximum"'],
  [{ telemetry: { otlp: { endpont: 'x' } } }, 'otlp of telemetry of serve'],
  [{ prometheus: { access: 'all' } }, 'the option "access" is "all"'],
  [{ mcp: { pth: '/mcp' } }, 'did you mean "path"?'],
  [{ store: { type: 'sqlite3' } }, 'the option "type" is "sqlite3"; did you mean "sqlite"?'],
  [{ store: { type: 'sqlite' } }, '"path" is missing'],
  [{ store: { type: 'sqlite', pth: 'a.db' } }, 'did you mean "path"?'],
  [{ store: { tpye: 'memory' } }, 'unknown option "tpye"; did you mean "type"?'],
  [{ legacyFileBytes: 'thrice' }, 'did you mean "twice"?'],
  [{ maxBodyBytes: 1 }, 'it belongs in "limits": limits: { maxBodyBytes }'],
  [{ auth: { bearer: 'secret' } }, 'the option "auth" is an object; pass an authenticator: new'],
  [{ logger: 'silent' }, 'pass a logger: createLogger('],
].map(([options, said]): [string, () => unknown, string] => [
  `serve with ${JSON.stringify(options)}`,
  () => legate.serve(echo, untyped(options ?? {})),
  typeof said === 'string' ? said : '',
]);

test.each<[string, () => unknown, string]>([
  ['serve', () => legate.serve(echo, untyped({ prot: 8000 })), 'did you mean "port"?'],
  ['router', () => legate.router(echo, untyped({ chanels: [] })), 'did you mean "channels"?'],
  ['connect', () => legate.connect('http://localhost', untyped({ timeout: 9 })), 'unknown option'],
  ['Runner', () => new legate.Runner(untyped({ agent: echo, stroe: 1 })), 'did you mean "store"?'],
  ['Runner', () => new legate.Runner(untyped({})), 'new Runner({ agent })'],
  // Without `child` it would fail in the middle of a turn.
  ['serve', () => legate.serve(echo, untyped({ logger: console })), 'pass a logger: createLogger('],
  [
    'fetchAgentCard',
    () => fetchAgentCard('http://localhost', untyped({ fetsh: 1 })),
    'fetchAgentCard: unknown option "fetsh"; did you mean "fetch"?',
  ],
  [
    'followTask',
    async () => (await legate.connect(card)).followTask('t', untyped({ timeout: 1 })),
    'client.followTask: unknown option "timeout"',
  ],
  ['createLogger', () => legate.createLogger(untyped({ levle: 'debug' })), 'mean "level"?'],
  [
    'loadMemory',
    async () => {
      const memory = new legate.Memory(await legate.openStore({ type: 'memory' }));
      return legate.loadMemory(memory, untyped({ limt: 3 }));
    },
    'did you mean "limit"?',
  ],
  [
    'tool',
    () => legate.tool(untyped({ name: 'add', description: 'Adds.', execute: () => 1 })),
    'did you mean "run"?',
  ],
  [
    'tool',
    () =>
      legate.tool(
        untyped({ name: 'add', description: 'Adds.', needsApproval: true, run: () => 1 }),
      ),
    'did you mean "needsConfirmation"?',
  ],
  [
    'llmAgent',
    () => legate.llmAgent(untyped({ name: 'a', model, system: 'Be kind.' })),
    'did you mean "instruction"?',
  ],
  [
    'route',
    () => legate.route(untyped({ name: 'r', choose: () => 'echo', agents: { echo } })),
    'must be a list',
  ],
  ['tool', () => legate.tool(untyped({ name: 'add', description: 'Adds.' })), '"run" is missing'],
  [
    'tool',
    () => legate.tool(untyped({ name: 'a', description: 'A.', input: 'text', run: () => 1 })),
    'not a schema',
  ],
  ['agent', () => legate.agent(untyped({ name: 'a' }), untyped('text')), 'then a function'],
  ['agent', () => legate.agent(untyped({}), () => 'hi'), '"name" is missing'],
  ['serve', () => legate.serve(untyped(Promise.resolve(echo))), 'await it first'],
  ['serve', () => legate.serve(untyped(() => 'hi')), 'agent({ name }, run)'],
  ['serve', () => legate.serve(echo, untyped({ store: 'sqlite' })), 'pass an object'],
  [
    'serve',
    () => legate.serve(echo, untyped({ logger: Promise.resolve() })),
    '"logger" is a promise; await it first',
  ],
  ['Runner', () => new legate.Runner(untyped(echo)), 'new Runner({ agent })'],
  [
    'sequential',
    () => legate.sequential({ name: 's', steps: [untyped({ generate: 1, stream: 1 })] }),
    'fromAiSdk(agent)',
  ],
  [
    'llmAgent',
    () => legate.llmAgent({ name: 'a', model, tools: untyped(Promise.resolve([])) }),
    '"tools" is a promise',
  ],
  [
    'llmAgent',
    () => legate.llmAgent({ name: 'a', model, compaction: untyped('summarize') }),
    'did you mean "summarise"?',
  ],
  [
    'llmAgent',
    () => legate.llmAgent({ name: 'a', model, settings: untyped({ temprature: 1 }) }),
    'did you mean "temperature"?',
  ],
  [
    'llmAgent',
    () => legate.llmAgent({ name: 'a', model, maxIterations: -1 }),
    '"maxIterations" is -1; pass a number, 0 or more',
  ],
  [
    'llmAgent',
    () => legate.llmAgent({ name: 'a', model, beforeModel: untyped('log') }),
    '"beforeModel" is "log"; pass a function',
  ],
  ['llmAgent', () => legate.llmAgent({ name: 'a', model: untyped({}) }), 'neither a model'],
  ['mcpTools', () => legate.mcpTools(untyped('http://localhost/mcp')), 'takes an object'],
  ['codeExecution', () => legate.codeExecution({ functions: [untyped(() => 1)] }), 'not a tool'],
  ['Memory', () => new legate.Memory(untyped(Promise.resolve())), 'takes a store'],
  ['a model', () => legate.llmAgent({ name: 'a', model: 'antropic/x' }), 'mean "anthropic"?'],
  ['serve', () => legate.serve(echo, untyped({ steps: 'shared' })), 'did you mean "share"?'],
  [
    'serve',
    () => legate.serve(echo, untyped({ steps: true })),
    "pass 'off' or 'record' or 'share'",
  ],
  ...nested,
  ['openStore', () => legate.openStore(untyped({ type: 'sqlite', file: 'a.db' })), 'mean "path"?'],
  ['openStore', () => legate.openStore(untyped({})), 'the option "type" is missing'],
  [
    'Runner',
    () => new legate.Runner(untyped({ agent: echo, store: { type: 'memory' } })),
    'openStore',
  ],
  ['serveAll', () => legate.serveAll({ echo }, untyped({ prot: 1 })), 'did you mean "port"?'],
  ['serveAll', () => legate.serveAll(untyped({ echo: { agent: echo, stepz: 'off' } })), '"steps"?'],
  ['startTelemetry', () => legate.startTelemetry(untyped({ servicename: 'a' })), '"serviceName"?'],
  ['sequential', () => legate.sequential(untyped({ name: 's', subAgents: [echo] })), '"steps"?'],
  ['tool', () => legate.tool(untyped({ id: 'a', description: 'A.' })), 'did you mean "name"?'],
  [
    'agent',
    () => legate.agent(untyped({ name: 'a', handler: () => '' }), untyped(undefined)),
    'then',
  ],
  ['a model', () => legate.llmAgent({ name: 'a', model: '' }), 'its model has no name'],
  ['askUser', () => legate.askUser(untyped({ question: 'Which?' })), 'it takes none'],
  ['inputRequired', () => legate.inputRequired('Which?', untyped({ metdata: {} })), '"metadata"?'],
  ['agentTool', () => legate.agentTool(echo, untyped({ nmae: 'a' })), 'did you mean "name"?'],
  ['agentTool', () => legate.agentTool(untyped({ name: 'a' })), 'not an agent'],
  ['ToolPause', () => new legate.ToolPause(untyped({ text: 'Which?' })), 'unknown option "text"'],
  ['tool', () => legate.tool(untyped({ description: 'A.', run: () => 1 })), '"name" is missing'],
  ['tool', () => legate.tool(untyped(undefined)), 'its options are undefined'],
  ['agent', () => legate.agent(untyped({ name: 'a', serialise: 'tasks' }), () => ''), '"task"?'],
  ['loop', () => legate.loop(untyped({ name: 'a', steps: [echo], passes: 'everything' })), "'all'"],
  ['sequential', () => legate.sequential(untyped({ steps: [echo] })), 'agent: the option "name"'],
  [
    'tool',
    () =>
      legate.tool({
        name: 'a',
        description: 'A.',
        input: untyped({ a: z.string() }),
        run: () => 1,
      }),
    'z.object({ a: ... })',
  ],
  [
    'llmAgent',
    () => legate.llmAgent(untyped({ name: 'a', model, temperature: 0 })),
    'it belongs in "settings": settings: { temperature }',
  ],
  [
    'llmAgent',
    () => legate.llmAgent(untyped({ name: 'a', model, maxOutputTokens: 9 })),
    'settings: { maxOutputTokens }',
  ],
  [
    'llmAgent',
    () => legate.llmAgent(untyped({ name: 'a', model, toolChoice: 'required' })),
    "pass prepareStep: () => ({ toolChoice: 'required' })",
  ],
  [
    'llmAgent',
    () => legate.llmAgent({ name: 'a', model, output: untyped({ a: z.string() }) }),
    'its output is an object with a schema in it',
  ],
  ['connect', () => legate.connect('http://localhost', untyped({ bearer: 'x' })), 'mean "auth"?'],
  ['connect', () => legate.connect('localhost:8000'), 'not "localhost:8000"'],
  ['createLogger', () => legate.createLogger(untyped({ level: 'verbose' })), "'debug' or"],
  ['parallel', () => legate.parallel(untyped({ name: 'p', steps: [echo] })), 'mean "branches"?'],
  [
    'mcpHandler',
    () => legate.mcpHandler(echo, untyped({ autenticate: () => 1 })),
    '"authenticate"?',
  ],
  ['mcpHandler', () => legate.mcpHandler(untyped(() => 'hi')), 'agent({ name }, run)'],
  ['serveMcpStdio', () => legate.serveMcpStdio(echo, untyped({ stroe: 1 })), 'mean "store"?'],
  ['grpcChannel', () => legate.grpcChannel(untyped({ prot: 1 })), 'mean "port"?'],
  ['serveGrpc', () => legate.serveGrpc(untyped({}), untyped({ prot: 1 })), 'mean "port"?'],
  ['a model', () => scriptedModel([], untyped({ id: 'x' })), 'known are modelId'],
  ['a model server', () => startScriptedModelServer([], untyped({ prot: 1 })), 'mean "port"?'],
  [
    'recordedModel',
    () => recordedModel(undefined, 'a.json', 'replay', untyped({ ignor: [] })),
    'mean "ignore"?',
  ],
  ['jwtVerifier', () => auth.jwtVerifier(untyped({ keys: {}, audiance: 'a' })), 'mean "audience"?'],
  ['jwtVerifier', () => auth.jwtVerifier(untyped({ issuer: 'a' })), '"keys" is missing'],
  ['apiKeyVerifier', () => auth.apiKeyVerifier(untyped({ key: [] })), 'mean "keys"?'],
  [
    'bearerTokenVerifier',
    () => auth.bearerTokenVerifier(untyped({ token: 'x' })),
    'mean "tokens"?',
  ],
  ['Authenticator', () => new auth.Authenticator(untyped({ verifier: [] })), 'mean "verifiers"?'],
  ['mtlsVerifier', () => auth.mtlsVerifier(untyped({ identity: 1 })), 'mean "identify"?'],
  ['verifyCard', () => auth.verifyCard({}, untyped({ trustedd: [] })), 'mean "trusted"?'],
  ['hostOnBus', () => hostOnBus(echo, untyped({ buss: 1 })), 'mean "bus"?'],
  ['joinPeers', () => joinPeers(untyped({ name: 'a', stroe: 1 })), 'mean "store"?'],
])('%s refuses what it does not know, in JavaScript too', async (_, make, said) => {
  await expect(async () => make()).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
    message: expect.stringContaining(said),
  });
});

test.each([
  ['a text in place of the request', 'hello', "runner.run({ message: 'hello' })"],
  ['a misspelt message', { mesage: 'hello' }, 'did you mean "message"?'],
  ['the name of another framework', { message: 'hello', threadId: '1' }, '"sessionId"'],
])('a runner refuses %s', async (_, request, said) => {
  await using runner = new legate.Runner({ agent: echo });
  await expect(async () => runner.run(untyped(request))).rejects.toThrow(said);
});

test.each([
  ['inputRequired', () => legate.inputRequired(untyped({ question: 'Which?' }))],
  ['artifact', () => legate.artifact(untyped({ total: 3 }))],
  ['message', () => legate.message(untyped([{ type: 'image' }]))],
  ['completed', () => legate.completed(untyped(3))],
])('%s refuses what is no part', (_, make) => {
  expect(make).toThrow('is not a part; pass text');
});

const prepared: readonly (readonly [object | string, string])[] = [
  [{ activeTools: [] }, 'did you mean "tools"?'],
  [{ tools: ['serch'] }, 'no tool is named "serch"; did you mean "search"?'],
  [{ toolChoice: { type: 'tool', toolName: 'search' } }, 'toolChoice of prepareStep'],
  [{ toolChoice: { tool: 'find' } }, 'no tool is named "find"; known are search'],
  [{ toolChoice: { tool: 'search' }, tools: [] }, 'which its "tools" leave out'],
  [{ toolChoice: 'always' }, "'auto' or 'required' or 'none'"],
  [{ settings: { temprature: 1 } }, 'did you mean "temperature"?'],
];
test.each(prepared)('prepareStep may not return %j', async (step, said) => {
  const search = legate.tool({ name: 'search', description: 'Searches.', run: () => 1 });
  const prepareStep = () => untyped(step);
  const agent = legate.llmAgent({ name: 'a', model, tools: [search], prepareStep });
  await using runner = new legate.Runner({ agent, logger: legate.silentLogger });
  const { state, error } = await runner.run({ message: 'hello' });
  expect([state, String(error)]).toEqual(['failed', expect.stringContaining(said)]);
});

test.each([
  ['prepareStep', ({ stepNumber }: { stepNumber: number }) => ({ stepNumber }), 'use "step"'],
  ['stopWhen', ({ steps }: { steps: unknown[] }) => steps.length === 1, 'iteration === 5'],
])('%s as the AI SDK writes it is refused with what to write', async (name, callback, said) => {
  const search = legate.tool({ name: 'search', description: 'Searches.', run: () => 1 });
  const calls = scriptedModel([{ toolCalls: [{ name: 'search', input: {} }] }, 'done']);
  const options = { name: 'a', model: calls, tools: [search], [name]: untyped(callback) };
  await using runner = new legate.Runner({
    agent: legate.llmAgent(options),
    logger: legate.silentLogger,
  });
  const { state, error } = await runner.run({ message: 'hello' });
  expect([state, String(error)]).toEqual(['failed', expect.stringContaining(said)]);
});

test.each([
  [{ text: 'hello', usage: {} }, 'an object, which is neither text nor an event; return its text'],
  [{ total: 3 }, 'an object, which is neither text nor an event; return text, or artifact(data'],
  [null, 'null, which is neither'],
  [42, 'number, which is neither'],
  [[{ total: 3 }], 'a list, which is neither'],
])('an agent that returns %j fails with what to return', async (value, said) => {
  const made = legate.agent({ name: 'a' }, async () => untyped(value));
  await using runner = new legate.Runner({ agent: made, logger: legate.silentLogger });
  const { state, error } = await runner.run({ message: 'hello' });
  expect([state, String(error)]).toEqual(['failed', expect.stringContaining(said)]);
});

import { createServer } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import express from 'express';
import { afterEach, expect, test } from 'vitest';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { router, serve } from '../../src/http/index.ts';
import { McpConnection } from '../../src/mcp/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { startHttpSample } from '../../src/mcp/testing/http-server.ts';
import { artifact, file, textOf } from '../../src/protocol/index.ts';
import type { Agent } from '../../src/agents/agent.ts';
import {
  agent,
  authRequired,
  failed,
  inputRequired,
  reply,
  working,
} from '../../src/agents/define.ts';
import { llmAgent } from '../../src/agents/llm/llm-agent.ts';
import { Conversation } from '../../src/agents/testing/conversation.ts';
import { type McpHandlerOptions, mcpHandler } from '../../src/tasks/mcp/mcp-server.ts';
import { anonymous } from '../../src/tasks/index.ts';
import { silentLogger } from '../../src/telemetry/index.ts';
import { mcpTools, withSafeNames } from '../../src/agents/mcp/mcp-tools.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

// ---- tools ----------------------------------------------------------------------------------------

async function sample() {
  const server = await startHttpSample();
  open.push(server);
  const connection = new McpConnection({ name: 'sample', url: server.url });
  open.push(connection);
  return { server, connection };
}

test('a model calls the tools of an MCP server', async () => {
  const { connection } = await sample();
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'add', input: { a: 2, b: 2 }, id: '1' },
        { name: 'meta_echo', input: {}, id: '2' },
        { name: 'picture', input: {}, id: '3' },
        { name: 'fail', input: {}, id: '4' },
        { name: 'add', input: 'nonsense', id: '5' },
        { name: 'add', input: { a: 'two', b: 2 }, id: '6' },
      ],
    },
    'Four',
  ]);
  const set = mcpTools({
    connection,
    exclude: ['die', 'hang'],
    meta: ({ turn }) => ({ user: turn.caller.subject }),
  });
  const said = await new Conversation(llmAgent({ name: 'a', model, tools: [set] })).say('2+2?');
  expect(said.text).toBe('Four');
  expect(model.requests[0]?.tools).toEqual(['add', 'meta_echo', 'picture', 'fail']);
  const results = model.requests[1]?.promptText ?? '';
  expect(results).toContain('{"sum":4}');
  expect(results).toContain('{"user":"alice"}');
  expect(results).toContain('"files":["image/png","https://example.com/b"]');
  expect(results).toContain('no such file');
  expect(results).toContain('the input is not valid: Invalid input: expected object');
  expect(results).toContain('the input is not valid: a: Invalid input: expected number');
});

for (const [policy, asks] of [
  ['all', true],
  [['add'], true],
  [['fail'], false],
  [(_: unknown, input: { a?: unknown }) => input.a === 1, true],
] as const) {
  test(`tools of a server may need confirmation (${JSON.stringify(policy) ?? 'a function'})`, async () => {
    const { connection, server } = await sample();
    const model = scriptedModel([{ toolCalls: [{ name: 'add', input: { a: 1, b: 1 } }] }, 'ok']);
    const set = mcpTools({ connection, needsConfirmation: policy, include: ['add'] });
    const conversation = new Conversation(llmAgent({ name: 'a', model, tools: [set] }));
    const first = await conversation.say('go');
    expect(first.end.kind).toBe(asks ? 'input-required' : 'completed');
    if (!asks) return;
    expect(server.calls).toEqual({});
    await conversation.say('yes', { taskId: first.taskId });
    expect(server.calls).toEqual({ add: 1 });
  });
}

test('names are made fit for models, and stay apart', () => {
  const named = ['a.b', 'a/b', 'ü'.repeat(80)].map((name) => ({ name }));
  expect(withSafeNames(named, 'x__').map(({ name }) => name)).toEqual([
    'x__a_b',
    'x__a_b_2',
    `x__${'_'.repeat(57)}`,
  ]);
});

test('a server that is not there fails the turn', async () => {
  const set = mcpTools({ name: 'gone', url: 'http://127.0.0.1:1/mcp', maxRetries: 0 });
  open.push({ close: async () => set.close?.() });
  const conversation = new Conversation(
    llmAgent({ name: 'a', model: scriptedModel([]), tools: [set] }),
  );
  await expect(conversation.say('go')).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
});

// ---- an agent as a server -------------------------------------------------------------------------

async function serveMcp(served: Agent, options: McpHandlerOptions = {}): Promise<string> {
  const mcp = await mcpHandler(served, options);
  const server = createServer((request, response) => {
    mcp.handler(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: async () => {
      await mcp.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function connectionTo(url: string, headers?: Record<string, string>): McpConnection {
  const connection = new McpConnection({
    name: 'served',
    url,
    maxRetries: 0,
    ...(headers !== undefined && { headers }),
  });
  open.push(connection);
  return connection;
}

const greeter = agent({ name: 'the greeter', description: 'Greets.' }, async function* (turn) {
  const count = ((await turn.session?.get('count')) as number | undefined) ?? 0;
  turn.session?.set('count', count + 1);
  yield working('on it');
  const data = turn.message.parts.find((part) => part.data !== undefined)?.data ?? null;
  yield artifact([
    { text: `Hello ${textOf(turn.message)}, ${count + 1}` },
    { data: { got: data } },
    { raw: 'AAAA', mediaType: 'image/png' },
  ]);
});

test('an agent is a tool of an MCP server, and its conversations continue', async () => {
  const connection = connectionTo(await serveMcp(greeter));
  const tools = await connection.tools();
  expect(tools).toMatchObject([{ name: 'the_greeter' }]);
  expect(tools[0]?.description).toBe('Greets.');
  const input = { message: 'Ada', data: { a: 1 } };
  const first = await connection.call({ name: 'the_greeter' }, input);
  expect(first).toMatchObject({
    isError: false,
    text: 'Hello Ada, 1',
    parts: [{ text: 'Hello Ada, 1' }, { raw: 'AAAA' }, {}],
    structured: { state: 'completed', data: [{ got: { a: 1 } }] },
  });
  const session = first.structured?.['session'] as string;
  const again = await connection.call({ name: 'the_greeter' }, { message: 'Ada', session });
  expect(again.text).toBe('Hello Ada, 2');
  const made = await connection.call({ name: 'the_greeter' }, { message: 'Eve', session: 'guess' });
  expect(made.structured?.['session']).not.toBe('guess');
});

test('a question of the agent is answered by naming it', async () => {
  const asker = agent({ name: 'asker' }, async function* (turn) {
    if (!turn.isContinuation) yield inputRequired('Which colour?');
    else yield artifact(`It is ${textOf(turn.message)}`);
  });
  const connection = connectionTo(await serveMcp(asker));
  const asked = await connection.call({ name: 'asker' }, { message: 'Paint' });
  expect(asked).toMatchObject({ text: 'Which colour?', structured: { state: 'input-required' } });
  const invocation = asked.structured?.['invocation'] as string;
  const done = await connection.call({ name: 'asker' }, { message: 'red', invocation });
  expect(done).toMatchObject({ text: 'It is red', structured: { state: 'completed' } });
  const late = await connection.call({ name: 'asker' }, { message: 'blue', invocation });
  expect(late).toMatchObject({ isError: true });
});

test('a call returns when the agent asks for authentication, and the answer continues it', async () => {
  const locked = agent({ name: 'locked' }, async function* (turn) {
    if (!turn.isContinuation) yield authRequired('Sign in first');
    else yield artifact('open');
  });
  const connection = connectionTo(await serveMcp(locked));
  const asked = await connection.call({ name: 'locked' }, { message: 'open' });
  expect(asked).toMatchObject({ text: 'Sign in first', structured: { state: 'auth-required' } });
  const invocation = asked.structured?.['invocation'] as string;
  const done = await connection.call({ name: 'locked' }, { message: 'signed in', invocation });
  expect(done).toMatchObject({ text: 'open', structured: { state: 'completed' } });
});

test('the content of a result has ids and data: many hosts show a model nothing else', async () => {
  const asker = agent({ name: 'asker' }, async function* () {
    yield artifact([{ data: { colours: ['red'] } }]);
    yield inputRequired('Which colour?');
  });
  const connection = connectionTo(await serveMcp(asker));
  const { parts, structured } = await connection.call({ name: 'asker' }, { message: 'Paint' });
  const { text: _, ...rest } = structured ?? {};
  expect(JSON.parse(parts.at(-1)?.text ?? '')).toEqual(rest);
  expect(rest).toMatchObject({
    session: expect.any(String),
    invocation: expect.any(String),
    data: [{ colours: ['red'] }],
  });
});

test("callers are isolated: one can't answer for another or see their conversation", async () => {
  const asker = agent({ name: 'asker' }, async function* (turn) {
    if (!turn.isContinuation) yield inputRequired('?');
    else yield artifact(turn.caller.subject);
  });
  const url = await serveMcp(asker, {
    authenticate: ({ headers }) =>
      typeof headers['x-user'] === 'string'
        ? { tenant: '', subject: headers['x-user'], method: 'test' }
        : undefined,
  });
  const alice = connectionTo(url, { 'X-User': 'alice' });
  const bob = connectionTo(url, { 'X-User': 'bob' });
  const asked = await alice.call({ name: 'asker' }, { message: 'go' });
  const invocation = asked.structured?.['invocation'] as string;
  expect(await bob.call({ name: 'asker' }, { message: 'x', invocation })).toMatchObject({
    isError: true,
  });
  expect((await alice.call({ name: 'asker' }, { message: 'x', invocation })).text).toBe('alice');
  await expect(connectionTo(url).tools()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('a failed agent is a tool that failed', async () => {
  const sad = agent({ name: 'sad' }, async function* () {
    yield failed('no luck');
  });
  const connection = connectionTo(await serveMcp(sad));
  expect(await connection.call({ name: 'sad' }, { message: 'go' })).toMatchObject({
    isError: true,
    text: 'no luck',
  });
});

test('a call that is cancelled stops the agent, and words on the way are progress', async () => {
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const endless = agent({ name: 'endless' }, async function* (turn) {
    yield working('digging');
    started.resolve();
    await new Promise<void>((resolve) =>
      turn.signal.addEventListener('abort', () => {
        stopped.resolve();
        resolve();
      }),
    );
  });
  const url = await serveMcp(endless);
  for (const versionNegotiation of [{ mode: 'auto' }, { mode: 'legacy' }] as const) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const progress: (string | undefined)[] = [];
    const controller = new AbortController();
    const call = client.callTool(
      { name: 'endless', arguments: { message: 'go' } },
      { signal: controller.signal, onprogress: ({ message }) => progress.push(message) },
    );
    await started.promise;
    await expect.poll(() => progress).toEqual(['digging']);
    controller.abort();
    await expect(call).rejects.toThrow();
    await stopped.promise;
    await client.close();
  }
});

test('pages of other origins and too large bodies are sent away', async () => {
  const url = await serveMcp(greeter, {
    allowedOrigins: ['https://ok.example'],
    maxBodyBytes: 2_000,
  });
  const post = (headers: Record<string, string>, body: string) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  expect((await post({ origin: 'https://evil.example' }, '{}')).status).toBe(403);
  expect((await post({ origin: 'https://ok.example' }, '{}')).status).not.toBe(403);
  expect((await post({}, JSON.stringify({ x: 'y'.repeat(3_000) }))).status).toBe(413);
});

test('a call that is cancelled before the first event of an agent that may reply stops the agent', async () => {
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const silent = agent({ name: 'silent', replies: 'message' }, async function* (turn) {
    turn.signal.addEventListener('abort', () => stopped.resolve());
    started.resolve();
    await stopped.promise;
    yield reply('too late');
  });
  const versionNegotiation = { mode: 'auto' } as const;
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(await serveMcp(silent))));
  open.push(client);
  const controller = new AbortController();
  const call = client.callTool(
    { name: 'silent', arguments: { message: 'go' } },
    { signal: controller.signal },
  );
  await started.promise;
  controller.abort();
  await expect(call).rejects.toThrow();
  await stopped.promise;
});

test('requests that no web request can express, and failures, are answered, and never reject', async () => {
  const failures: unknown[] = [];
  const mcp = await mcpHandler(greeter, {
    authenticate: ({ url }) => (url === '/down' ? Promise.reject(new Error('down')) : anonymous),
    logger: { ...silentLogger, error: ({ error }) => failures.push(error) },
  });
  const rejected: unknown[] = [];
  const server = createServer((request, response) => {
    mcp.handler(request, response).catch((error: unknown) => {
      rejected.push(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(mcp, { close: () => new Promise((resolve) => server.close(() => resolve())) });
  const { port } = server.address() as AddressInfo;
  const statusOf = async (requestLine: string): Promise<string | undefined> => {
    const socket = createConnection(port, '127.0.0.1');
    socket.end(`${requestLine} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    return (await text(socket)).split(' ')[1];
  };
  for (const requestLine of ['TRACE /', 'GET //', 'GET http://a:b@x/', 'POST //']) {
    expect([requestLine, await statusOf(requestLine)]).toEqual([requestLine, '400']);
  }
  expect(await statusOf('GET /down')).toBe('500');
  expect([rejected, failures]).toEqual([[], [new Error('down')]]);
});

test('an agent that is served over A2A is an MCP server on the same port, with its callers and tasks', async () => {
  const asker = agent({ name: 'asker', replies: 'message' }, async function* (turn) {
    if (textOf(turn.message) === 'ping') return yield reply('pong');
    if (!turn.isContinuation) return yield inputRequired('Which colour?');
    return yield artifact(`${textOf(turn.message)} for ${turn.caller.subject}`);
  });
  const tokens = [
    { token: 'secret', subject: 'ada' },
    { token: 'other', subject: 'eve' },
  ];
  const server = await serve(asker, {
    mcp: true,
    auth: new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] }),
  });
  open.push(server);
  const url = `${server.url}/mcp`;
  await expect(connectionTo(url).tools()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  const ada = connectionTo(url, { authorization: 'Bearer secret' });
  expect((await ada.call({ name: 'asker' }, { message: 'ping' })).text).toBe('pong');
  const asked = await ada.call({ name: 'asker' }, { message: 'Paint' });
  expect(asked.structured).toMatchObject({ state: 'input-required' });
  const taskId = asked.structured?.['invocation'] as string;
  const eve = connectionTo(url, { authorization: 'Bearer other' });
  expect(await eve.call({ name: 'asker' }, { message: 'x', invocation: taskId })).toMatchObject({
    isError: true,
  });
  // The task is the same over A2A.
  const client = await connect(server.url, { headers: { authorization: 'Bearer secret' } });
  expect((await client.getTask({ id: taskId })).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const done = await ada.call({ name: 'asker' }, { message: 'red', invocation: taskId });
  expect(done.text).toBe('red for ada');
});

test('files of an agent are images and resources of an MCP result', async () => {
  const painter = agent({ name: 'painter' }, async function* () {
    const image = file({ bytes: Buffer.from('dots'), mediaType: 'image/png' });
    const notes = file({
      bytes: Buffer.from('ink'),
      mediaType: 'text/plain',
      filename: 'notes.txt',
    });
    yield artifact([{ text: 'Here it is' }, image, notes]);
  });
  const server = await serve(painter, { mcp: true });
  open.push(server);
  const { text, parts } = await connectionTo(`${server.url}/mcp`).call(
    { name: 'painter' },
    { message: 'paint' },
  );
  expect(text).toBe('Here it is');
  expect(parts.slice(1, 3)).toMatchObject([
    { raw: Buffer.from('dots').toString('base64'), mediaType: 'image/png' },
    { raw: Buffer.from('ink').toString('base64'), mediaType: 'text/plain' },
  ]);
});

test('an agent is an MCP server behind a body parser of Express, at a path of its own', async () => {
  const { handler, close } = await router(greeter, { mcp: { path: '/tools' } });
  const app = express();
  app.use(express.json());
  app.use('/agent', handler);
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: async () => {
      server.closeAllConnections();
      server.close();
      await close();
    },
  });
  const { port } = server.address() as AddressInfo;
  const connection = connectionTo(`http://127.0.0.1:${port}/agent/tools`);
  const answer = await connection.call({ name: 'the_greeter' }, { message: 'Ada' });
  expect(answer.text).toBe('Hello Ada, 1');
});

test('an agent is served over standard input and output', async () => {
  const connection = new McpConnection({
    name: 'counter',
    command: process.execPath,
    args: [join(import.meta.dirname, '../../src/tasks/testing/stdio-agent.ts')],
  });
  open.push(connection);
  const first = await connection.call({ name: 'counter' }, { message: 'turn' });
  expect(first.text).toBe('turn 1');
  const session = first.structured?.['session'] as string;
  const next = await connection.call({ name: 'counter' }, { message: 'turn', session });
  expect(next.text).toBe('turn 2');
});

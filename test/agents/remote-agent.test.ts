import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import {
  type Agent,
  agent,
  agentTool,
  authRequired,
  chunk,
  completed,
  failed,
  inputRequired,
  llmAgent,
  rejected,
  remoteAgent,
  reply,
  textOf,
  working,
} from '../../src/agents/index.ts';
import { Conversation } from '../../src/agents/testing/conversation.ts';
import { apiKeyVerifier, Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { grpcBinding, serveGrpc } from '../../src/grpc/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { type AgentCard, artifact, data, message, type Task } from '../../src/protocol/index.ts';
import { Runner } from '../../src/tasks/index.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(served: Agent, options: ServeOptions = {}): Promise<Serving> {
  const server = await serve(served, { drainMs: 0, cancelGraceMs: 500, ...options });
  open.push(server);
  return server;
}

const bindings = [grpcBinding()];

/** A card that offers nothing else, so that there is no other way. */
async function overGrpc({ router }: Serving): Promise<AgentCard> {
  open.unshift(await serveGrpc(router));
  const { current } = router.cards;
  const supportedInterfaces = current.supportedInterfaces.filter(
    ({ protocolBinding }) => protocolBinding === 'GRPC',
  );
  return { ...current, supportedInterfaces };
}

const writer = agent({ name: 'writer' }, async function* (turn) {
  yield working('thinking');
  yield chunk('text', 'Dear ');
  yield chunk('text', textOf(turn.message), { append: true, last: true });
  yield artifact(data({ words: 2, said: turn.message.metadata ?? null }), { artifactId: 'facts' });
  yield completed('written');
});

for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const) {
  for (const version of ['1.0', '0.3'] as const) {
    for (const streaming of [true, false]) {
      const how = streaming ? 'streaming' : 'polled';
      test(`an agent elsewhere is like a local one (${binding}, ${version}, ${how})`, async () => {
        const server = await start(writer, { streaming });
        const address = binding === 'GRPC' ? await overGrpc(server) : server.url;
        const poll = { initialMs: 5, maximumMs: 5 };
        const far = remoteAgent(address, { binding, bindings, version, poll });
        open.unshift(far);
        const said = await new Conversation(far).say({ text: 'Ada', metadata: { a: 1 } });
        expect(far.card?.name).toBe('writer');
        expect(said.text).toBe('Dear Ada|');
        expect(said.artifacts).toMatchObject([
          { artifactId: 'text' },
          { artifactId: 'facts', parts: [{ data: { words: 2 } }] },
        ]);
        expect(said.end).toMatchObject({ kind: 'completed', parts: [{ text: 'written' }] });
        if (streaming) {
          expect(said.events).toContainEqual({ kind: 'working', parts: [{ text: 'thinking' }] });
          expect(
            said.events.filter((event) => !('kind' in event) || event.kind === 'chunk'),
          ).toHaveLength(3);
        }
      });
    }
  }
}

test('a plain message stays one', async () => {
  const quick = agent({ name: 'quick', replies: 'message' }, async function* () {
    yield reply('pong', { fast: true });
  });
  const { url } = await start(quick);
  const { events } = await new Conversation(remoteAgent(url)).say('ping');
  expect(events).toMatchObject([
    { kind: 'message', parts: [{ text: 'pong' }], metadata: { fast: true } },
  ]);
});

test('the conversation there continues with the one here', async () => {
  const counting = agent({ name: 'counting' }, async function* (turn) {
    const count = ((await turn.state.load())?.['count'] as number | undefined) ?? 0;
    yield completed(`turn ${count + 1}`, { context: { value: { count: count + 1 } } });
  });
  const { url } = await start(counting);
  const conversation = new Conversation(remoteAgent(url));
  await conversation.say('a');
  expect((await conversation.say('b')).end.parts).toEqual([{ text: 'turn 2' }]);
  expect((await new Conversation(remoteAgent(url)).say('c')).end.parts).toEqual([
    { text: 'turn 1' },
  ]);
});

const asker = agent({ name: 'asker' }, async function* (turn) {
  const { isContinuation, taskId } = turn;
  const text = textOf(turn.message);
  if (!isContinuation) {
    yield artifact('draft', { artifactId: 'draft' });
    yield text === 'auth' ? authRequired('log in') : inputRequired('which colour?');
    return;
  }
  yield artifact(`${taskId}: ${text}`, { artifactId: 'final' });
});

for (const streaming of [true, false]) {
  for (const [question, kind] of [
    ['ask', 'input-required'],
    ['auth', 'auth-required'],
  ] as const) {
    test(`${kind} pauses here, and the answer continues the same task there (streaming: ${streaming})`, async () => {
      const { url } = await start(asker, { streaming });
      const poll = { initialMs: 5, maximumMs: 5 };
      const conversation = new Conversation(remoteAgent(url, { poll }));
      const asked = await conversation.say(question);
      expect(asked.end.kind).toBe(kind);
      const remoteId = asked.end.metadata?.['remote_task_id'];
      expect(asked.artifacts.map(({ artifactId }) => artifactId)).toEqual(['draft']);
      const { taskId } = asked;
      const done = await conversation.say('red', { taskId });
      expect(done.end.kind).toBe('completed');
      expect(done.artifacts.map(({ artifactId }) => artifactId)).toEqual(['final']);
      expect(done.text).toBe(`${remoteId as string}: red`);
      expect(conversation.value).not.toHaveProperty('tasks');
    });
  }
}

test('a streamed answer reads as one text over a hop, and is not repeated after a question', async () => {
  const streamer = agent({ name: 'streamer' }, async function* (turn) {
    if (turn.isContinuation) return yield chunk('poem', 'blue', { append: true, last: true });
    for (const [index, word] of ['Roses ', 'are ', 'red, '].entries()) {
      yield chunk('poem', word, { append: index > 0 });
    }
    yield inputRequired('and violets?');
  });
  const far = remoteAgent((await start(streamer)).url, { name: 'relay' });
  open.unshift(far);
  const { url } = await start(far);
  const client = await connect(url);
  const asked = await client.sendAndWait('go');
  if (!('task' in asked)) throw new Error('expected a task');
  expect(asked.task.artifacts).toMatchObject([{ parts: [{ text: 'Roses are red, ' }] }]);
  const events = [];
  const answer = message('go on', { taskId: asked.task.id });
  for await (const { response } of client.sendStreamingMessage(answer)) events.push(response);
  const updates = events.filter((event) => 'artifactUpdate' in event);
  expect(updates).toMatchObject([
    { artifactUpdate: { append: true, artifact: { parts: [{ text: 'blue' }] } } },
  ]);
  const task = await client.getTask(asked.task.id);
  expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Roses are red, blue' }] }]);
});

test('a question crosses two hops, and so does its answer', async () => {
  const inner = await start(asker);
  const outer = await start(remoteAgent(inner.url, { name: 'relay' }));
  const client = await connect(outer.url);
  const asked = await client.sendAndWait('ask');
  if (!('task' in asked)) throw new Error('no task');
  expect(asked.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  const done = await client.sendAndWait({
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: 'blue' }],
    taskId: asked.task.id,
  });
  expect(done).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
});

test('an agent without a name keeps the same one when its card is read, and finds its tasks', async () => {
  const inner = await start(asker);
  const far = remoteAgent(inner.url);
  const before = far.name;
  const outer = await start(far);
  const client = await connect(outer.url);
  const asked = await client.sendAndWait('ask');
  if (!('task' in asked)) throw new Error('no task');
  const { id: taskId, contextId } = asked.task;
  expect(far.card?.name).toBe('asker');
  expect(far.name).toBe(before);
  const done = await client.sendAndWait(message('red', { taskId, contextId }));
  expect(done).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
});

for (const [onInterrupted, state] of [
  ['fail', 'TASK_STATE_CANCELED'],
  ['run-again', 'TASK_STATE_COMPLETED'],
] as const) {
  test(`a shutdown here leaves the task there in ${state} (onInterrupted: ${onInterrupted})`, async () => {
    const finish = Promise.withResolvers<void>();
    const inner = await start(
      agent({ name: 'inner' }, async function* (turn) {
        turn.signal.addEventListener('abort', () => finish.resolve());
        yield working('begun');
        await finish.promise;
      }),
    );
    const outer = await start(remoteAgent(inner.url, { name: 'relay', onInterrupted }));
    const client = await connect(outer.url, { resume: false, retry: false });
    const events = client.sendStreamingMessage('go');
    for await (const { response } of events) {
      if (JSON.stringify(response).includes('begun')) break;
    }
    await outer.close();
    const there = await connect(inner.url);
    const { tasks } = await there.listTasks();
    if (onInterrupted === 'run-again') finish.resolve();
    const ended = await there.waitForEnd(tasks[0]?.id ?? '');
    expect(ended.status.state).toBe(state);
  });
}

test('consent that was given elsewhere is found when our caller comes back', async () => {
  const { promise: consent, resolve: consents } = Promise.withResolvers<void>();
  // A peer whose task continues by itself, as the specification lets tasks that wait for consent do.
  const state = { status: 'TASK_STATE_AUTH_REQUIRED' };
  const sent: string[] = [];
  const peer = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
      if (request.method === 'GET' && request.url?.includes('well-known') === true) {
        response.end(
          JSON.stringify({
            name: 'vault',
            description: 'd',
            version: '1',
            supportedInterfaces: [{ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
            capabilities: {},
            defaultInputModes: ['text/plain'],
            defaultOutputModes: ['text/plain'],
            skills: [],
          }),
        );
        return;
      }
      if (request.method === 'POST') sent.push(body);
      const task: Task = {
        id: 't',
        contextId: 'c',
        status: { state: state.status as Task['status']['state'] },
        artifacts: [{ artifactId: 'a', parts: [{ text: 'secret report' }] }],
      };
      response.end(JSON.stringify(request.method === 'POST' ? { task } : task));
    });
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () =>
      new Promise((resolve) => {
        peer.closeAllConnections();
        peer.close(() => resolve());
      }),
  });
  const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  const conversation = new Conversation(remoteAgent(url));
  const asked = await conversation.say('go');
  expect(asked.end.kind).toBe('auth-required');
  state.status = 'TASK_STATE_COMPLETED';
  consents();
  await consent;
  const done = await conversation.say('done', { taskId: asked.taskId });
  expect(done.end.kind).toBe('completed');
  expect(sent).toHaveLength(1);
});

for (const [name, ending, expected] of [
  [
    'failed',
    failed('no luck', { metadata: { error_type: 'weather' } }),
    { kind: 'failed', metadata: { error_type: 'weather' } },
  ],
  ['rejected', rejected('not mine'), { kind: 'rejected', parts: [{ text: 'not mine' }] }],
] as const) {
  test(`a task that ${name} there has ${name} here`, async () => {
    const { url } = await start(
      agent({ name: 'sad' }, async function* () {
        yield ending;
      }),
    );
    expect((await new Conversation(remoteAgent(url)).say('x')).end).toMatchObject(expected);
  });
}

/** An agent that works until it is stopped. */
function endless() {
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const made = agent({ name: 'endless' }, async function* (turn) {
    yield working('on it');
    started.resolve();
    await new Promise<void>((resolve) =>
      turn.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    stopped.resolve();
    yield completed();
  });
  return { made, started: started.promise, stopped: stopped.promise };
}

test.each(['JSONRPC', 'GRPC'])('a cancel reaches the agent two hops away (%s)', async (binding) => {
  const { made, started, stopped } = endless();
  const inner = await start(made);
  const address = binding === 'GRPC' ? await overGrpc(inner) : inner.url;
  const relay = remoteAgent(address, { name: 'relay', bindings });
  open.unshift(relay);
  const outer = await start(relay);
  const client = await connect(outer.url);
  const answer = await client.sendMessage({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
    configuration: { returnImmediately: true },
  });
  if (!('task' in answer)) throw new Error('no task');
  await started;
  // The relay knows the task there once it has heard of it.
  await expect
    .poll(async () => (await client.getTask(answer.task.id)).status.state)
    .toBe('TASK_STATE_WORKING');
  const canceled = await client.cancelTask(answer.task.id);
  await stopped;
  expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
});

test('a cancel of a task that waits here reaches the task that waits there', async () => {
  const inner = await start(asker);
  const outer = await start(remoteAgent(inner.url, { name: 'relay' }));
  const client = await connect(outer.url);
  const asked = await client.sendAndWait('ask');
  if (!('task' in asked)) throw new Error('no task');
  await client.cancelTask(asked.task.id);
  const remoteId = asked.task.metadata?.['remote_task_id'] as string;
  const there = await (await connect(inner.url)).getTask(remoteId);
  expect(there.status.state).toBe('TASK_STATE_CANCELED');
});

for (const [kind, options] of [
  ['timeout', { timeoutMs: 300, inactivityTimeoutMs: 0 }],
  ['inactivity', { timeoutMs: 0, inactivityTimeoutMs: 300 }],
] as const) {
  test(`${kind} fails the turn and cancels the task there`, async () => {
    const { made, stopped } = endless();
    const { url } = await start(made);
    const said = await new Conversation(remoteAgent(url, options)).say('go');
    expect(said.end).toMatchObject({ kind: 'failed', metadata: { error_type: kind } });
    await stopped;
  });
}

test('a peer that is not there fails the turn without telling where it should be', async () => {
  const far = remoteAgent('http://127.0.0.1:1', { retry: false, name: 'ghost' });
  const { end } = await new Conversation(far).say('go');
  expect(end).toMatchObject({ kind: 'failed', metadata: { error_type: 'peer_unreachable' } });
  expect(JSON.stringify(end)).not.toContain('127.0.0.1');
});

test('a peer that comes later is found by the next turn', async () => {
  let card: Response | undefined;
  const { url } = await start(writer);
  const far = remoteAgent(url, {
    retry: false,
    fetch: (input, init) => {
      if (card === undefined) {
        card = new Response('', { status: 503 });
        return Promise.resolve(card);
      }
      return fetch(input, init);
    },
  });
  const conversation = new Conversation(far);
  expect((await conversation.say('one')).end.kind).toBe('failed');
  expect((await conversation.say('two')).end.kind).toBe('completed');
});

test('credentials stay off a wire that anybody may read', async () => {
  const seen: string[] = [];
  const far = remoteAgent('http://peer.example', {
    auth: { kind: 'token', token: 'hush' },
    retry: false,
    fetch: (_, init) => {
      seen.push(JSON.stringify([...new Headers(init?.headers)]));
      return Promise.resolve(new Response('', { status: 401 }));
    },
  });
  const { end } = await new Conversation(far).say('go');
  expect(end).toMatchObject({ kind: 'failed', metadata: { error_type: 'configuration_invalid' } });
  expect(seen.join()).not.toContain('hush');
});

/** Gives out a token, and counts how often. */
async function tokenServer(): Promise<{ url: string; asked: URLSearchParams[] }> {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      asked.push(new URLSearchParams(body));
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ access_token: 'hush', token_type: 'bearer', expires_in: 3600 }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`, asked };
}

test.each(['JSONRPC', 'GRPC'])(
  'who we are reaches a peer that asks for it (%s)',
  async (binding) => {
    const auth = new Authenticator({
      verifiers: [
        bearerTokenVerifier({ tokens: [{ token: 'hush', subject: 'us' }] }),
        apiKeyVerifier({ header: 'X-Key', keys: [{ key: 'Key hush', subject: 'us' }] }),
      ],
    });
    const who = agent({ name: 'who' }, async function* (turn) {
      yield completed(turn.caller.subject);
    });
    const server = await start(who, { auth });
    const { url: tokenUrl, asked } = await tokenServer();
    const address = binding === 'GRPC' ? await overGrpc(server) : server.router.cards.current;
    const client = { clientId: 'us', clientSecret: 'secret', tokenUrl };
    for (const credential of [
      { kind: 'token', token: 'hush' },
      { kind: 'api_key', key: 'hush', headerName: 'X-Key', headerFormat: 'Key {key}' },
      { kind: 'oauth', ...client },
    ] as const) {
      const far = remoteAgent(address, { bindings, auth: credential });
      open.unshift(far);
      for (let count = 0; count < 2; count += 1) {
        const { end } = await new Conversation(far).say('go');
        expect(end).toMatchObject({ kind: 'completed', parts: [{ text: 'us' }] });
      }
    }
    // A token serves until it expires.
    expect(asked).toHaveLength(1);
    const wrong = remoteAgent(address, { bindings, auth: { kind: 'token', token: 'loud' } });
    open.unshift(wrong);
    const { end } = await new Conversation(wrong).say('go');
    expect(end).toMatchObject({ kind: 'failed', metadata: { error_type: 'unauthenticated' } });
  },
);

test('a turn that runs again takes up the task it had started, which a shutdown leaves alone', async () => {
  const runs: string[] = [];
  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const inner = agent({ name: 'inner' }, async function* (turn) {
    runs.push(turn.taskId);
    yield working('begun');
    await release.promise;
    turn.signal.throwIfAborted();
    yield artifact('the result');
  });
  const { url } = await start(inner);
  const conversation = new Conversation(
    remoteAgent(url, { onInterrupted: 'run-again', poll: { initialMs: 5 } }),
  );
  const process = new AbortController();
  const options = { messageId: 'm', taskId: 'task-1' };
  const first = conversation.say('go', {
    ...options,
    signal: process.signal,
    onEvent: (event) => {
      if ('kind' in event && event.kind === 'working') begun.resolve();
    },
  });
  await begun.promise;
  await expect
    .poll(() => conversation.records.list({ space: 'agent-journal', limit: 1, now: Date.now() }))
    .toHaveLength(1);
  process.abort(Object.assign(new Error('shutdown'), { handsOver: true }));
  await expect(first).rejects.toThrow('shutdown');
  const second = conversation.say('go', { ...options, attempt: 2 });
  release.resolve();
  const said = await second;
  expect(said.text).toBe('the result');
  expect(runs).toHaveLength(1);
});

test('a remote agent that is served, offered as a tool or as a sub agent is described by its card', async () => {
  const skills = [{ id: 'de', name: 'German', description: 'To German', tags: ['language'] }];
  const inner = await start(
    agent({ name: 'translator', description: 'Translates.', skills }, async () => 'Hallo'),
  );
  const outer = await start(remoteAgent(inner.url));
  const card = (await connect(outer.url)).card;
  expect(card).toMatchObject({ name: 'translator', description: 'Translates.', skills });

  const scripted = scriptedModel(['Hi']);
  let offered = '';
  const model: typeof scripted = {
    ...scripted,
    doStream(call) {
      offered = JSON.stringify(call.tools);
      return scripted.doStream(call);
    },
  };
  const desk = llmAgent({
    name: 'desk',
    model,
    tools: [agentTool(remoteAgent(inner.url))],
    subAgents: [remoteAgent(inner.url, { name: 'sub' })],
  });
  await new Runner({ agent: desk }).run({ message: 'Hello' });
  expect(offered).toContain('- sub: Translates.');
  expect(offered.match(/Translates\./g)).toHaveLength(2);
});

test('a remote agent that cannot be reached is served all the same, by the name of its host', async () => {
  const outer = await start(remoteAgent('http://127.0.0.1:1'));
  expect((await connect(outer.url)).card.name).toBe('127.0.0.1:1');
});

test('an answer beyond the limits fails the turn, and what it is', async () => {
  const chatty = agent({ name: 'chatty' }, async function* () {
    for (let page = 1; page <= 50; page += 1) yield working(`Page ${page} `.repeat(10));
    yield completed('done');
  });
  const { url } = await start(chatty);
  const far = remoteAgent(url, { limits: { characters: 2_000 } });
  open.unshift(far);
  const said = await new Conversation(far).say('go');
  expect(said.end).toMatchObject({ kind: 'failed', metadata: { error_type: 'peer_invalid' } });
  expect(said.end?.error).toMatchObject({
    message: expect.stringContaining('more than 2000 characters') as unknown,
  });
});

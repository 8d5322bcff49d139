import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { agent, chunk, inputRequired, textOf, working } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import { artifact, type JsonObject } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { serve, type ServeOptions, type Serving } from './index.ts';

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield working();
  if (textOf(turn.message) === 'ask') yield inputRequired('what?');
  else yield artifact(textOf(turn.message));
});

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}, served = echo): Promise<string> {
  server = await serve(served, options);
  return `http://127.0.0.1:${server.port}`;
}

const v1Headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
const say = (text: string, more: JsonObject = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more },
});

function rpc(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

async function call(
  url: string,
  body: string,
  headers: Record<string, string> = v1Headers,
): Promise<{ status: number; body: Record<string, never>; headers: Headers }> {
  const response = await fetch(url, { method: 'POST', headers, body });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, never>,
    headers: response.headers,
  };
}

const errorOf = (body: unknown) => (body as { error: { code: number; message: string } }).error;

describe('JSON-RPC', () => {
  test('JSONRPC-ERR: an invalid request is refused by JSON-RPC 2.0, with HTTP 200', async () => {
    const url = await start();
    const cases: [string, number, unknown][] = [
      ['{', -32700, null],
      ['[]', -32600, null],
      [`[${rpc('GetTask', { id: 'x' })}]`, -32600, null],
      ['{"jsonrpc":"1.0","id":7,"method":"GetTask"}', -32600, 7],
      ['{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}', -32600, null],
      ['{"jsonrpc":"2.0","method":"NoSuchMethod"}', -32601, null],
      ['{"jsonrpc":"2.0","method":"SendMessage","params":{"":"x"}}', -32602, null],
      ['{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600, null],
      [rpc('NoSuchMethod', {}), -32601, 1],
      [rpc('SendMessage', {}), -32602, 1],
      [rpc('GetTask', { id: 'nope' }), -32001, 1],
    ];
    for (const [body, code, id] of cases) {
      const answer = await call(url, body);
      expect([answer.status, errorOf(answer.body).code, answer.body.id]).toEqual([200, code, id]);
    }
  });

  test('errors carry ErrorInfo, and the fields at fault', async () => {
    const url = await start();
    const { body } = await call(
      url,
      rpc('SendMessage', { message: { role: 'ROLE_USER', parts: [] } }),
    );
    const { data } = errorOf(body) as unknown as { data: JsonObject[] };
    expect(data[0]).toMatchObject({ reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' });
    const violations = data[1]?.fieldViolations as { field: string }[] | undefined;
    const fields = violations?.map(({ field }) => field);
    expect(fields).toContain('message.messageId');
    expect(fields).toContain('message.parts');
  });

  test('VER-SERVER: the version is checked on every operation', async () => {
    const url = await start();
    const get = rpc('GetTask', { id: 'nope' });
    const json = { 'content-type': 'application/json' };
    const codes = async (headers: Record<string, string>, body = get, query = '') =>
      errorOf((await call(`${url}/${query}`, body, headers)).body).code;
    expect(await codes({ ...json, 'a2a-version': '1.0' })).toBe(-32001);
    expect(await codes({ ...json, 'a2a-version': '1.0.5' })).toBe(-32001);
    expect(await codes(json, get, '?A2A-Version=1.0')).toBe(-32001);
    expect(await codes(json)).toBe(-32009);
    expect(await codes({ ...json, 'a2a-version': '2.0' })).toBe(-32009);
    expect(await codes({ ...json, 'a2a-version': '1.0' }, rpc('tasks/get', { id: 'nope' }))).toBe(
      -32601,
    );
    expect(await codes(json, rpc('tasks/get', { id: 'nope' }))).toBe(-32001);
  });

  test('the lenient mode takes PascalCase without a header as 1.0', async () => {
    const url = await start({ isLenient: true });
    const { body } = await call(url, rpc('SendMessage', say('hi')), {
      'content-type': 'application/json',
    });
    expect(body).toHaveProperty('result.task.status.state', 'TASK_STATE_COMPLETED');
  });

  test("a server that is compatible with RockBot's gateway takes what its clients send", async () => {
    const url = await start({ compatibility: 'rockbot', push: {} });
    const headers = { 'content-type': 'application/json' };
    const params = {
      message: { role: 'user', parts: [{ text: 'What is the weather?' }] },
      metadata: { skill: 'notify-user' },
    };
    for (const method of ['SendMessage', 'message/send']) {
      const { body } = await call(url, rpc(method, params), headers);
      expect(body).toHaveProperty('result.task.status.state', 'TASK_STATE_COMPLETED');
    }
    const stream = await fetch(url, {
      method: 'POST',
      headers,
      body: rpc('message/sendStream', params),
    });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    expect(await stream.text()).toContain('TASK_STATE_COMPLETED');
    const { body: sent } = await call(url, rpc('SendMessage', params), headers);
    const id = (sent as unknown as { result: { task: { id: string } } }).result.task.id;
    const nested = { taskId: id, configId: 'c1', config: { url: 'https://example.com/hook' } };
    await call(url, rpc('CreateTaskPushNotificationConfig', nested), headers);
    const listing = rpc('ListTaskPushNotificationConfig', { taskId: id });
    expect((await call(url, listing, headers)).body).toMatchObject({
      result: { configs: [{ id: 'c1', taskId: id, url: 'https://example.com/hook' }] },
    });
    expect(errorOf((await call(url, rpc('no/such', {}), headers)).body).code).toBe(-32601);
    const legacy = {
      message: { ...params.message, messageId: 'm', parts: [{ kind: 'text', text: 'x' }] },
    };
    const { body: former } = await call(url, rpc('message/send', legacy), headers);
    expect(former).toHaveProperty('result.status.state', 'completed');
  });

  test('RockBot gets the text of artifacts in the status message, clients of a stated version do not', async () => {
    const writer = agent({ name: 'writer' }, async function* () {
      yield chunk('a', 'One ');
      yield chunk('a', 'two', { append: true, last: true });
    });
    const url = await start({ compatibility: 'rockbot' }, writer);
    const headers = { 'content-type': 'application/json' };
    const params = { message: { role: 'user', parts: [{ text: 'Count' }] } };
    const { body } = await call(url, rpc('SendMessage', params), headers);
    expect(body).toHaveProperty('result.task.status.message.parts', [{ text: 'One two' }]);
    const { id } = (body as unknown as { result: { task: { id: string } } }).result.task;
    const got = await call(url, rpc('GetTask', { id }), headers);
    expect(got.body).toHaveProperty('result.status.message.parts', [{ text: 'One two' }]);
    const streaming = rpc('message/sendStream', params);
    const stream = await fetch(url, { method: 'POST', headers, body: streaming });
    const last = (await stream.text()).trim().split('\n').at(-1) ?? '';
    expect(last).toContain('"parts":[{"text":"One two"}]');
    const stated = { ...headers, 'a2a-version': '1.0' };
    const plain = await call(url, rpc('GetTask', { id }), stated);
    expect(plain.body).not.toHaveProperty('result.status.message');
  });

  test('a message in flight answers HTTP 409 with a JSON-RPC error', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = agent({ name: 'slow' }, async function* () {
      await gate.promise;
      yield artifact('x');
    });
    const url = await start({}, slow);
    const body = rpc('SendMessage', say('x', { contextId: 'c' }));
    const first = call(url, body);
    await expect.poll(() => server?.router.engine.runningTurns).toBe(1);
    const second = await call(url, body);
    expect([second.status, errorOf(second.body).code]).toEqual([409, -32050]);
    expect(second.headers.get('retry-after')).toBe('1');
    gate.resolve();
    await first;
  });

  test('CONTENT_TYPE: a body that is not JSON by its own word is -32005', async () => {
    const url = await start();
    const { body } = await call(url, rpc('GetTask', { id: 'x' }), {
      ...v1Headers,
      'content-type': 'text/plain',
    });
    expect(errorOf(body).code).toBe(-32005);
  });
});

describe('streams', () => {
  async function frames(response: Response): Promise<string[]> {
    return (await response.text()).split('\n\n').filter((frame) => frame !== '');
  }

  test('JSONRPC-SSE: every frame has an id and one line of data', async () => {
    const url = await start();
    const response = await fetch(url, {
      method: 'POST',
      headers: v1Headers,
      body: rpc('SendStreamingMessage', say('hi'), 'abc'),
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const all = await frames(response);
    expect(all).toHaveLength(4);
    for (const [index, frame] of all.entries()) {
      const [id, data, ...rest] = frame.split('\n');
      expect(id).toBe(`id: ${index + 1}`);
      expect(JSON.parse(data?.slice(6) ?? '')).toMatchObject({ jsonrpc: '2.0', id: 'abc' });
      expect(rest).toEqual([]);
    }
  });

  test('an error before the first event is a plain response', async () => {
    const url = await start();
    const response = await fetch(url, {
      method: 'POST',
      headers: v1Headers,
      body: rpc('SubscribeToTask', { id: 'nope' }),
    });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toHaveProperty('error.code', -32001);
  });

  test('Last-Event-ID resumes a subscription by both verbs', async () => {
    const url = await start();
    const { body } = await call(`${url}/message:send`, JSON.stringify(say('hi')));
    const { id } = (body as unknown as { task: { id: string } }).task;
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${url}/tasks/${id}:subscribe`, {
        method,
        headers: { 'a2a-version': '1.0', 'last-event-id': '2' },
      });
      const all = await frames(response);
      expect(all.map((frame) => frame.split('\n')[0])).toEqual(['id: 3', 'id: 4']);
    }
  });

  test('a client that leaves does not cancel its task', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = agent({ name: 'slow' }, async function* () {
      yield chunk('a', 'one');
      await gate.promise;
      yield chunk('a', 'two', { append: true, last: true });
    });
    const url = await start({}, slow);
    const leaving = new AbortController();
    const response = await fetch(url, {
      method: 'POST',
      headers: v1Headers,
      body: rpc('SendStreamingMessage', say('hi')),
      signal: leaving.signal,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    leaving.abort();
    gate.resolve();
    const list = async () =>
      (await (await fetch(`${url}/tasks`, { headers: v1Headers })).json()) as {
        tasks: { status: { state: string } }[];
      };
    await expect
      .poll(async () => (await list()).tasks[0]?.status.state)
      .toBe('TASK_STATE_COMPLETED');
  });

  test('keep-alive comments keep an idle stream open', async () => {
    const url = await start({ limits: { keepAliveMs: 5 } });
    const { body } = await call(`${url}/message:send`, JSON.stringify(say('ask')));
    const { id } = (body as unknown as { task: { id: string } }).task;
    const leaving = new AbortController();
    const response = await fetch(`${url}/tasks/${id}:subscribe`, {
      headers: v1Headers,
      signal: leaving.signal,
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes(': keep-alive')) text += (await reader?.read())?.value ?? '';
    leaving.abort();
    expect(text).toContain('id: ');
  });

  test('closing the server ends streams with a last comment, and the task continues elsewhere', async () => {
    const url = await start();
    const { body } = await call(`${url}/message:send`, JSON.stringify(say('ask')));
    const { id } = (body as unknown as { task: { id: string } }).task;
    const response = await fetch(`${url}/tasks/${id}:subscribe`, { headers: v1Headers });
    const text = response.text();
    await server?.close();
    expect(await text).toMatch(/: the server is shutting down/);
  });
});

describe('HTTP hygiene', () => {
  test('unknown paths, methods, encodings and sizes are refused in JSON', async () => {
    const url = await start({ limits: { maxBodyBytes: 1_000 } });
    const status = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${url}${path}`, init);
      const type = response.headers.get('content-type') ?? '';
      expect(type).toContain('json');
      expect(await response.text()).not.toMatch(/at .*\.[tj]s/);
      return response.status;
    };
    expect(await status('/nowhere')).toBe(404);
    expect(await status('/tasks/x/y/z/w')).toBe(404);
    expect(await status('/', { method: 'GET' })).toBe(405);
    expect(await status('/tasks', { method: 'PUT' })).toBe(405);
    expect(await status('/.well-known/agent-card.json', { method: 'POST' })).toBe(405);
    const post = (body: string, headers = {}) =>
      status('/', { method: 'POST', headers: { ...v1Headers, ...headers }, body });
    const padded = (length: number) => {
      const rest = rpc('GetTask', { id: 'x', pad: '' }).length;
      return rpc('GetTask', { id: 'x', pad: 'p'.repeat(length - rest) });
    };
    expect(await post(padded(1_000))).toBe(200);
    expect(await post(padded(1_001))).toBe(413);
    expect(await post(rpc('GetTask', { id: 'x' }), { 'content-encoding': 'gzip' })).toBe(415);
  });

  test('a body without a declared length is bounded too', async () => {
    const url = new URL(await start({ limits: { maxBodyBytes: 1_000 } }));
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const outgoing = httpRequest(url, { method: 'POST', headers: v1Headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      outgoing.on('error', reject);
      outgoing.write('x'.repeat(800));
      outgoing.end('x'.repeat(800));
    });
    expect(status).toBe(413);
  });

  test('a body that does not arrive in time is abandoned', async () => {
    await start({ limits: { bodyTimeoutMs: 20 } });
    const socket = connect(server?.port ?? 0, '127.0.0.1');
    const { promise, resolve } = Promise.withResolvers<string>();
    socket.on('data', (data) => resolve(data.toString()));
    socket.write(
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    );
    expect(await promise).toContain('408');
    socket.destroy();
  });

  test('JSON nested deeper than allowed is refused, at the bound it is taken', async () => {
    const url = await start({ limits: { maxJsonDepth: 10 } });
    // The envelope, its params, the message, its metadata: four levels before the nesting begins.
    const nested = (levels: number) =>
      rpc(
        'SendMessage',
        say('x', { metadata: { a: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) } }),
      );
    expect((await call(url, nested(6))).body).toHaveProperty('result');
    expect(errorOf((await call(url, nested(7))).body).code).toBe(-32700);
  });

  test('health tells that the process lives, readiness that it takes requests', async () => {
    const url = await start();
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect((await fetch(`${url}/ready`)).status).toBe(200);
  });

  test('context hints are set only where they are asked for', async () => {
    const without = await call(await start(), rpc('SendMessage', say('x', { contextId: 'c-1' })));
    expect(without.headers.get('x-a2a-context-id')).toBeNull();
    await server?.close();
    const hinted = await call(
      await start({ setsContextHints: true }),
      rpc('SendMessage', say('x', { contextId: 'c-1' })),
    );
    expect(hinted.headers.get('x-a2a-context-id')).toBe('c-1');
    expect(hinted.headers.get('set-cookie')).toContain('a2a-context-id=c-1');
  });
});

describe('card', () => {
  test('CARD-CACHE: both paths, an ETag with 304, Last-Modified, and the right shape per version', async () => {
    const url = await start();
    for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json']) {
      const plain = await fetch(url + path);
      const card = (await plain.json()) as JsonObject;
      expect(card).toHaveProperty('supportedInterfaces');
      expect(card).toHaveProperty('url');
      expect(plain.headers.get('cache-control')).toContain('max-age');
      expect(plain.headers.get('vary')).toBe('A2A-Version');
      const pure = await fetch(url + path, { headers: { 'a2a-version': '1.0' } });
      expect(await pure.json()).not.toHaveProperty('url');
      expect(await (await fetch(`${url}${path}?A2A-Version=1.0`)).json()).not.toHaveProperty('url');
      const etag = plain.headers.get('etag') ?? '';
      expect(etag).not.toBe(pure.headers.get('etag'));
      const cached = await fetch(url + path, { headers: { 'if-none-match': `"other", ${etag}` } });
      expect(cached.status).toBe(304);
      const since = plain.headers.get('last-modified') ?? '';
      expect((await fetch(url + path, { headers: { 'if-modified-since': since } })).status).toBe(
        304,
      );
    }
  });

  test('the extended card is unsupported unless declared, and only then a matter of credentials', async () => {
    const auth = new Authenticator({
      verifiers: [bearerTokenVerifier({ tokens: [{ token: 'secret', subject: 'ann' }] })],
      allowAnonymous: true,
    });
    const read = (url: string, headers: Record<string, string> = {}) =>
      call(url, rpc('GetExtendedAgentCard', undefined), { ...v1Headers, ...headers });
    for (const options of [{}, { auth }]) {
      expect(errorOf((await read(await start(options))).body).code).toBe(-32004);
      await server?.close();
    }
    const declared = await start({ card: { capabilities: { extendedAgentCard: true } } });
    expect(errorOf((await read(declared)).body).code).toBe(-32007);
    await server?.close();
    const extendedCard: ServeOptions['extendedCard'] = (_caller, card) => ({
      ...card,
      description: 'extended',
    });
    const configured = await start({ auth, extendedCard });
    expect((await read(configured)).status).toBe(401);
    const { body } = await read(configured, { authorization: 'Bearer secret' });
    expect(body).toHaveProperty('result.description', 'extended');
  });

  test('13.3: an extended card without a declared scheme keeps the server from starting', async () => {
    const hidden = bearerTokenVerifier({ tokens: [{ token: 'secret', subject: 'ann' }] });
    const auth = new Authenticator({ verifiers: [{ ...hidden, schemes: {} }] });
    for (const options of [{}, { auth }]) {
      await expect(start({ ...options, extendedCard: true })).rejects.toMatchObject({
        code: 'CONFIGURATION_INVALID',
        message: expect.stringContaining('set auth'),
      });
    }
  });
});

describe('media types', () => {
  test('what the card declares is accepted, and all else is refused with the list', async () => {
    const url = await start({ card: { defaultInputModes: ['text/plain', 'image/*'] } });
    const sent = async (part: JsonObject) =>
      (await call(url, rpc('SendMessage', say('', { parts: [part] })))).body;
    const accepted: JsonObject[] = [
      { text: 'x' },
      { text: 'x', mediaType: 'text/plain; charset=utf-8' },
      { text: 'x', mediaType: 'text/markdown' },
      { raw: 'AA==', mediaType: 'image/png' },
    ];
    for (const part of accepted) expect(await sent(part)).toHaveProperty('result.task');
    const refused: JsonObject[] = [
      { raw: 'AA==', mediaType: 'text/csv' },
      { data: {}, mediaType: 'application/json' },
      { text: 'x', mediaType: 'application/x-unknown' },
    ];
    for (const part of refused) {
      const { code, message } = errorOf(await sent(part));
      expect([code, message]).toEqual([-32005, expect.stringContaining('text/plain, image/*')]);
    }
  });

  test('a data part of any JSON type is JSON', async () => {
    const url = await start();
    const part = { data: {}, mediaType: 'application/vnd.order+json' };
    const { body } = await call(url, rpc('SendMessage', say('', { parts: [part] })));
    expect(body).toHaveProperty('result.task');
  });
});

describe('REST', () => {
  test('HTTP_JSON-CT: the media type of the answer follows the request', async () => {
    const url = await start();
    const types = async (headers: Record<string, string>) =>
      (await fetch(`${url}/tasks`, { headers: { ...v1Headers, ...headers } })).headers.get(
        'content-type',
      );
    expect(await types({})).toBe('application/json');
    expect(await types({ accept: 'application/a2a+json' })).toBe('application/a2a+json');
    for (const type of ['application/a2a+json', 'application/json']) {
      const sent = await fetch(`${url}/message:send`, {
        method: 'POST',
        headers: { ...v1Headers, 'content-type': type },
        body: JSON.stringify(say('x')),
      });
      expect([sent.status, sent.headers.get('content-type')]).toEqual([200, type]);
      expect(await sent.json()).toHaveProperty('task.status.state', 'TASK_STATE_COMPLETED');
    }
  });

  test('HTTP_JSON-QP: query parameters are read as their fields', async () => {
    const url = await start();
    await call(`${url}/message:send`, JSON.stringify(say('x', { contextId: 'c' })));
    const list = await fetch(
      `${url}/tasks?contextId=c&status=TASK_STATE_COMPLETED&pageSize=1&includeArtifacts=true&historyLength=0`,
      { headers: v1Headers },
    );
    const { tasks, totalSize } = (await list.json()) as { tasks: JsonObject[]; totalSize: number };
    expect(totalSize).toBe(1);
    expect(tasks[0]).toHaveProperty('artifacts');
    expect(tasks[0]).not.toHaveProperty('history');
    expect((await fetch(`${url}/tasks?pageSize=0`, { headers: v1Headers })).status).toBe(400);
  });

  test('0.3 lives under /v1 and spells things as its proto does', async () => {
    const url = await start();
    const response = await fetch(`${url}/v1/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] },
      }),
    });
    const { task } = (await response.json()) as { task: { id: string } };
    const got = await fetch(`${url}/v1/tasks/${task.id}`);
    expect(await got.json()).toMatchObject({
      id: task.id,
      history: [{ content: [{ text: 'hi' }] }],
    });
    expect((await fetch(`${url}/v1/tasks/nope`)).status).toBe(404);
  });

  test('tenants by path are kept apart, and must agree with the body', async () => {
    const url = await start();
    const sent = await call(`${url}/acme/message:send`, JSON.stringify(say('x')));
    const { id } = (sent.body as unknown as { task: { id: string } }).task;
    const status = async (path: string) =>
      (await fetch(`${url}${path}`, { headers: v1Headers })).status;
    expect(await status(`/acme/tasks/${id}`)).toBe(200);
    expect(await status(`/tasks/${id}`)).toBe(404);
    expect(await status(`/other/tasks/${id}`)).toBe(404);
    const mixed = await call(
      `${url}/acme/message:send`,
      JSON.stringify({ ...say('x'), tenant: 'other' }),
    );
    expect(mixed.status).toBe(400);
  });
});

test('a client that gives up waiting is not an error of the server', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const held = agent({ name: 'held' }, async function* () {
    await opened;
    yield artifact('x');
  });
  const events: string[] = [];
  const note = (_fields: object, event?: string): void => void events.push(event ?? '');
  const logger: Logger = {
    debug: () => {},
    info: note,
    warn: note,
    error: note,
    child: () => logger,
  };
  const url = await start({ logger }, held);
  const send = (messageId: string, signal?: AbortSignal): Promise<Response> =>
    fetch(`${url}/message:send`, {
      method: 'POST',
      headers: v1Headers,
      body: JSON.stringify(say('x', { messageId, contextId: 'c' })),
      ...(signal !== undefined && { signal }),
    });
  const first = send('1');
  const inFlight = async (messageId: string): Promise<number> => (await send(messageId)).status;
  await expect.poll(() => inFlight('1')).toBe(409);
  const leaving = new AbortController();
  const second = send('2', leaving.signal);
  second.catch(() => undefined);
  await expect.poll(() => inFlight('2')).toBe(409);
  leaving.abort();
  await expect(second).rejects.toThrow();
  open();
  expect((await first).status).toBe(200);
  await expect.poll(() => inFlight('2')).toBe(200);
  expect(events.filter((event) => event.endsWith('internal_error'))).toEqual([]);
});

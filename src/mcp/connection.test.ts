import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { Logger } from '../telemetry/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { authenticationHeaders } from './authentication.ts';
import { McpConnection } from './connection.ts';
import { authenticated } from './open-transport.ts';
import type { McpServerConfig, McpStdioServer } from './server-config.ts';
import { startHttpSample } from './testing/http-server.ts';
import { metaOf, selectTools } from './tool-set.ts';

const open: McpConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

function connectionTo(config: McpServerConfig, clock?: { now(): number }): McpConnection {
  const connection = new McpConnection({ maxRetries: 0, ...config }, clock);
  open.push(connection);
  return connection;
}

function program(more: Partial<McpStdioServer> = {}): McpStdioServer {
  return {
    name: 'sample',
    command: process.execPath,
    args: [join(import.meta.dirname, 'testing/stdio-server.ts')],
    ...more,
  };
}

test('tools of a program are listed and called', async () => {
  const connection = connectionTo(program());
  const tools = await connection.tools();
  expect(tools.map(({ name }) => name)).toEqual([
    'add',
    'meta.echo',
    'picture',
    'fail',
    'hang',
    'die',
  ]);
  expect(tools[0]).toMatchObject({ description: 'Adds numbers.', isReadOnly: true });
  const [add] = tools;
  if (add === undefined) throw new Error('no tool');
  expect(await connection.call(add, { a: 2, b: 3 })).toEqual({
    isError: false,
    parts: [{ text: '5' }],
    text: '5',
    structured: { sum: 5 },
  });
});

/** A file that programs note their starts in. */
async function startsFile(): Promise<{ path: string; count: () => Promise<number> }> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-mcp-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'starts');
  const count = async () => (await readFile(path, 'utf8')).split('\n').length - 1;
  return { path, count };
}

test('a program is started once, and again when it has ended', async () => {
  const { path, count } = await startsFile();
  const connection = connectionTo(program({ env: { STARTS: path } }));
  expect(await connection.tools()).toHaveLength(6);
  expect(await count()).toBe(1);
  await expect(connection.call({ name: 'die' }, {})).rejects.toThrow();
  expect(await connection.tools()).toHaveLength(6);
  expect(await count()).toBe(2);
});

test('a program that ends when it is asked for its version is not asked again', async () => {
  const { path, count } = await startsFile();
  const connection = connectionTo(
    program({
      args: [join(import.meta.dirname, 'testing/stubborn-server.ts')],
      env: { STARTS: path },
    }),
  );
  expect(await connection.tools()).toEqual([]);
  expect(await count()).toBe(2);
});

test('tools behind an address are listed and called', async () => {
  await using server = await startHttpSample();
  const connection = connectionTo({ name: 'sample', url: server.url });
  expect(await connection.tools()).toHaveLength(6);
  expect(await connection.call({ name: 'add' }, { a: 2, b: 3 })).toMatchObject({
    structured: { sum: 5 },
  });
  const { parts } = await connection.call({ name: 'picture' }, {});
  expect(parts).toEqual([
    { text: 'here' },
    { raw: 'AAAA', mediaType: 'image/png' },
    { text: 'inside', mediaType: 'text/plain' },
    { url: 'https://example.com/b', filename: 'b' },
  ]);
});

test('what goes along as _meta arrives', async () => {
  await using server = await startHttpSample();
  const connection = connectionTo({ name: 'sample', url: server.url });
  const meta = metaOf(
    {
      static: { channel: 'web' },
      fromSlots: [
        { slot: 'customer', param: 'customer_id' },
        { slot: 'unset', param: 'never' },
      ],
    },
    (slot) => (slot === 'customer' ? 'c-1' : undefined),
  );
  const { text } = await connection.call({ name: 'meta.echo' }, {}, { meta });
  expect(JSON.parse(text)).toEqual({ channel: 'web', customer_id: 'c-1' });
});

test('a tool that fails says so; a tool that is not there is an error', async () => {
  await using server = await startHttpSample();
  const connection = connectionTo({ name: 'sample', url: server.url });
  expect(await connection.call({ name: 'fail' }, {})).toMatchObject({
    isError: true,
    text: 'no such file',
  });
  await expect(connection.call({ name: 'missing' }, {})).rejects.toMatchObject({
    code: 'PEER_INVALID',
  });
});

test('each tool has its own timeout, and an aborting caller cancels the call', async () => {
  await using server = await startHttpSample();
  const connection = connectionTo({
    name: 'sample',
    url: server.url,
    toolTimeouts: { hang: 50 },
  });
  await expect(connection.call({ name: 'hang' }, {})).rejects.toMatchObject({
    code: 'REQUEST_TIMEOUT',
  });
  const controller = new AbortController();
  const call = connection.call(
    { name: 'hang' },
    {},
    { timeoutMs: 60_000, signal: controller.signal },
  );
  await expect.poll(() => server.calls['hang']).toBe(2);
  controller.abort();
  await expect(call).rejects.toThrow();
  await expect.poll(() => server.calls['hang aborted']).toBe(2);
});

test('include and exclude choose among the tools', async () => {
  await using server = await startHttpSample();
  const connection = connectionTo({ name: 'sample', url: server.url });
  const names = async (selection: object) =>
    (await selectTools(connection, selection)).map(({ name }) => name);
  expect(await names({ include: ['fail', 'add'] })).toEqual(['add', 'fail']);
  expect(await names({ exclude: ['hang', 'die', 'fail'] })).toEqual([
    'add',
    'meta.echo',
    'picture',
  ]);
  await expect(names({ include: ['nothing'] })).rejects.toThrow(
    /has no tool named nothing; it has add/,
  );
  expect(await names({ include: ['fail', 'add'], exclude: ['fail'] })).toEqual(['add']);
});

test('the list of tools is kept for its time', async () => {
  await using server = await startHttpSample();
  let now = 0;
  const connection = connectionTo(
    { name: 'sample', url: server.url, listTtlMs: 1_000 },
    { now: () => now },
  );
  await connection.tools();
  const asked = server.requests.length;
  await connection.tools();
  expect(server.requests).toHaveLength(asked);
  now = 1_000;
  await connection.tools();
  expect(server.requests.length).toBeGreaterThan(asked);
});

test('too many tools are refused', async () => {
  await using server = await startHttpSample();
  const connection = connectionTo({ name: 'sample', url: server.url, maxTools: 5 });
  await expect(connection.tools()).rejects.toThrow(/offers 6 tools, more than the limit of 5/);
});

test('a program that died is started again for the next call, but not for the one that killed it', async () => {
  const connection = connectionTo(program());
  await expect(connection.call({ name: 'die' }, {})).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
  });
  expect(await connection.call({ name: 'add' }, { a: 1, b: 1 })).toMatchObject({ text: '2' });
});

test('a server that comes back is found again', async () => {
  const first = await startHttpSample();
  const connection = connectionTo({ name: 'sample', url: first.url });
  await connection.call({ name: 'add' }, { a: 1, b: 1 });
  await first.close();
  await expect(connection.call({ name: 'add' }, { a: 1, b: 1 })).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
  });
  await using again = await startHttpSample({ port: first.port });
  expect(await connection.call({ name: 'add' }, { a: 1, b: 2 })).toMatchObject({ text: '3' });
  expect(again.calls).toEqual({ add: 1 });
});

test('an error names what a connection failed of', async () => {
  const { url, port, ...server } = await startHttpSample();
  await server.close();
  const connection = connectionTo({ name: 'sample', url, maxRetries: 0 });
  await expect(connection.tools()).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
    message: `MCP server "sample": connect ECONNREFUSED 127.0.0.1:${port}`,
  });
});

test('a connection is tried several times', async () => {
  let refusals = 2;
  await using server = await startHttpSample({
    guard: () => {
      refusals -= 1;
      return refusals >= 0 ? 503 : undefined;
    },
  });
  const connection = connectionTo({ name: 'sample', url: server.url, maxRetries: 3 });
  await connection.connect();
  expect(refusals).toBeLessThan(0);
});

test('an abort ends the wait for a connection', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<never>();
  const fetch = () => {
    asked.resolve();
    return answer.promise;
  };
  const connection = connectionTo({ name: 'sample', url: 'http://127.0.0.1:1', fetch });
  const caller = new AbortController();
  const { signal } = caller;
  const waiting = [connection.tools({ signal }), connection.call({ name: 'add' }, {}, { signal })];
  const ended = Promise.allSettled(waiting);
  await asked.promise;
  caller.abort(new Error('the caller left'));
  const reason = expect.objectContaining({ message: 'the caller left' });
  expect(await ended).toEqual(waiting.map(() => ({ status: 'rejected', reason })));
  answer.reject(new TypeError('fetch failed'));
});

test('a token that another request has renewed is not renewed again', async () => {
  let tokens = 0;
  const answers: ((status: number) => void)[] = [];
  const fetch = async (input: RequestInfo | URL) => {
    if (new URL(input instanceof Request ? input.url : input).pathname === '/token') {
      tokens += 1;
      return Response.json({ access_token: `token-${tokens}`, expires_in: 3600 });
    }
    const status = await new Promise<number>((resolve) => answers.push(resolve));
    return new Response(null, { status });
  };
  const origin = 'http://127.0.0.1:1';
  const oauth = { clientId: 'c', clientSecret: 's', tokenUrl: `${origin}/token` };
  const provider = authenticationHeaders({ kind: 'oauth', ...oauth }, { fetch });
  const send = authenticated(fetch, provider, new URL(origin));
  const answer = async (status: number) => {
    await expect.poll(() => answers.length).toBeGreaterThan(0);
    answers.shift()?.(status);
  };
  const first = send(origin);
  await expect.poll(() => answers.length).toBe(1);
  const second = send(origin);
  await expect.poll(() => answers.length).toBe(2);
  const [answerFirst, answerSecond] = answers.splice(0);
  answerFirst?.(401);
  await answer(200);
  expect((await first).status).toBe(200);
  answerSecond?.(401);
  await answer(200);
  expect((await second).status).toBe(200);
  expect(tokens).toBe(2);
});

test('credentials go along in the header that is named, and are renewed when refused', async () => {
  await using server = await startHttpSample({
    guard: ({ headers }) => (headers['x-key'] === 'Key k' ? undefined : 401),
  });
  const auth = {
    kind: 'api_key',
    key: 'k',
    headerName: 'X-Key',
    headerFormat: 'Key {key}',
  } as const;
  const good = connectionTo({ name: 'sample', url: server.url, auth });
  expect(await good.tools()).toHaveLength(6);
  const bad = connectionTo({
    name: 'sample',
    url: server.url,
    auth: { kind: 'token', token: 'x' },
  });
  await expect(bad.tools()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('credentials are not sent where anybody may read them', () => {
  const auth = { kind: 'token', token: 'hush' } as const;
  expect(() => new McpConnection({ name: 'far', url: 'http://far.example', auth })).toThrow(
    /use https/,
  );
  const headers = { 'X-Token': 'hush' };
  expect(() => new McpConnection({ name: 'far', url: 'http://far.example', headers })).toThrow(
    /use https/,
  );
  expect(() => new McpConnection({ name: 'odd', url: 'file:///x' })).toThrow(/http or https/);
});

test('a program sees its own variables only, and what it complains of is noted', async () => {
  const noted: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    debug: (fields, event) => {
      if (event === 'mcp.server.stderr') noted.push(fields['text']);
    },
  };
  process.env['LEGATE_TEST_SECRET'] = 'hush';
  try {
    const connection = connectionTo(program({ env: { SAMPLE: 'a value' }, logger }));
    await connection.connect();
    await expect.poll(() => noted).toContain('started with a value and no secret');
  } finally {
    delete process.env['LEGATE_TEST_SECRET'];
  }
});

test('a closed connection stays closed', async () => {
  const connection = connectionTo({ name: 'sample', url: 'http://127.0.0.1:1' });
  await connection.close();
  await expect(connection.tools()).rejects.toThrow(/was closed/);
});

import { status as grpcStatus, type ServiceError } from '@grpc/grpc-js';
import { execFile } from 'node:child_process';
import { connect as connectHttp2 } from 'node:http2';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { agent, chunk, completed, type Agent, textOf, working } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../auth/index.ts';
import { router, type Router, type RouterOptions, serve } from '../http/index.ts';
import { artifact, type JsonObject, type LegateError, type Task } from '../protocol/index.ts';
import { openStore } from '../store/index.ts';
import { anonymous } from '../tasks/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { grpcChannel, type GrpcServer, type ServeGrpcOptions, serveGrpc } from './index.ts';
import { GrpcClient, type GrpcClientOptions } from './testing/grpc-client.ts';

/** Lets a turn continue when told to. */
let gate = Promise.withResolvers<void>();

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield working();
  if (textOf(turn.message) === 'wait') await gate.promise;
  yield artifact(turn.message.parts);
});

const open: AsyncDisposable[] = [];
const clients: GrpcClient[] = [];
afterEach(async () => {
  gate.resolve();
  gate = Promise.withResolvers();
  for (const client of clients.splice(0)) client[Symbol.dispose]();
  for (const resource of open.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
});

interface Opened {
  readonly router: Router;
  readonly grpcServer: GrpcServer;
}

async function start(
  options: RouterOptions = {},
  grpc: ServeGrpcOptions = {},
  served: Agent = echo,
): Promise<Opened> {
  const made = await router(served, options);
  open.push(made);
  const grpcServer = await serveGrpc(made, grpc);
  open.push({ [Symbol.asyncDispose]: () => grpcServer.close({ graceMs: 0 }) });
  return { router: made, grpcServer };
}

async function clientOf(
  { grpcServer }: Opened,
  options: Partial<GrpcClientOptions> = {},
): Promise<GrpcClient> {
  const client = await GrpcClient.connect({ url: grpcServer.url, version: '1.0', ...options });
  clients.push(client);
  return client;
}

let messages = 0;
const say = (text: string, more: JsonObject = {}) => ({
  message: { messageId: `m${(messages += 1)}`, role: 'ROLE_USER', parts: [{ text }], ...more },
});

/** The states of a task, watched past the server. */
async function stateOf({ router: made }: Opened, id: string): Promise<string> {
  const task = await made.engine.getTask({ id }, { caller: anonymous, version: '1.0' });
  return task.value.status.state;
}

const failure = async (promise: Promise<unknown>): Promise<LegateError> =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: LegateError) => error,
  );

describe.each(['grpcChannel', 'serveGrpc'])('gRPC by %s', (way) => {
  test('a client that waits for the port reads gRPC in the first card', async () => {
    // The port of the server is only known once it listens, so the client starts with it.
    const former = await serve(echo);
    await former.close();
    const { port } = former;
    const first = (async (): Promise<string> => {
      for (;;) {
        const card = await fetch(`http://localhost:${port}/.well-known/agent-card.json`).catch(
          () => undefined,
        );
        if (card?.ok === true) return card.text();
      }
    })();
    const isChannel = way === 'grpcChannel';
    await using server = await serve(echo, { port, channels: isChannel ? [grpcChannel()] : [] });
    await using _separate = isChannel ? undefined : await serveGrpc(server.router);
    expect(await first).toContain('"GRPC"');
  });
});

test('gRPC of a channel shuts down with its server', async () => {
  const server = await serve(echo, { channels: [grpcChannel()] });
  const card = server.router.cards.current.supportedInterfaces;
  const client = await GrpcClient.connect({
    url: card.find(({ protocolBinding }) => protocolBinding === 'GRPC')?.url ?? '',
    version: '1.0',
  });
  clients.push(client);
  expect(await client.call('sendMessage', say('hi'))).toHaveProperty('task');
  await server.close();
  await expect(client.call('sendMessage', say('hi'))).rejects.toThrow();
});

test('the card is served again when gRPC cannot start', async () => {
  await using server = await serve(echo);
  const card = `${server.url}/.well-known/agent-card.json`;
  const starting = serveGrpc(server.router, { port: server.port });
  const asked = fetch(card);
  await expect(starting).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  expect((await asked).status).toBe(200);
  expect(await (await fetch(card)).text()).not.toContain('"GRPC"');
});

test('bytes of files are encoded twice where the service says so', async () => {
  const opened = await start({ legacyFileBytes: 'twice' });
  const client = await clientOf(opened, { version: '0.3' });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const file = { fileWithBytes: base64(base64('a file')), mimeType: 'text/plain' };
  const sent = await client.call('sendMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', content: [{ file }] },
    configuration: { blocking: true },
  });
  expect(JSON.stringify(sent)).toContain(file.fileWithBytes);
  const tasks = await opened.router.engine.listTasks(
    { includeArtifacts: true },
    { caller: anonymous, version: '1.0' },
  );
  expect(tasks.tasks[0]?.artifacts?.[0]?.parts[0]?.raw).toBe(base64('a file'));
});

describe('GRPC-META: version metadata', () => {
  test.each([
    ['1.0', '1.0', undefined],
    ['1.0', '1.0.5', undefined],
    ['1.0', '', 'VERSION_NOT_SUPPORTED'],
    ['1.0', '0.3', 'VERSION_NOT_SUPPORTED'],
    ['1.0', '9.9', 'VERSION_NOT_SUPPORTED'],
    ['0.3', '', undefined],
    ['0.3', '0.3.0', undefined],
    ['0.3', '1.0', 'VERSION_NOT_SUPPORTED'],
  ] as const)('service of %s, a2a-version %j: %s', async (version, stated, code) => {
    const client = await clientOf(await start(), { version });
    const error = await failure(
      client.call('getTask', version === '1.0' ? { id: 'no' } : { name: 'tasks/no' }, {
        metadata: { 'a2a-version': stated },
      }),
    );
    expect(error.code).toBe(code ?? 'TASK_NOT_FOUND');
  });

  test('a lenient service takes 1.0 without a statement', async () => {
    const client = await clientOf(await start({ isLenient: true }));
    const asked = client.call('getTask', { id: 'no' }, { metadata: { 'a2a-version': '' } });
    expect((await failure(asked)).code).toBe('TASK_NOT_FOUND');
  });
});

describe('extensions', () => {
  const uri = 'https://example.com/extension';
  const declared = (required: boolean) => ({
    card: { capabilities: { extensions: [{ uri, required }] } },
  });

  test.each([
    ['1.0', 'a2a-extensions'],
    ['0.3', 'x-a2a-extensions'],
  ] as const)('%s answers with those that are active in %s', async (version, name) => {
    const client = await clientOf(await start(declared(false)), { version });
    const seen = Promise.withResolvers<unknown>();
    const { message } = say('x');
    await client.call(
      'sendMessage',
      { message: { ...message, content: message.parts } },
      {
        metadata: { [name]: `${uri}, https://example.com/other` },
        onMetadata: (metadata) => seen.resolve(metadata.get(name)),
      },
    );
    expect(await seen.promise).toEqual([uri]);
  });

  test('a required one that is not declared refuses the message', async () => {
    const client = await clientOf(await start(declared(true)));
    const error = await failure(client.call('sendMessage', say('x')));
    expect(error.code).toBe('EXTENSION_SUPPORT_REQUIRED');
  });
});

describe('GRPC-ERR: statuses', () => {
  test('carry ErrorInfo, and the fields at fault', async () => {
    const client = await clientOf(await start());
    const { message } = say('x');
    const error = await failure(client.call('sendMessage', { message: { ...message, parts: [] } }));
    expect(error).toMatchObject({
      code: 'INVALID_PARAMS',
      message: 'message.parts: is required',
      violations: [{ field: 'message.parts', description: 'is required' }],
    });
    const missing = await failure(client.call('getTask', { id: 'no' }));
    expect(missing).toMatchObject({ code: 'TASK_NOT_FOUND', metadata: { taskId: 'no' } });
  });

  test('bad protobuf is INVALID_ARGUMENT', async () => {
    const client = await clientOf(await start());
    const path = client.pathOf('sendMessage');
    const error = await failure(client.send(path, Buffer.from('12ff', 'hex')));
    expect(error).toMatchObject({
      code: 'PARSE_ERROR',
      message: 'the message is not a valid SendMessageRequest in protobuf',
    });
  });

  test('a method that does not exist is UNIMPLEMENTED', async () => {
    const client = await clientOf(await start());
    for (const path of ['/lf.a2a.v1.A2AService/NoSuch', '/a2a.v1.A2AService/ListTasks']) {
      const error = await failure(client.send(path, Buffer.alloc(0)));
      expect(error.code).toBe(grpcStatus.UNIMPLEMENTED);
    }
  });

  test.each([
    ['1.0.1', grpcStatus.FAILED_PRECONDITION],
    ['1.0.0', grpcStatus.UNIMPLEMENTED],
  ] as const)('follow the error table of %s', async (errorProfile, code) => {
    const { grpcServer } = await start({ errorProfile });
    const headers = await rawCall(grpcServer, '/lf.a2a.v1.A2AService/GetExtendedAgentCard', {});
    expect(headers['grpc-status']).toBe(String(code));
    const details = Buffer.from(String(headers['grpc-status-details-bin']), 'base64');
    expect(details.toString('latin1')).toContain('type.googleapis.com/google.rpc.ErrorInfo');
    expect(details.toString('latin1')).toContain('UNSUPPORTED_OPERATION');
    expect(details.toString('latin1')).toContain('a2a-protocol.org');
    expect([...details.subarray(0, 2)]).toEqual([0x08, code]);
  });

  test('of internal failures say nothing of the inside', async () => {
    const store = await openStore({ type: 'memory' });
    open.push({ [Symbol.asyncDispose]: () => store.close() });
    vi.spyOn(store, 'load').mockRejectedValue(new Error('secret path /etc'));
    const client = await clientOf(await start({ store }));
    const error = await failure(client.call('getTask', { id: 'no' }));
    expect(error).toMatchObject({ code: 'INTERNAL', message: 'Internal error' });
  });
});

/** One call over bare HTTP/2, whose trailers come with its headers when it fails. */
async function rawCall(
  grpcServer: GrpcServer,
  path: string,
  options: { readonly ends?: boolean; readonly headers?: Record<string, string> },
): Promise<Record<string, unknown>> {
  const session = connectHttp2(`http://127.0.0.1:${grpcServer.port}`);
  try {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'a2a-version': '1.0',
      ...options.headers,
    });
    const answered = new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.on('response', resolve);
      stream.on('error', reject);
    });
    // An empty message in its frame: not compressed, of length 0.
    if (options.ends !== false) stream.end(Buffer.alloc(5));
    const headers = await answered;
    stream.close();
    return headers;
  } finally {
    session.close();
  }
}

describe('authentication', () => {
  const auth = new Authenticator({
    verifiers: [bearerTokenVerifier({ tokens: [{ token: 'right', subject: 'ann' }] })],
  });

  test('a stranger is refused before anything of the request is read', async () => {
    const opened = await start({ auth });
    const headers = await rawCall(opened.grpcServer, '/lf.a2a.v1.A2AService/SendMessage', {
      ends: false,
    });
    expect(headers).toMatchObject({
      'grpc-status': String(grpcStatus.UNAUTHENTICATED),
      'www-authenticate': 'Bearer realm="legate"',
    });
  });

  test('metadata carries credentials as headers do', async () => {
    const client = await clientOf(await start({ auth }));
    const asked = (authorization: string) =>
      failure(client.call('getTask', { id: 'no' }, { metadata: { authorization } }));
    expect((await asked('Bearer right')).code).toBe('TASK_NOT_FOUND');
    expect((await asked('Bearer wrong')).code).toBe('UNAUTHENTICATED');
  });

  test('tasks belong to their caller over every transport', async () => {
    const opened = await start({ auth });
    const client = await clientOf(opened, { metadata: { authorization: 'Bearer right' } });
    const { task } = (await client.call('sendMessage', say('x'))) as { task: Task };
    const asked = { id: task.id };
    const ann = { tenant: '', subject: 'ann', method: 'bearer-token' };
    const { engine } = opened.router;
    expect((await engine.getTask(asked, { caller: ann, version: '1.0' })).value.id).toBe(task.id);
    await expect(engine.getTask(asked, { caller: anonymous, version: '1.0' })).rejects.toThrow();
  });

  test('a refusal is one audit line with the operation and the caller', async () => {
    const denied: object[] = [];
    const warn: Logger['warn'] = (fields, event) => {
      if (fields['audit'] === 'denied') denied.push({ ...fields, event });
    };
    const logger: Logger = { ...silentLogger, warn };
    const callerLimits = { requestsPerSecond: 1, burst: 1, clock: { now: () => 0 } };
    const client = await clientOf(await start({ auth, logger, callerLimits }));
    const ask = (token: string) =>
      failure(
        client.call('getTask', { id: 'no' }, { metadata: { authorization: `Bearer ${token}` } }),
      );
    await ask('wrong');
    await ask('right');
    await ask('right');
    const what = '/lf.a2a.v1.A2AService/GetTask';
    expect(denied).toMatchObject([
      { event: 'audit.unauthenticated', what, address: '127.0.0.1' },
      { event: 'audit.limited', what, subject: 'ann', code: 'RATE_LIMITED' },
    ]);
    expect(JSON.stringify(denied)).not.toMatch(/wrong|right/);
  });

  test('clients that guess credentials are blocked before they are authenticated', async () => {
    const callerLimits = { failuresPerMinute: 2, clock: { now: () => 0 } };
    const client = await clientOf(await start({ auth, callerLimits }));
    const codes: string[] = [];
    for (const token of ['a', 'b', 'c', 'd', 'right']) {
      const metadata = { authorization: `Bearer ${token}` };
      codes.push((await failure(client.call('getTask', { id: 'no' }, { metadata }))).code);
    }
    expect(codes.slice(0, 2)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(codes.slice(-2)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
  });

  test('a remote address needs authentication', async () => {
    const made = await router(echo);
    open.push(made);
    await expect(serveGrpc(made, { host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
    });
  });
});

describe('limits', () => {
  test('a message at the bound is taken, one past it is RESOURCE_EXHAUSTED', async () => {
    const opened = await start(
      { maxEventSize: 4_000_000 },
      { limits: { maxMessageBytes: 200_000 } },
    );
    const client = await clientOf(opened);
    const request = say('');
    const overhead = client.encode('sendMessage', say('x'.repeat(100_000))).length - 100_000;
    const sized = (bytes: number) => ({
      message: { ...request.message, parts: [{ text: 'x'.repeat(bytes - overhead) }] },
    });
    expect(client.encode('sendMessage', sized(200_000))).toHaveLength(200_000);
    expect(await client.call('sendMessage', sized(200_000))).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
    const refused = await failure(client.call('sendMessage', sized(200_001)));
    expect(refused.code).toBe(grpcStatus.RESOURCE_EXHAUSTED);
  });

  test('what grows past the bound when it is unpacked is refused too', async () => {
    const opened = await start({}, { limits: { maxMessageBytes: 200_000 } });
    const client = await clientOf(opened, {
      channelOptions: { 'grpc.default_compression_algorithm': 2 },
    });
    expect(await client.call('sendMessage', say('x'.repeat(100_000)))).toHaveProperty('task');
    const refused = await failure(client.call('sendMessage', say('x'.repeat(1_000_000))));
    expect(refused.code).toBe(grpcStatus.RESOURCE_EXHAUSTED);
  });

  test('a request that does not arrive in time is DEADLINE_EXCEEDED', async () => {
    const { grpcServer } = await start({}, { limits: { arrivalTimeoutMs: 20 } });
    const headers = await rawCall(grpcServer, '/lf.a2a.v1.A2AService/SendMessage', { ends: false });
    expect(headers['grpc-status']).toBe(String(grpcStatus.DEADLINE_EXCEEDED));
  });

  test('streams of a caller are counted over all transports, and their permits are released', async () => {
    const opened = await start({ callerLimits: { openStreams: 1 } });
    const client = await clientOf(opened);
    const elsewhere = opened.router.service.callerLimits.stream(anonymous, '127.0.0.1');
    const refused = await failure(Array.fromAsync(client.stream('sendStreamingMessage', say('x'))));
    expect(refused).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 1 });
    elsewhere[Symbol.dispose]();
    for (let round = 0; round < 3; round += 1) {
      const events = await Array.fromAsync(client.stream('sendStreamingMessage', say('x')));
      expect(events.length).toBeGreaterThan(1);
    }
  });

  test('open streams take no place of calls: a caller with all its streams open can still cancel', async () => {
    const callerLimits = { concurrentRequests: 1, openStreams: 2 };
    const opened = await start({ callerLimits, cancelGraceMs: 50 });
    const client = await clientOf(opened);
    const streams = [1, 2].map(() => client.stream('sendStreamingMessage', say('wait')));
    for (const stream of streams) {
      const { value } = await stream.next();
      const { id } = (value as { task: { id: string } }).task;
      expect(await client.call('cancelTask', { id })).toMatchObject({ id });
    }
    for (const stream of streams) await stream.return();
  });

  test('concurrent requests of one caller are limited, and permits are released', async () => {
    const opened = await start({ callerLimits: { concurrentRequests: 1 } });
    const client = await clientOf(opened);
    const waiting = client.call('sendMessage', say('wait'));
    await expect.poll(() => opened.router.engine.runningTurns).toBe(1);
    expect((await failure(client.call('getTask', { id: 'no' }))).code).toBe('RATE_LIMITED');
    gate.resolve();
    await waiting;
    // The answer may be here before the place is free.
    await expect
      .poll(async () => (await failure(client.call('getTask', { id: 'no' }))).code)
      .toBe('TASK_NOT_FOUND');
  });
});

describe('deadlines and cancellation end the waiting only', () => {
  async function runningTask(opened: Opened): Promise<string> {
    await expect.poll(() => opened.router.engine.runningTurns).toBe(1);
    const { tasks } = await opened.router.engine.listTasks(
      {},
      { caller: anonymous, version: '1.0' },
    );
    return tasks[0]?.id ?? '';
  }

  test('a blocking send whose deadline passes is DEADLINE_EXCEEDED; the task continues', async () => {
    const opened = await start();
    const client = await clientOf(opened);
    const sent = failure(client.call('sendMessage', say('wait'), { deadlineMs: 100 }));
    const id = await runningTask(opened);
    expect((await sent).code).toBe(grpcStatus.DEADLINE_EXCEEDED);
    expect(await stateOf(opened, id)).toBe('TASK_STATE_WORKING');
    gate.resolve();
    await expect.poll(() => stateOf(opened, id)).toBe('TASK_STATE_COMPLETED');
  });

  test('a stream whose deadline passes ends; the task continues', async () => {
    const opened = await start();
    const client = await clientOf(opened);
    const events: unknown[] = [];
    const streamed = failure(
      (async () => {
        const stream = client.stream('sendStreamingMessage', say('wait'), { deadlineMs: 1_000 });
        for await (const event of stream) events.push(event);
      })(),
    );
    const id = await runningTask(opened);
    expect((await streamed).code).toBe(grpcStatus.DEADLINE_EXCEEDED);
    expect(events.length).toBeGreaterThan(0);
    gate.resolve();
    await expect.poll(() => stateOf(opened, id)).toBe('TASK_STATE_COMPLETED');
  });

  test('a stream that its caller cancels is let go of; the task continues', async () => {
    const opened = await start({ callerLimits: { openStreams: 1 } });
    const client = await clientOf(opened);
    for await (const event of client.stream('sendStreamingMessage', say('wait'))) {
      expect(event).toHaveProperty('task');
      break;
    }
    const id = await runningTask(opened);
    // Its place is free again, so the server has let go of it.
    await expect
      .poll(async () => {
        const stream = client.stream('subscribeToTask', { id });
        return stream.next().then(
          async ({ value }) => {
            await stream.return();
            return value;
          },
          (error: LegateError) => error.code,
        );
      })
      .toMatchObject({ task: { id } });
    gate.resolve();
    await expect.poll(() => stateOf(opened, id)).toBe('TASK_STATE_COMPLETED');
  });
});

test('a caller that does not read holds up neither the agent nor the memory, and misses nothing', async () => {
  const count = 400;
  const talker = agent({ name: 'talker' }, async function* () {
    for (let index = 0; index < count; index += 1) {
      yield chunk('a', `${index} `.padEnd(32 * 1024, '.'), { append: index > 0 });
    }
    yield completed();
  });
  const store = await openStore({ type: 'memory' });
  open.push({ [Symbol.asyncDispose]: () => store.close() });
  const reads = vi.spyOn(store, 'readEvents');
  const opened = await start({ store }, {}, talker);
  const client = await clientOf(opened);
  const call = client.open('sendStreamingMessage', say('go'));
  await expect
    .poll(async () => {
      const { tasks } = await opened.router.engine.listTasks(
        {},
        { caller: anonymous, version: '1.0' },
      );
      return tasks[0]?.status.state;
    })
    .toBe('TASK_STATE_COMPLETED');
  // All events are in the store, and of them only what may wait was fetched for the caller.
  const fetched = await Promise.all(reads.mock.results.map(({ value }) => value as Promise<[]>));
  expect(fetched.flat().length).toBeLessThan(count * 0.75);
  const seen: number[] = [];
  for await (const bytes of call) {
    const event = client.decode('sendStreamingMessage', bytes as Buffer) as {
      artifactUpdate?: { artifact: { parts: { text: string }[] } };
    };
    const text = event.artifactUpdate?.artifact.parts[0]?.text;
    if (text !== undefined) seen.push(Number.parseInt(text, 10));
  }
  expect(seen).toEqual(Array.from({ length: count }, (_, index) => index));
});

test('an answer that nests deeper than protobuf can tell is refused as such', async () => {
  let value: JsonObject | readonly JsonObject[] = { leaf: 1 };
  for (let level = 1; level < 48; level += 1) value = { value };
  const data = value;
  const deep = agent({ name: 'deep' }, async function* () {
    yield completed([{ data }]);
  });
  const opened = await start({}, {}, deep);
  const client = await clientOf(opened);
  const error = await failure(client.call('sendMessage', say('x')));
  expect(error.code).toBe('INVALID_AGENT_RESPONSE');
});

describe('the gRPC server', () => {
  test('the card lists gRPC while it is open: 1.0 before 0.3, after the HTTP interfaces', async () => {
    const { router: made, grpcServer } = await start({ url: 'http://e.com' }, { url: 'e.com:443' });
    const listed = () =>
      made.cards.current.supportedInterfaces.map(
        ({ url, protocolBinding, protocolVersion }) =>
          `${protocolBinding} ${protocolVersion} ${url}`,
      );
    expect(listed()).toEqual([
      'JSONRPC 1.0 http://e.com',
      'HTTP+JSON 1.0 http://e.com',
      'GRPC 1.0 e.com:443',
      'JSONRPC 0.3 http://e.com',
      'HTTP+JSON 0.3 http://e.com',
      'GRPC 0.3 e.com:443',
    ]);
    await grpcServer.close({ graceMs: 0 });
    expect(listed().join()).not.toContain('GRPC');
  });

  test('a closing server refuses new calls, and streams and calls in flight end with their turns', async () => {
    const opened = await start();
    const client = await clientOf(opened);
    const streamed = Array.fromAsync(client.stream('sendStreamingMessage', say('wait')));
    const sent = client.call('sendMessage', say('wait'));
    await expect.poll(() => opened.router.engine.runningTurns).toBe(2);
    const closed = opened.grpcServer.close({ graceMs: 60_000 });
    const late = await failure(client.call('getTask', { id: 'no' }));
    expect((late as unknown as ServiceError).code).toBe(grpcStatus.UNAVAILABLE);
    gate.resolve();
    expect(await sent).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    expect((await streamed).at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
    await closed;
  });

  test('closing ends streams whose turn does not end in time as UNAVAILABLE', async () => {
    const opened = await start();
    const client = await clientOf(opened);
    const streamed = failure(Array.fromAsync(client.stream('sendStreamingMessage', say('wait'))));
    await expect.poll(() => opened.router.engine.runningTurns).toBe(1);
    await opened.grpcServer.close({ graceMs: 100 });
    expect(await streamed).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the server is shutting down; subscribe again to continue',
    });
  });

  test('closing twice is closing once, and calls that never end do not hold it', async () => {
    const opened = await start();
    const client = await clientOf(opened);
    const sent = failure(client.call('sendMessage', say('wait')));
    await expect.poll(() => opened.router.engine.runningTurns).toBe(1);
    await Promise.all([
      opened.grpcServer.close({ graceMs: 10 }),
      opened.grpcServer.close({ graceMs: 10 }),
    ]);
    expect((await sent).code).toBeOneOf([grpcStatus.UNAVAILABLE, grpcStatus.CANCELLED]);
  });

  test('a port in use is said to be', async () => {
    const opened = await start();
    await expect(serveGrpc(opened.router, { port: opened.grpcServer.port })).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringContaining('in use'),
    });
  });

  test('gRPC is loaded when a server starts, not before', async () => {
    const program = `
      import { createRequire } from 'node:module';
      await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
      const loaded = Object.keys(createRequire(import.meta.url).cache);
      console.log(loaded.filter((path) => path.includes('@grpc')).length);
    `;
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout.trim()).toBe('0');
  });
});

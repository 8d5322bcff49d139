import { status } from '@grpc/grpc-js';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { agent, chunk, completed, textOf, working } from '../../agents/index.ts';
import { apiKeyVerifier, Authenticator, bearerTokenVerifier } from '../../auth/index.ts';
import { type Client, type ClientOptions, connect } from '../../client/index.ts';
import { router, type RouterOptions } from '../../http/index.ts';
import type { AgentCard, ProtocolVersion, Task } from '../../protocol/index.ts';
import { publicPolicy } from '../../push/index.ts';
import { grpcBinding, type GrpcBindingOptions, serveGrpc } from '../index.ts';
import {
  type Answer,
  cardOf,
  type ScriptedCall,
  startScriptedService,
  StatusError,
} from '../testing/scripted-service.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of open.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
});

type Options = ClientOptions & { readonly grpc?: GrpcBindingOptions };

async function reach(card: AgentCard, { grpc, ...options }: Options = {}): Promise<Client> {
  const client = await connect(card, { bindings: [grpcBinding(grpc)], retry: false, ...options });
  open.push(client);
  return client;
}

const writer = agent({ name: 'writer' }, async function* (turn) {
  yield working('thinking');
  yield chunk('text', 'Dear ');
  yield chunk('text', textOf(turn.message), { append: true, last: true });
  yield completed('written');
});

/** The card of an agent of ours, with its gRPC interfaces only. */
async function serveWriter(options: RouterOptions = {}): Promise<AgentCard> {
  const made = await router(writer, options);
  open.push(made);
  const grpcServer = await serveGrpc(made);
  open.push({ [Symbol.asyncDispose]: () => grpcServer.close({ graceMs: 0 }) });
  const { current } = made.cards;
  return { ...current, supportedInterfaces: grpcServer.interfaces };
}

async function script(
  answers: Parameters<typeof startScriptedService>[0],
  options: Parameters<typeof startScriptedService>[1] = {},
): Promise<AgentCard> {
  const service = await startScriptedService(answers, options);
  open.push(service);
  return service.card;
}

const task = (state: string): object => ({ id: 't1', contextId: 'c1', status: { state } });

/** Answers with a task, and notes what came along. */
function noting(calls: ScriptedCall[]): Answer {
  return (call) => {
    calls.push(call);
    return task('TASK_STATE_COMPLETED');
  };
}

describe.each(['1.0', '0.3'] as const)('A2A %s over gRPC', (version: ProtocolVersion) => {
  test('an agent is called, streams, and tells its errors', async () => {
    const client = await reach(await serveWriter(), { version });
    expect(client.interface).toMatchObject({ protocolBinding: 'GRPC', protocolVersion: version });
    const sent = await client.sendMessage('Ada');
    expect(sent).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
    const seen: string[] = [];
    let id = '';
    for await (const { response } of client.sendStreamingMessage('Bob')) {
      seen.push(...Object.keys(response));
      if ('task' in response) ({ id } = response.task);
    }
    expect(seen.filter((kind) => kind === 'artifactUpdate')).toHaveLength(2);
    expect(seen.at(-1)).toBe('statusUpdate');
    expect((await client.getTask(id)).artifacts?.[0]?.parts).toEqual([{ text: 'Dear Bob' }]);
    await expect(client.getTask('none')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  });
});

test('0.3 cannot list tasks over gRPC, and that is said without asking', async () => {
  const client = await reach(await serveWriter(), { version: '0.3' });
  await expect(client.listTasks()).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION' });
});

describe('what goes along with a request', () => {
  test('version, extensions, headers, a trace, and what is left of the time', async () => {
    const calls: ScriptedCall[] = [];
    const client = await reach(await script({ getTask: noting(calls) }), {
      extensions: ['https://a.example/x', 'https://a.example/y'],
      headers: { 'X-Region': 'eu', Connection: 'close' },
      timeoutMs: 60_000,
      onRequest: ({ headers, operation }) => headers.set('traceparent', `trace-of-${operation}`),
    });
    await client.getTask('t1', { headers: { 'X-One': '1' } });
    expect(calls[0]?.headers).toMatchObject({
      'a2a-version': '1.0',
      'a2a-extensions': 'https://a.example/x, https://a.example/y',
      'x-region': 'eu',
      'x-one': '1',
      traceparent: 'trace-of-getTask',
    });
    expect(calls[0]?.headers).not.toHaveProperty('connection');
    const left = (calls[0]?.deadline ?? 0) - Date.now();
    expect(left).toBeLessThanOrEqual(60_000);
    expect(left).toBeGreaterThan(0);
    await client.getTask('t1', { timeoutMs: 0 });
    expect(calls[1]?.deadline).toBe(Infinity);
  });

  test('the extensions of 0.3 have their older name', async () => {
    const calls: ScriptedCall[] = [];
    const card = await script({ getTask: noting(calls) }, { version: '0.3' });
    const client = await reach(card, { extensions: ['https://a.example/x'] });
    await client.getTask('t1');
    expect(calls[0]?.headers).toMatchObject({
      'a2a-version': '0.3',
      'x-a2a-extensions': 'https://a.example/x',
    });
  });

  test.each([
    ['a value beyond ASCII', { 'X-Name': 'Zoë' }],
    ['a name for bytes', { 'X-Name-bin': 'abc' }],
    ['a name that gRPC does not have', { 'X-Name!': 'abc' }],
  ])('%s is refused, and not quoted', async (_, headers) => {
    const client = await reach(await script({}), { headers });
    const failure = await client.getTask('t1').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(failure)).not.toMatch(/Zoë|abc/);
  });
});

describe('credentials', () => {
  test.each([
    ['a bearer token', { bearer: 'hunter2-token' }],
    ['an API key', { apiKey: { name: 'X-API-Key', value: 'hunter2-key' } }],
    ['headers that are made', { headers: () => ({ 'X-API-Key': 'hunter2-key' }) }],
  ])('%s reaches the agent', async (_, auth) => {
    const verifiers = [
      bearerTokenVerifier({ tokens: [{ token: 'hunter2-token', subject: 'us' }] }),
      apiKeyVerifier({ keys: [{ key: 'hunter2-key', subject: 'us' }] }),
    ];
    const card = await serveWriter({ auth: new Authenticator({ verifiers }) });
    const known = await reach(card, { auth });
    await expect(known.getTask('none')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    const unknown = await reach(card);
    await expect(unknown.getTask('none')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('headers that were refused are made again', async () => {
    const getTask: Answer = ({ headers }) => {
      if (headers['authorization'] === 'Bearer fresh') return task('TASK_STATE_COMPLETED');
      throw new StatusError(status.UNAUTHENTICATED, 'too old');
    };
    const asked: boolean[] = [];
    const client = await reach(await script({ getTask }), {
      auth: {
        headers: ({ isRejected }) => {
          asked.push(isRejected);
          return { Authorization: isRejected ? 'Bearer fresh' : 'Bearer stale' };
        },
      },
    });
    expect(await client.getTask('t1')).toMatchObject({ id: 't1' });
    expect(asked).toEqual([false, true]);
  });

  test.each([
    ['grpc://agent.example:50051', { auth: { bearer: 'hunter2' } }],
    ['http://agent.example:50051', { auth: { apiKey: { name: 'X-Key', value: 'hunter2' } } }],
    ['http://10.0.0.1:50051', { auth: { headers: () => ({ 'X-Mine': 'hunter2' }) } }],
    ['grpc://agent.example:50051', { headers: { Authorization: 'Bearer hunter2' } }],
  ])('never go to %s, which is plain text and not this machine', async (url, options) => {
    const client = await reach(cardOf(url), options);
    const failure = await client.sendMessage('hello').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringContaining('credentials are not sent to http://'),
    });
    expect(String(failure)).not.toContain('hunter2');
  });

  test('a key that belongs into a query is refused', async () => {
    const apiKey = { name: 'key', value: 'hunter2', location: 'query' } as const;
    const client = await reach(await script({}), { auth: { apiKey } });
    await expect(client.getTask('t1')).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });

  test('what a peer repeats of them is blacked out', async () => {
    const getTask: Answer = () => {
      throw new StatusError(status.PERMISSION_DENIED, 'hunter2 may not');
    };
    const client = await reach(await script({ getTask }), { auth: { bearer: 'hunter2' } });
    await expect(client.getTask('t1')).rejects.toThrow('[redacted] may not');
  });
});

/** A port of this machine where nobody listens. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('a peer that cannot be reached', () => {
  test('is an error that says so, also for streams', async () => {
    const client = await reach(cardOf(`127.0.0.1:${await deadPort()}`));
    await expect(client.getTask('t1')).rejects.toMatchObject({
      code: 'PEER_UNREACHABLE',
      message: expect.stringMatching(/^getTask at http:\/\/127\.0\.0\.1:\d+ did not answer: /),
    });
    await expect(Array.fromAsync(client.sendStreamingMessage('hello'))).rejects.toMatchObject({
      code: 'PEER_UNREACHABLE',
    });
  });

  test('is found when it is there, by a call that is repeated', async () => {
    const port = await deadPort();
    let pauses = 0;
    const client = await reach(cardOf(`127.0.0.1:${port}`), {
      retry: { attempts: 3 },
      sleep: async () => {
        pauses += 1;
        if (pauses === 1) await script({ getTask: noting([]) }, { port });
      },
    });
    expect(await client.getTask('t1')).toMatchObject({ id: 't1' });
  });

  test('does not speak gRPC', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push({ [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())) });
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    const client = await reach(cardOf(`127.0.0.1:${address.port}`));
    await expect(client.getTask('t1')).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
  });
});

describe('answers that are not in order', () => {
  test('bytes that are not message, and messages that are not task', async () => {
    const getTask: Answer = () => Buffer.from([0xff, 0xff, 0xff]);
    const cancelTask: Answer = () => ({ contextId: 'c1' });
    const client = await reach(await script({ getTask, cancelTask }));
    for (const call of [() => client.getTask('t1'), () => client.cancelTask('t1')]) {
      await expect(call()).rejects.toMatchObject({
        code: 'PEER_INVALID',
        message: expect.stringContaining('sent an invalid A2A response'),
      });
    }
  });

  test('answers and events beyond their bounds', async () => {
    const long = { text: 'x'.repeat(5_000) };
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [long] };
    const card = await script({
      sendMessage: () => ({ message }),
      sendStreamingMessage: async function* () {
        yield { message };
      },
    });
    const invalid = { code: 'PEER_INVALID' };
    for (const limits of [
      { maxBodySize: 4_000, maxEventSize: 4_000 },
      { maxBodySize: 4_000, maxEventSize: 10_000 },
      { maxBodySize: 10_000, maxEventSize: 4_000 },
    ]) {
      const client = await reach(card, limits);
      const sent = client.sendMessage('hello');
      if (limits.maxBodySize < 5_000) await expect(sent).rejects.toMatchObject(invalid);
      else expect(await sent).toMatchObject({ message: { messageId: 'm' } });
      const streamed = Array.fromAsync(client.sendStreamingMessage('hello'));
      if (limits.maxEventSize < 5_000) await expect(streamed).rejects.toMatchObject(invalid);
      else expect(await streamed).toHaveLength(1);
    }
  });
});

describe('giving up', () => {
  /** Never answers; tells when it was called, and when the caller gave up. */
  function silent(): { answer: Answer; called: Promise<void>; left: Promise<void> } {
    const called = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const answer: Answer = ({ signal }) => {
      signal.addEventListener('abort', () => left.resolve(), { once: true });
      called.resolve();
      return new Promise(() => undefined);
    };
    return { answer, called: called.promise, left: left.promise };
  }

  test('an abort ends a call with its reason, and the peer learns of it', async () => {
    const { answer, called, left } = silent();
    const client = await reach(await script({ getTask: answer }));
    const leaving = new AbortController();
    const call = client.getTask('t1', { signal: leaving.signal });
    await called;
    leaving.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await left;
  });

  test('a call that takes too long ends, and the peer learns of it', async () => {
    const { answer, left } = silent();
    const client = await reach(await script({ getTask: answer }));
    await expect(client.getTask('t1', { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
    });
    await left;
  });

  test('leaving a stream ends it there', async () => {
    const left = Promise.withResolvers<void>();
    const client = await reach(
      await script({
        sendStreamingMessage: async function* ({ signal }: ScriptedCall) {
          signal.addEventListener('abort', () => left.resolve(), { once: true });
          yield { task: task('TASK_STATE_WORKING') };
          await left.promise;
        },
      }),
    );
    for await (const { response } of client.sendStreamingMessage('hello')) {
      expect(response).toHaveProperty('task');
      break;
    }
    await left.promise;
  });
});

describe('streams', () => {
  test('one that breaks is taken up by subscribing, and nothing is told twice', async () => {
    const sent: unknown[] = [];
    const update = (text: string): object => ({
      artifactUpdate: {
        taskId: 't1',
        contextId: 'c1',
        artifact: { artifactId: text, parts: [{ text }] },
        lastChunk: true,
      },
    });
    const artifacts = [{ artifactId: 'one', parts: [{ text: 'one' }] }];
    const client = await reach(
      await script({
        sendStreamingMessage: async function* ({ json }: ScriptedCall) {
          sent.push(json);
          yield { task: task('TASK_STATE_WORKING') };
          yield update('one');
          throw new StatusError(status.UNAVAILABLE, 'going away');
        },
        subscribeToTask: async function* ({ json }: ScriptedCall) {
          expect(json).toMatchObject({ id: 't1' });
          yield { task: { ...task('TASK_STATE_WORKING'), artifacts } };
          yield update('two');
          const { status: end } = task('TASK_STATE_COMPLETED') as Task;
          yield { statusUpdate: { taskId: 't1', contextId: 'c1', status: end } };
        },
      }),
      { retry: { attempts: 3 }, sleep: () => Promise.resolve() },
    );
    const told: string[] = [];
    for await (const { response } of client.sendStreamingMessage('hello')) {
      if ('artifactUpdate' in response) told.push(response.artifactUpdate.artifact.artifactId);
      else told.push(Object.keys(response)[0] ?? '');
    }
    expect(told).toEqual(['task', 'one', 'two', 'statusUpdate']);
    expect(sent).toHaveLength(1);
  });

  test('an error before the first event is the error of the call', async () => {
    const client = await reach(await serveWriter());
    await expect(Array.fromAsync(client.subscribeToTask('none'))).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
  });
});

test('closing waits for what is under way, and a later call connects again', async () => {
  const called = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const client = await reach(
    await script({
      getTask: async () => {
        called.resolve();
        await gate.promise;
        return task('TASK_STATE_COMPLETED');
      },
    }),
  );
  const call = client.getTask('t1');
  await called.promise;
  await client.close();
  gate.resolve();
  expect(await call).toMatchObject({ id: 't1' });
  expect(await client.getTask('t1')).toMatchObject({ id: 't1' });
});

test('gRPC is loaded with the first call, not before', async () => {
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const program = `
    import { createRequire } from 'node:module';
    import { grpcBinding } from ${url('../index.ts')};
    import { connect } from ${url('../../client/index.ts')};
    const { cache } = createRequire(import.meta.url);
    const isLoaded = () => Object.keys(cache).some((path) => path.includes('@grpc'));
    const card = ${JSON.stringify(cardOf(`127.0.0.1:${await deadPort()}`))};
    const client = await connect(card, { bindings: [grpcBinding()], retry: false });
    const before = isLoaded();
    const { code } = await client.getTask('t1').catch((error) => error);
    console.log(JSON.stringify([before, code, isLoaded()]));
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  // It came to an end by itself, too: a client that was not closed keeps no process alive.
  expect(JSON.parse(stdout)).toEqual([false, 'PEER_UNREACHABLE', true]);
});

describe('a policy', () => {
  test('keeps calls from where they may not go', async () => {
    const calls: ScriptedCall[] = [];
    const card = await script({ getTask: noting(calls) });
    const [offered] = card.supportedInterfaces;
    const port = offered?.url.split(':')[1] ?? '';
    for (const url of [`127.0.0.1:${port}`, `localhost:${port}`, `https://10.0.0.1:${port}`]) {
      const client = await reach(cardOf(url), { grpc: { policy: publicPolicy } });
      await expect(client.getTask('t1')).rejects.toMatchObject({
        code: 'PEER_UNREACHABLE',
        message: expect.stringContaining('not allowed'),
      });
    }
    expect(calls).toEqual([]);
  });

  test('lets calls go where they may, by the name of the host', async () => {
    const calls: ScriptedCall[] = [];
    const card = await script({ getTask: noting(calls) });
    const [offered] = card.supportedInterfaces;
    const port = offered?.url.split(':')[1] ?? '';
    const policy = { ...publicPolicy, allowLoopback: true };
    const client = await reach(cardOf(`localhost:${port}`), { grpc: { policy } });
    expect(await client.getTask('t1')).toMatchObject({ id: 't1' });
    expect(calls).toHaveLength(1);
  });
});

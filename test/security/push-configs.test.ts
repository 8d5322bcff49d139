/** §3.1.7 to §3.1.10: push configurations, inline and by themselves, in every dialect. */
import { afterEach, describe, expect, test } from 'vitest';
import { serveGrpc } from '../../src/grpc/index.ts';
import { GrpcClient } from '../../src/grpc/testing/grpc-client.ts';
import { router, serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { httpsOrLoopbackPolicy, publicPolicy } from '../../src/push/index.ts';
import { startReceiver } from '../../src/push/receiver.contract.ts';
import { actor } from './support/agents.ts';
import { tokenAuthenticator } from './support/callers.ts';
import {
  type Answer,
  codeOf,
  type Dialect,
  dialects,
  type PushConfig,
  resultOf,
  send,
  taskOf,
} from './support/dialects.ts';

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions = {}): Promise<string> {
  server = await serve(actor, { push: {}, drainMs: 0, ...options });
  return `http://127.0.0.1:${server.port}`;
}

interface Shown {
  readonly id: string;
  readonly url: string;
  readonly token?: string;
  readonly scheme?: string;
  readonly credentials?: string;
}

/** A configuration in the words of this test, whatever its dialect wraps it in. */
function shown(wire: unknown): Shown {
  const { pushNotificationConfig, ...flat } = wire as Record<string, unknown>;
  const config = (pushNotificationConfig ?? flat) as {
    id: string;
    url: string;
    token?: string;
    authentication?: { scheme?: string; schemes?: string[]; credentials?: string };
  };
  const { id, url, token, authentication } = config;
  const scheme = authentication?.scheme ?? authentication?.schemes?.[0];
  return {
    id,
    url,
    ...(token !== undefined && { token }),
    ...(scheme !== undefined && { scheme }),
    ...(authentication?.credentials !== undefined && { credentials: authentication.credentials }),
  };
}

function shownList(dialect: Dialect, answer: Answer): Shown[] {
  const result = resultOf(dialect, answer);
  const list = Array.isArray(result) ? result : (result as { configs: unknown[] }).configs;
  return list.map(shown);
}

const hook: PushConfig = {
  url: 'https://hooks.example.com/a',
  token: 'token-secret',
  scheme: 'Bearer',
  credentials: 'credential-secret',
};
const secrets = /token-secret|credential-secret/;

describe.each(dialects)('$name', (dialect) => {
  const ask = async (url: string): Promise<string> =>
    taskOf(dialect, await send(url, dialect.request('sendMessage', { text: 'ask' }))).id;
  const list = async (url: string, id: string): Promise<Shown[]> =>
    shownList(dialect, await send(url, dialect.request('listTaskPushNotificationConfigs', { id })));

  test('PUSH-CREATE, PUSH-GET, PUSH-LIST: an id is assigned, and no secret ever comes back', async () => {
    const url = await start();
    const id = await ask(url);
    const request = dialect.request('createTaskPushNotificationConfig', { id, push: hook });
    const created = await send(url, request);
    const { id: configId, ...rest } = shown(resultOf(dialect, created));
    expect(configId).toMatch(/^[\w-]{10,}$/);
    expect(rest).toEqual({ url: hook.url, scheme: 'Bearer' });
    const got = await send(url, dialect.request('getTaskPushNotificationConfig', { id, configId }));
    expect(shown(resultOf(dialect, got))).toEqual({ id: configId, ...rest });
    expect(await list(url, id)).toEqual([{ id: configId, ...rest }]);
    for (const { text } of [created, got]) expect(text).not.toMatch(secrets);
    const task = await send(url, dialect.request('getTask', { id }));
    expect(task.text).not.toMatch(secrets);
    expect(task.text).not.toContain('hooks.example.com');
  });

  test('the same id replaces, in its place; other ids stand beside it', async () => {
    const url = await start();
    const id = await ask(url);
    const create = async (push: PushConfig) =>
      resultOf(
        dialect,
        await send(url, dialect.request('createTaskPushNotificationConfig', { id, push })),
      );
    await create({ ...hook, id: 'one' });
    await create({ ...hook, id: 'two' });
    await create({ id: 'one', url: 'https://hooks.example.com/b' });
    expect(await list(url, id)).toEqual([
      { id: 'one', url: 'https://hooks.example.com/b' },
      { id: 'two', url: hook.url, scheme: 'Bearer' },
    ]);
  });

  test('PUSH-DEL: deleting twice is deleting once, and what is gone is not found', async () => {
    const url = await start();
    const id = await ask(url);
    const push = { ...hook, id: 'one' };
    await send(url, dialect.request('createTaskPushNotificationConfig', { id, push }));
    const remove = () =>
      send(url, dialect.request('deleteTaskPushNotificationConfig', { id, configId: 'one' }));
    const first = await remove();
    expect(first.status).toBe(200);
    expect((await remove()).text).toBe(first.text);
    expect(await list(url, id)).toEqual([]);
    const got = await send(
      url,
      dialect.request('getTaskPushNotificationConfig', { id, configId: 'one' }),
    );
    expect(codeOf(got)).toBe('TASK_NOT_FOUND');
  });

  test.each(['sendMessage', 'sendStreamingMessage'] as const)(
    'inline with %s: registered with the task, with an id, and told of its very first event',
    async (operation) => {
      await using receiver = await startReceiver();
      const url = await start();
      const push = { ...hook, url: `${receiver.url}/inline` };
      const answer = await send(url, dialect.request(operation, { text: 'ask', push }));
      expect(answer.text).not.toMatch(secrets);
      const id = /"(?:id|taskId)":"(?<id>[0-9a-f-]{36})"/.exec(answer.text)?.groups?.['id'] ?? '';
      const configs = await list(url, id);
      expect(configs).toMatchObject([{ url: push.url, scheme: 'Bearer' }]);
      await expect.poll(() => receiver.calls.length).toBeGreaterThanOrEqual(3);
      const [first] = receiver.calls;
      expect(first?.body).toContain(dialect.version === '1.0' ? 'SUBMITTED' : 'submitted');
      expect(first?.headers).toMatchObject({
        authorization: 'Bearer credential-secret',
        'x-a2a-notification-token': 'token-secret',
      });
    },
  );

  test('off by default: every operation says so, inline ones too, and so does the card', async () => {
    server = await serve(actor, { drainMs: 0 });
    const url = `http://127.0.0.1:${server.port}`;
    expect(server.router.cards.current.capabilities.pushNotifications).toBe(false);
    const id = await ask(url);
    const all = [
      dialect.request('createTaskPushNotificationConfig', { id, push: hook }),
      dialect.request('getTaskPushNotificationConfig', { id, configId: 'one' }),
      dialect.request('listTaskPushNotificationConfigs', { id }),
      dialect.request('deleteTaskPushNotificationConfig', { id, configId: 'one' }),
      dialect.request('sendMessage', { push: hook }),
      dialect.request('sendStreamingMessage', { push: hook }),
    ];
    for (const request of all) {
      expect(codeOf(await send(url, request))).toBe('PUSH_NOTIFICATION_NOT_SUPPORTED');
    }
  });

  test.each([
    'http://hooks.example.com/',
    'ftp://hooks.example.com/',
    'https://user:password@hooks.example.com/',
    'https://hooks.example.com:22/',
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://224.0.0.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fe80::1]/',
    'https://[2002:7f00:1::]/',
    'https://metadata.internal/',
    '/relative',
    'not a url',
    '',
  ])('a webhook at %j is refused, inline and by itself, and nothing is stored', async (target) => {
    const url = await start();
    const push = { url: target };
    const inline = await send(url, dialect.request('sendMessage', { text: 'ask', push }));
    expect(codeOf(inline)).toBe('INVALID_PARAMS');
    const id = await ask(url);
    const request = dialect.request('createTaskPushNotificationConfig', { id, push });
    expect(codeOf(await send(url, request))).toBe('INVALID_PARAMS');
    expect(await list(url, id)).toEqual([]);
  });

  test('a host listed by name is allowed as that name only', async () => {
    await using receiver = await startReceiver();
    const url = await start({
      push: { policy: { ...publicPolicy, allowedNames: ['localhost'] } },
    });
    const id = await ask(url);
    const create = (host: string) =>
      send(
        url,
        dialect.request('createTaskPushNotificationConfig', {
          id,
          push: { url: `http://${host}:${receiver.port}/` },
        }),
      );
    for (const host of [
      '127.0.0.1',
      '127.1',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'localhost.',
      'a.localhost',
      '%6cocalhost',
      '2130706433',
    ]) {
      expect([host, codeOf(await create(host))]).toEqual([host, 'INVALID_PARAMS']);
    }
    resultOf(dialect, await create('localhost'));
    await send(url, dialect.request('sendMessage', { id, text: 'end' }));
    await expect.poll(() => receiver.calls.length).toBeGreaterThan(0);
  });

  test('headers cannot be smuggled into the call, nor endless secrets', async () => {
    const url = await start();
    const id = await ask(url);
    const bad: PushConfig[] = [
      { ...hook, token: 'a\r\nX-Injected: 1' },
      { ...hook, credentials: 'a\nb' },
      { ...hook, scheme: 'Bearer x' },
      { ...hook, token: 'x'.repeat(9_000) },
      { ...hook, id: 'x'.repeat(300) },
    ];
    for (const push of bad) {
      const request = dialect.request('createTaskPushNotificationConfig', { id, push });
      expect(codeOf(await send(url, request))).toBe('INVALID_PARAMS');
    }
  });
});

test('the version under which a webhook was registered is the one it is told in', async () => {
  await using receiver = await startReceiver();
  const url = await start();
  const [rpc1, rest1, rpc03, rest03] = dialects;
  if (rpc1 === undefined || rest1 === undefined) throw new Error('no dialect');
  if (rpc03 === undefined || rest03 === undefined) throw new Error('no dialect');
  const { id } = taskOf(rpc1, await send(url, rpc1.request('sendMessage', { text: 'ask' })));
  for (const [index, dialect] of [rpc1, rest1, rpc03, rest03].entries()) {
    const push = { id: `c${index}`, url: `${receiver.url}/${index}` };
    const request = dialect.request('createTaskPushNotificationConfig', { id, push });
    resultOf(dialect, await send(url, request));
  }
  // The end is told by 1.0, which changes nothing for those of 0.3.
  await send(url, rpc1.request('sendMessage', { id, text: 'done' }));
  const bodies = (path: string) =>
    receiver.calls
      .filter((call) => call.path === path)
      .map((call) => JSON.parse(call.body) as object);
  for (const path of ['/0', '/1']) {
    await expect
      .poll(() => bodies(path).at(-1))
      .toHaveProperty('statusUpdate.status.state', 'TASK_STATE_COMPLETED');
    expect(receiver.calls.find((call) => call.path === path)?.headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'a2a-version': '1.0',
    });
  }
  for (const path of ['/2', '/3']) {
    await expect
      .poll(() => bodies(path).at(-1))
      .toMatchObject({
        kind: 'task',
        id,
        status: { state: 'completed' },
      });
    expect(receiver.calls.find((call) => call.path === path)?.headers).toMatchObject({
      'content-type': 'application/json',
      'a2a-version': '0.3',
    });
  }
});

test('one task has a bounded number of webhooks', async () => {
  const url = await start();
  const [rpc] = dialects;
  if (rpc === undefined) throw new Error('no dialect');
  const { id } = taskOf(rpc, await send(url, rpc.request('sendMessage', { text: 'ask' })));
  const create = (push: PushConfig) =>
    send(url, rpc.request('createTaskPushNotificationConfig', { id, push }));
  for (let index = 0; index < 100; index += 1) {
    resultOf(rpc, await create({ id: `c${index}`, url: hook.url }));
  }
  expect(codeOf(await create({ url: hook.url }))).toBe('INVALID_PARAMS');
  resultOf(rpc, await create({ id: 'c0', url: hook.url }));
});

describe('the default policy, by who can reach the server', () => {
  const loopback = [
    'http://127.0.0.1:8099/hook',
    'http://localhost:8099/hook',
    'https://[::1]:8099/hook',
  ];
  const plain = 'http://hooks.example.com/hook';
  const auth = async () => ({ auth: await tokenAuthenticator() });
  const registers = async (serving: Serving, url: string): Promise<boolean> => {
    const { push } = serving.router;
    const credentials = { scheme: 'Bearer', credentials: 'secret' };
    const outcome = push?.validate(
      { taskId: 't', url, authentication: credentials },
      { isLocal: () => true },
    );
    return outcome?.then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: 'INVALID_PARAMS' });
        return false;
      },
    ) as Promise<boolean>;
  };

  test('a server on loopback only may call loopback, and https elsewhere', async () => {
    await start();
    if (server === undefined) throw new Error('not started');
    for (const url of loopback) expect([url, await registers(server, url)]).toEqual([url, true]);
    expect(await registers(server, 'https://hooks.example.com/hook')).toBe(true);
    expect(await registers(server, plain)).toBe(false);
    expect(await registers(server, 'https://10.0.0.7/hook')).toBe(false);
  });

  test.each([
    ['listens on every address', { host: '0.0.0.0' }],
    ['has a public URL, so stands behind a proxy', { url: 'https://agents.example.com' }],
    ['is called by a public name', { hosts: ['agents.example.com'] }],
    ['is said to be reachable', { isLocalOnly: false }],
  ])('a server that %s calls neither loopback nor plain http', async (_, options) => {
    await start({ ...(await auth()), ...options });
    if (server === undefined) throw new Error('not started');
    for (const url of [...loopback, plain, 'https://10.0.0.7/hook', 'https://intranet/hook']) {
      expect([url, await registers(server, url)]).toEqual([url, false]);
    }
    expect(await registers(server, 'https://hooks.example.com/hook')).toBe(true);
  });

  const forwarding = [
    { 'x-forwarded-for': '203.0.113.9' },
    { forwarded: 'for=203.0.113.9' },
    { via: '1.1 proxy' },
    { 'x-real-ip': '203.0.113.9' },
  ];

  test.each(dialects)(
    'a request that a proxy forwarded registers nothing on this machine: $name',
    async (dialect) => {
      const base = await start();
      const asked = await send(base, dialect.request('sendMessage', { text: 'ask' }));
      const { id } = taskOf(dialect, asked);
      for (const more of forwarding) {
        for (const url of loopback) {
          const push = { ...hook, url };
          const requests = [
            dialect.request('createTaskPushNotificationConfig', { id, push }),
            dialect.request('sendMessage', { text: 'ask', push }),
            dialect.request('sendStreamingMessage', { text: 'ask', push }),
          ];
          for (const request of requests) {
            expect(codeOf(await send(base, request, more))).toBe('INVALID_PARAMS');
          }
        }
        const request = dialect.request('createTaskPushNotificationConfig', { id, push: hook });
        resultOf(dialect, await send(base, request, more));
      }
      const push = { ...hook, url: 'http://127.0.0.1:8099/hook' };
      const local = dialect.request('createTaskPushNotificationConfig', { id, push });
      resultOf(dialect, await send(base, local));
    },
  );

  test('nor for a tenant that the request names', async () => {
    const base = await start();
    const [rpc] = dialects;
    if (rpc === undefined) throw new Error('no dialect');
    const push = { ...hook, url: 'http://127.0.0.1:8099/hook' };
    const request = rpc.request('sendMessage', { text: 'ask', push, tenant: 'acme' });
    const more = { 'x-forwarded-for': '203.0.113.9' };
    expect(codeOf(await send(base, request, more))).toBe('INVALID_PARAMS');
    taskOf(rpc, await send(base, request));
  });

  test('gRPC: metadata of a proxy counts as its headers do', async () => {
    await start();
    if (server === undefined) throw new Error('not started');
    await using grpcServer = await serveGrpc(server.router);
    using client = await GrpcClient.connect({
      url: `127.0.0.1:${grpcServer.port}`,
      version: '1.0',
    });
    const request = {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'ask' }] },
      configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:8099/hook' } },
    };
    const metadata = { 'x-forwarded-for': '203.0.113.9' };
    await expect(client.call('sendMessage', request, { metadata })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
    });
    const answer = (await client.call('sendMessage', request)) as { task: { id: string } };
    const config = { taskId: answer.task.id, url: 'http://127.0.0.1:8099/other' };
    await expect(
      client.call('createTaskPushNotificationConfig', config, { metadata }),
    ).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
    await client.call('createTaskPushNotificationConfig', config);
  });

  test('a public name that leads to this machine is refused when connecting', async () => {
    await using receiver = await startReceiver();
    const errors: string[] = [];
    const base = await start({
      push: {
        resolver: async () => ['127.0.0.1'],
        onAttempt: ({ outcome }) => errors.push(`${outcome.kind} ${JSON.stringify(outcome)}`),
      },
    });
    const [rpc] = dialects;
    if (rpc === undefined) throw new Error('no dialect');
    const push = { ...hook, url: `https://hooks.example.com:${receiver.port}/` };
    const more = { 'x-forwarded-for': '203.0.113.9' };
    await send(base, rpc.request('sendMessage', { text: 'ask', push }), more);
    await expect.poll(() => errors[0]).toMatch(/^dead .*resolves to a loopback address/);
    expect(receiver.calls).toEqual([]);
  });

  test('a mounted router does not know who can reach it, so the public policy applies; a policy opens it', async () => {
    await using mounted = await router(actor, { push: {} });
    const check = (made: typeof mounted, url: string) =>
      made.push?.validate({ taskId: 't', url }, { isLocal: () => true });
    await expect(check(mounted, 'http://127.0.0.1:8099/')).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
    });
    await using opened = await router(actor, { push: { policy: httpsOrLoopbackPolicy } });
    await expect(check(opened, 'http://127.0.0.1:8099/')).resolves.toBeUndefined();
  });

  test('a gRPC port for other machines closes a server that was local before', async () => {
    await start(await auth());
    if (server === undefined) throw new Error('not started');
    expect(await registers(server, 'http://127.0.0.1:8099/hook')).toBe(true);
    await using _door = await serveGrpc(server.router, { host: '0.0.0.0' });
    expect(await registers(server, 'http://127.0.0.1:8099/hook')).toBe(false);
  });
});

import type { ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { discardBody } from './delivery-sender.ts';
import { GuardedClient, type GuardedClientOptions } from './guarded-client.ts';
import { httpsOrLoopbackPolicy, publicPolicy, type UrlPolicy, UrlRefused } from './policy.ts';
import { startReceiver } from './receiver.contract.ts';

const loopback: UrlPolicy = { ...publicPolicy, allowLoopback: true };
/** Names that look public, so that registration takes them. */
const name = 'hooks.example.com';

async function get(
  url: string,
  options: GuardedClientOptions,
  signal = AbortSignal.timeout(10_000),
) {
  const client = new GuardedClient(options);
  try {
    const answer = await client.send(url, { method: 'GET', headers: {}, signal });
    await discardBody(answer, 1_024);
    return answer.statusCode;
  } finally {
    client.close();
  }
}

test('a name is called at the address that was checked, under its own name', async () => {
  await using receiver = await startReceiver();
  const status = await get(`http://${name}:${receiver.port}/a?b=c`, {
    policy: loopback,
    resolver: async () => ['127.0.0.1'],
  });
  expect(status).toBe(204);
  expect(receiver.calls[0]).toMatchObject({
    path: '/a?b=c',
    headers: { host: `${name}:${receiver.port}` },
  });
});

test.each([
  ['the only address', ['169.254.169.254']],
  ['one bad address among good ones', ['127.0.0.1', '10.0.0.1']],
  ['an IPv4-mapped address', ['::ffff:10.0.0.1']],
  ['something that is not an address', ['not-an-address']],
])('DNS answers are all checked: %s refuses the call', async (_what, addresses) => {
  await using receiver = await startReceiver();
  const call = get(`http://${name}:${receiver.port}/`, {
    policy: loopback,
    resolver: async () => addresses,
  });
  await expect(call).rejects.toBeInstanceOf(UrlRefused);
  expect(receiver.connections()).toBe(0);
});

test('DNS that changes between check and connect changes nothing: it is asked once per connection', async () => {
  await using receiver = await startReceiver();
  const answers = [['127.0.0.1'], ['169.254.169.254']];
  let asked = 0;
  const options = {
    policy: loopback,
    resolver: async () => answers[asked++] ?? [],
  };
  const client = new GuardedClient(options);
  const request = {
    method: 'GET',
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(10_000),
  };
  try {
    const answer = await client.send(`http://${name}:${receiver.port}/`, request);
    await discardBody(answer, 1_024);
    expect(asked).toBe(1);
    expect(receiver.calls).toHaveLength(1);
    // The next connection asks again, and the changed answer is checked again.
    await expect(client.send(`http://${name}:${receiver.port}/`, request)).rejects.toBeInstanceOf(
      UrlRefused,
    );
    expect(asked).toBe(2);
    expect(receiver.calls).toHaveLength(1);
  } finally {
    client.close();
  }
});

test.each([
  'http://127.0.0.1',
  'http://[::1]',
  'http://[::ffff:127.0.0.1]',
  'http://2130706433',
  'http://0x7f.1',
  'http://0',
  'http://localhost',
])('a literal never reaches DNS and is refused all the same: %s', async (origin) => {
  await using receiver = await startReceiver();
  const call = get(`${origin}:${receiver.port}/`, {
    policy: publicPolicy,
    resolver: async () => {
      throw new Error('asked DNS for a literal');
    },
  });
  await expect(call).rejects.toBeInstanceOf(UrlRefused);
  expect(receiver.connections()).toBe(0);
});

test('a host listed by name is called wherever it resolves to, and only as that name', async () => {
  await using receiver = await startReceiver();
  const policy = { ...publicPolicy, allowedNames: ['localhost'] };
  const resolver = async () => ['127.0.0.1'];
  expect(await get(`http://localhost:${receiver.port}/`, { policy, resolver })).toBe(204);
  await expect(get(`http://127.0.0.1:${receiver.port}/`, { policy, resolver })).rejects.toThrow(
    'loopback',
  );
  await expect(get(`http://${name}:${receiver.port}/`, { policy, resolver })).rejects.toThrow(
    'loopback',
  );
});

test('https or loopback: a plain http host that turns out not to be loopback is refused', async () => {
  const call = get('http://localhost:8080/', {
    policy: httpsOrLoopbackPolicy,
    resolver: async () => ['93.184.216.34'],
  });
  await expect(call).rejects.toThrow('must be an https address');
});

test('a redirect is an answer and is not followed', async () => {
  await using inner = await startReceiver();
  await using outer = await startReceiver((_call, response) =>
    response.writeHead(307, { location: `${inner.url}/` }).end(),
  );
  expect(await get(`${outer.url}/`, { policy: loopback })).toBe(307);
  expect(inner.calls).toHaveLength(0);
});

test('connections are kept and used again, and no more than allowed are kept idle', async () => {
  await using receiver = await startReceiver();
  for (const [maxIdleSockets, connections] of [
    [4, 1],
    [0, 3],
  ] as const) {
    const client = new GuardedClient({ policy: loopback, maxIdleSockets });
    const before = receiver.connections();
    for (let count = 0; count < 3; count += 1) {
      const answer = await client.send(`${receiver.url}/`, {
        method: 'POST',
        headers: {},
        body: 'x',
        signal: AbortSignal.timeout(10_000),
      });
      await discardBody(answer, 1_024);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(receiver.connections() - before).toBe(connections);
    client.close();
  }
});

test('a kept connection that the peer closed is replaced when the call may be repeated', async () => {
  const sockets: Socket[] = [];
  let calls = 0;
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    let seen = 0;
    socket.on('data', () => {
      calls += 1;
      seen += 1;
      // The second call on a connection is cut off before the answer.
      if (seen === 2) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const client = new GuardedClient({ policy: loopback });
  const send = (isRepeatable: boolean) =>
    client
      .send(url, {
        method: 'POST',
        headers: {},
        body: 'x',
        isRepeatable,
        signal: AbortSignal.timeout(10_000),
      })
      .then(async (answer) => {
        await discardBody(answer, 1_024);
        await new Promise((resolve) => setImmediate(resolve));
        return answer.statusCode;
      });
  try {
    expect(await send(true)).toBe(204);
    expect(await send(true)).toBe(204);
    expect(calls).toBe(3);
    await expect(send(false)).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
  } finally {
    client.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('DNS that does not answer in time fails the call', async () => {
  const call = get(`http://${name}/`, {
    policy: publicPolicy,
    resolver: () => new Promise(() => {}),
    dnsTimeout: 20,
  });
  await expect(call).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
    message: expect.stringContaining('took longer than 20 ms'),
  });
});

test('a peer that never completes the connection fails the call', async () => {
  // Accepts TCP and stays silent, so that the TLS handshake never ends.
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const call = get(`https://127.0.0.1:${port}/`, { policy: loopback, connectTimeout: 50 });
    await expect(call).rejects.toThrow('took longer than 50 ms');
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a refused connection is PEER_UNREACHABLE and names the origin, not the path', async () => {
  const receiver = await startReceiver();
  await receiver[Symbol.asyncDispose]();
  const error: unknown = await get(`${receiver.url}/secret-path`, { policy: loopback }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: 'PEER_UNREACHABLE' });
  expect(String(error)).toContain(receiver.url);
  expect(String(error)).not.toContain('secret-path');
});

test('an aborted call rejects with the reason', async () => {
  await using receiver = await startReceiver(() => {});
  const abort = new AbortController();
  const call = get(`${receiver.url}/`, { policy: loopback }, abort.signal);
  await expect.poll(() => receiver.calls.length).toBe(1);
  abort.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
});

test('aborting a call that waits for a socket rejects it at once, and the socket is used again', async () => {
  const answers: ServerResponse[] = [];
  await using receiver = await startReceiver((_call, response) => void answers.push(response));
  const client = new GuardedClient({ policy: loopback, maxSocketsPerHost: 1 });
  const send = (path: string, signal = AbortSignal.timeout(10_000)) =>
    client.send(`${receiver.url}/${path}`, { method: 'GET', headers: {}, signal });
  try {
    const running = send('running');
    await expect.poll(() => answers.length).toBe(1);
    const abort = new AbortController();
    const waiting = send('waiting', abort.signal);
    const next = send('next');
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    answers[0]?.end();
    await discardBody(await running, 1_024);
    await expect.poll(() => answers.length).toBe(2);
    answers[1]?.end();
    await discardBody(await next, 1_024);
    expect(receiver.calls.map(({ path }) => path)).toEqual(['/running', '/next']);
  } finally {
    client.close();
  }
});

test('a body beyond the bound ends the connection instead of being read', async () => {
  await using receiver = await startReceiver((_call, response) => {
    response.writeHead(200);
    const more = () => {
      while (response.write(Buffer.alloc(65_536))) if (response.destroyed) return;
      response.once('drain', more);
    };
    more();
  });
  expect(await get(`${receiver.url}/`, { policy: loopback })).toBe(200);
});

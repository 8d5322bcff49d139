import { getEventListeners } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { guardedFetch } from './guarded-client.ts';
import { httpsOrLoopbackPolicy, publicPolicy, UrlRefused } from './policy.ts';
import { type Respond, startReceiver } from './receiver.contract.ts';

async function withFetch<T>(
  respond: Respond,
  run: (fetch: ReturnType<typeof guardedFetch>, url: string) => Promise<T>,
  options: Parameters<typeof guardedFetch>[1] = {},
): Promise<T> {
  await using receiver = await startReceiver(respond);
  const fetch = guardedFetch(httpsOrLoopbackPolicy, options);
  try {
    return await run(fetch, receiver.url);
  } finally {
    fetch.close();
  }
}

test('sends method, headers and body as fetch does, and reads the answer as a Response', async () => {
  await withFetch(
    (call, response) =>
      response.writeHead(201, { 'content-type': 'application/json', 'x-two': ['a', 'b'] }).end(
        JSON.stringify({
          method: call.method,
          body: call.body,
          type: call.headers['content-type'],
        }),
      ),
    async (fetch, url) => {
      const response = await fetch(new URL('/x', url), {
        method: 'POST',
        headers: { 'content-type': 'text/csv' },
        body: 'a,b',
      });
      expect(response.status).toBe(201);
      expect(response.headers.get('x-two')).toBe('a, b');
      expect(await response.json()).toEqual({ method: 'POST', body: 'a,b', type: 'text/csv' });
    },
  );
});

test('takes a Request too, with its body and its signal', async () => {
  await withFetch(
    (call, response) => response.end(`${call.method} ${call.body}`),
    async (fetch, url) => {
      const abort = new AbortController();
      const request = new Request(url, { method: 'PUT', body: 'x', signal: abort.signal });
      expect(await (await fetch(request)).text()).toBe('PUT x');
      abort.abort(new Error('enough'));
      await expect(fetch(new Request(url, { signal: abort.signal }))).rejects.toThrow('enough');
    },
  );
});

test('leaves no listener on the signal of a call whose body was read', async () => {
  await withFetch(
    (_, response) => response.end('done'),
    async (fetch, url) => {
      const { signal } = new AbortController();
      expect(await (await fetch(url, { signal })).text()).toBe('done');
      await expect.poll(() => getEventListeners(signal, 'abort')).toHaveLength(0);
    },
  );
});

test('is refused where the policy refuses', async () => {
  const fetch = guardedFetch(publicPolicy, { resolver: async () => ['10.0.0.1'] });
  await expect(fetch('http://127.0.0.1/')).rejects.toBeInstanceOf(UrlRefused);
  await expect(fetch('https://user:pass@example.com/')).rejects.toBeInstanceOf(UrlRefused);
  await expect(fetch('https://cards.example.com/')).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
    message: expect.stringContaining('private network'),
  });
  fetch.close();
});

test('returns a redirect unless asked to fail, and never follows it', async () => {
  await withFetch(
    (_call, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    async (fetch, url) => {
      expect((await fetch(url)).status).toBe(302);
      await expect(fetch(url, { redirect: 'error' })).rejects.toThrow('redirects are not followed');
    },
  );
});

test('streams events as they come, and stops when the reader stops', async () => {
  const closed = Promise.withResolvers<void>();
  await withFetch(
    (_call, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    },
    async (fetch, url) => {
      const response = await fetch(url, { headers: { accept: 'text/event-stream' } });
      const reader = response.body?.getReader();
      const first = await reader?.read();
      expect(Buffer.from(first?.value ?? []).toString()).toBe('data: 1\n\n');
      await reader?.cancel();
      await closed.promise;
    },
  );
});

test('streams that stay open do not delay further calls to their host', async () => {
  await withFetch(
    (_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    },
    async (fetch, url) => {
      const responses: Response[] = [];
      for (let count = 0; count < 40; count += 1) responses.push(await fetch(url));
      for (const response of responses) await response.body?.cancel();
    },
  );
});

test('aborting the signal ends a body that is being read', async () => {
  await withFetch(
    (_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    },
    async (fetch, url) => {
      const abort = new AbortController();
      const response = await fetch(url, { signal: abort.signal });
      const reader = response.body?.getReader();
      await reader?.read();
      const rest = reader?.read();
      abort.abort(new Error('enough'));
      await expect(rest).rejects.toThrow();
    },
  );
});

test('an answer larger than allowed is refused, announced or not', async () => {
  await withFetch(
    (call, response) => {
      if (call.path === '/announced') response.writeHead(200, { 'content-length': 2_000 });
      else response.writeHead(200, { 'transfer-encoding': 'chunked' });
      response.end(Buffer.alloc(2_000));
    },
    async (fetch, url) => {
      await expect(fetch(`${url}/announced`)).rejects.toThrow('more than 1000 bytes');
      const response = await fetch(`${url}/unannounced`);
      await expect(response.arrayBuffer()).rejects.toThrow('more than 1000 bytes');
    },
    { maxResponseBytes: 1_000 },
  );
});

test('a compressed answer is refused: none was asked for', async () => {
  await withFetch(
    (call, response) => {
      expect(call.headers['accept-encoding']).toBe('identity');
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'));
    },
    async (fetch, url) => {
      await expect(fetch(url)).rejects.toThrow(
        'returned content-encoding gzip, but the request accepts only identity',
      );
    },
  );
});

test('an answer with a status outside 200 to 599 is refused, and its connection closed', async () => {
  const closed = Promise.withResolvers<void>();
  const statuses = ['600 No', '999 No', '101 Switch\r\nConnection: Upgrade\r\nUpgrade: x'];
  const server = createTcpServer((socket) => {
    socket.on('error', () => {}).once('close', () => statuses.length === 0 && closed.resolve());
    socket.once('data', () => socket.write(`HTTP/1.1 ${statuses.shift()}\r\n\r\n`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`;
  const fetch = guardedFetch(httpsOrLoopbackPolicy);
  const failure = (text: string) => ({
    code: 'PEER_UNREACHABLE',
    message: expect.stringMatching(new RegExp(`^http://127.0.0.1:\\d+ .*${text}$`)),
  });
  try {
    await expect(fetch(url)).rejects.toMatchObject(failure('the invalid status 600'));
    await expect(fetch(url)).rejects.toMatchObject(failure('the invalid status 999'));
    await expect(fetch(url)).rejects.toMatchObject(failure('closed without a response'));
    await closed.promise;
  } finally {
    fetch.close();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('silence before the head and silence in the body both end the call', async () => {
  await withFetch(
    (call, response) => {
      if (call.path === '/body') response.writeHead(200).write('a');
    },
    async (fetch, url) => {
      await expect(fetch(`${url}/head`)).rejects.toThrow('sent nothing for 50 ms');
      const response = await fetch(`${url}/body`);
      await expect(response.text()).rejects.toThrow('sent nothing for 60 ms');
    },
    { headTimeout: 50, idleTimeout: 60 },
  );
});

test('204 and HEAD have no body', async () => {
  await withFetch(
    (call, response) => response.writeHead(call.method === 'HEAD' ? 200 : 204).end(),
    async (fetch, url) => {
      expect((await fetch(url)).body).toBeNull();
      expect((await fetch(url, { method: 'HEAD' })).body).toBeNull();
    },
  );
});

test('https: the certificate must be valid for the name, whatever address was pinned', async () => {
  const authority = makeCertificate({ commonName: 'Test authority', isAuthority: true });
  const leaf = makeCertificate({
    commonName: 'hooks.example.com',
    alternativeNames: ['DNS:hooks.example.com'],
    issuer: authority,
  });
  await using receiver = await startReceiver(undefined, (listener) =>
    createTlsServer({ key: leaf.key, cert: leaf.certificate }, listener),
  );
  const resolver = async () => ['127.0.0.1'];
  const trusting = guardedFetch(httpsOrLoopbackPolicy, {
    resolver,
    tls: { current: async () => ({ ca: authority.certificate }) },
  });
  const strict = guardedFetch(httpsOrLoopbackPolicy, { resolver });
  try {
    const response = await trusting(`https://hooks.example.com:${receiver.port}/`);
    expect(response.status).toBe(204);
    await expect(trusting(`https://other.example.com:${receiver.port}/`)).rejects.toThrow(
      /does not match certificate/,
    );
    await expect(strict(`https://hooks.example.com:${receiver.port}/`)).rejects.toThrow(
      /certificate/,
    );
  } finally {
    trusting.close();
    strict.close();
  }
});

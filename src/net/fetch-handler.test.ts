import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { readBytes } from './body.ts';
import { toFetchHandler } from './fetch-handler.ts';

test('a handler of node:http answers a web request: method, target, headers, body and status', async () => {
  const fetch = toFetchHandler(
    (request, response) => {
      const { method, url, headers } = request;
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.writeHead(201, { 'x-length': 3 });
      void readBytes(request).then((body) => {
        response.end(
          `${method} ${url} ${headers.host} ${String(headers['x-name'])} ${String(body)}`,
        );
      });
    },
    { basePath: '/agent' },
  );
  const send = (path: string) =>
    fetch(
      new Request(`http://example.com${path}`, {
        method: 'POST',
        headers: { 'X-Name': 'Ada' },
        body: 'text',
      }),
    );
  const answer = await send('/agent/tasks?a=b');
  expect([answer.status, answer.headers.get('x-length')]).toEqual([201, '3']);
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(await answer.text()).toBe('POST /tasks?a=b example.com Ada text');
  expect(await (await send('/agent')).text()).toContain('POST / ');
  expect(await (await send('/agents')).text()).toContain('POST /agents ');
});

test('the body is written no faster than it is read, and is whole', async () => {
  let response: ServerResponse | undefined;
  const fetch = toFetchHandler((_, outgoing) => void (response = outgoing));
  const answering = fetch(new Request('http://localhost/'));
  response?.writeHead(200);
  let written = 0;
  while (response?.write('x'.repeat(8_192)) === true) written += 1;
  expect(response?.writableNeedDrain).toBe(true);
  expect(written).toBeLessThan(10);
  response?.end('end');
  const text = await (await answering).text();
  expect(text).toHaveLength((written + 1) * 8_192 + 3);
  await expect.poll(() => response?.writableFinished).toBe(true);
});

test('a caller that cancels the body, or aborts its request, closes the response', async () => {
  for (const leaves of ['cancel', 'abort'] as const) {
    let response: ServerResponse | undefined;
    const fetch = toFetchHandler((_, outgoing) => {
      response = outgoing;
      outgoing.writeHead(200).flushHeaders();
    });
    const leaving = new AbortController();
    const answer = await fetch(new Request('http://localhost/', { signal: leaving.signal }));
    if (response === undefined) throw new Error('not handled');
    const closed = once(response, 'close');
    if (leaves === 'abort') leaving.abort();
    else await answer.body?.cancel();
    await closed;
    expect(response.writableFinished).toBe(false);
  }
});

test('a request whose body is cut off is aborted for its reader', async () => {
  const fetch = toFetchHandler((request, response) => {
    readBytes(request).catch((error: Error) => response.writeHead(400).end(error.message));
  });
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{'));
    },
    pull: (controller) => controller.error(new Error('connection lost')),
  });
  // Streams need `duplex`, which the types of Node do not know.
  const init = { method: 'POST', body, duplex: 'half' };
  const request = new Request('http://localhost/', init);
  expect(await (await fetch(request)).text()).toBe('the request was aborted');
});

test('responses to HEAD and those without content have no body', async () => {
  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ] as const) {
    const fetch = toFetchHandler((_, response) => void response.writeHead(status).end('text'));
    const answer = await fetch(new Request('http://localhost/', { method }));
    expect([answer.status, answer.body]).toEqual([status, null]);
  }
});

test('Deno and Bun tell the address of the caller; other hosts tell none', async () => {
  const fetch = toFetchHandler((request, response) => {
    response.end(request.socket.remoteAddress ?? 'unknown');
  });
  const hosts = [
    { remoteAddr: { hostname: '192.0.2.1' } },
    { requestIP: () => ({ address: '192.0.2.2' }) },
    { params: {} },
    undefined,
  ];
  const answers = hosts.map(async (host) =>
    (await fetch(new Request('http://localhost/'), host)).text(),
  );
  expect(await Promise.all(answers)).toEqual(['192.0.2.1', '192.0.2.2', 'unknown', 'unknown']);
});

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { readBody } from './body.ts';
import { defaultLimits } from './service.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A request of which some bytes have arrived, over a real connection. */
async function request(
  body: string,
  length = body.length,
): Promise<{ readonly incoming: IncomingMessage; readonly client: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  cleanups.push(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`);
  const [incoming] = (await once(server, 'request')) as [IncomingMessage];
  return { incoming, client };
}

const brokenOff = { code: 'INVALID_REQUEST', message: 'the request was broken off' };

test('a body that comes with its headers is read', async () => {
  const { incoming } = await request('{"a":"ä"}', Buffer.byteLength('{"a":"ä"}'));
  expect(await readBody(incoming, defaultLimits)).toBe('{"a":"ä"}');
});

test('a body that comes in pieces is read, also within a character', async () => {
  const bytes = Buffer.from('"ä"');
  const { incoming, client } = await request('', bytes.length);
  const read = readBody(incoming, defaultLimits);
  client.write(bytes.subarray(0, 2));
  await once(incoming, 'data');
  client.write(bytes.subarray(2));
  expect(await read).toBe('"ä"');
});

test('a request that is lost before anybody watches it is broken off', async () => {
  const { incoming } = await request('{"a":', 100);
  const read = readBody(incoming, defaultLimits);
  // Its close is told before the next turn of the event loop.
  incoming.destroy();
  await expect(read).rejects.toMatchObject(brokenOff);
});

test('a request whose caller leaves while it is sent is broken off', async () => {
  const { incoming, client } = await request('{"a":', 100);
  const read = readBody(incoming, defaultLimits);
  await new Promise((resolve) => setImmediate(resolve));
  client.destroy();
  await expect(read).rejects.toMatchObject(brokenOff);
});

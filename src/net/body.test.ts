import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { BodyBudget, type BodyLimits, defaultBodyLimits, readBytes } from './body.ts';

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

async function read(incoming: IncomingMessage): Promise<string> {
  return (await readBytes(incoming)).toString('utf8');
}

const brokenOff = { code: 'INVALID_REQUEST', message: 'the request was aborted' };

test('a body that comes with its headers is read', async () => {
  const { incoming } = await request('{"a":"ä"}', Buffer.byteLength('{"a":"ä"}'));
  expect(await read(incoming)).toBe('{"a":"ä"}');
});

test('a body that comes in pieces is read, also within a character', async () => {
  const bytes = Buffer.from('"ä"');
  const { incoming, client } = await request('', bytes.length);
  const reading = read(incoming);
  client.write(bytes.subarray(0, 2));
  await once(incoming, 'data');
  client.write(bytes.subarray(2));
  expect(await reading).toBe('"ä"');
});

test('a request that is lost before anybody watches it is aborted', async () => {
  const { incoming } = await request('{"a":', 100);
  const reading = read(incoming);
  // Its close is told before the next turn of the event loop.
  incoming.destroy();
  await expect(reading).rejects.toMatchObject(brokenOff);
});

test('a request whose caller leaves while it is sent is aborted', async () => {
  const { incoming, client } = await request('{"a":', 100);
  const reading = read(incoming);
  await new Promise((resolve) => setImmediate(resolve));
  client.destroy();
  await expect(reading).rejects.toMatchObject(brokenOff);
});

const limits = (bytes: number): BodyLimits => ({
  ...defaultBodyLimits,
  maxUnfinishedBodyBytes: bytes,
});

/** Waits until all bodies of the budget hold so many bytes. */
const holding = (budget: BodyBudget, bytes: number): Promise<void> =>
  expect.poll(() => budget.held).toBe(bytes);

test('unfinished bodies hold at most the budget together; one beyond it is refused with Retry-After', async () => {
  const budget = new BodyBudget();
  const bytes = 64 * 1_024;
  const half = 'x'.repeat(bytes / 2);
  const [first, second] = [await request(half, bytes), await request(half, bytes)];
  const kept = readBytes(first.incoming, limits(bytes), budget);
  const abandoned = readBytes(second.incoming, limits(bytes), budget);
  await holding(budget, bytes);
  const third = await request('x'.repeat(2_000), bytes);
  await expect(readBytes(third.incoming, limits(bytes), budget)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    retryAfter: 1,
  });
  second.client.destroy();
  await expect(abandoned).rejects.toMatchObject(brokenOff);
  await holding(budget, bytes / 2);
  first.client.write(half);
  expect(await kept).toHaveLength(bytes);
  expect(budget.held).toBe(0);
});

test('a body in tiny chunks is charged for the memory it takes, and arrives whole', async () => {
  const budget = new BodyBudget();
  const { incoming } = await request('', 0);
  const chunks = Array.from({ length: 5_000 }, (_, index) => String(index % 10));
  const large = 'y'.repeat(2_000);
  const body = [...chunks, large, 'z'];
  const source = Object.assign(Readable.from(body.map((chunk) => Buffer.from(chunk))), {
    headers: {},
    socket: incoming.socket,
    complete: true,
  });
  let most = 0;
  const reading = readBytes(source as Readable as IncomingMessage, defaultBodyLimits, budget);
  source.on('data', () => (most = Math.max(most, budget.held)));
  expect((await reading).toString()).toBe(body.join(''));
  expect(most).toBe(2 * 4_096 + 2_000 + 4_096);
  expect(budget.held).toBe(0);
});

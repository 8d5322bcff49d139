import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Connection } from 'rabbitmq-client';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rabbitMq } from '../../../../test/support/rabbitmq.ts';
import { describeBus, nameOf, eventually } from '../bus.contract.ts';
import { type Bus, type Delivery, done, type Queue, type AckDecision } from '../bus.ts';
import { openBus } from '../open-bus.ts';
import type { RabbitBusOptions } from './rabbit-broker.ts';

// Starting the server takes long on a busy machine.
beforeAll(async () => void (await rabbitMq()), 180_000);

for (const queueType of ['quorum', 'classic'] as const) {
  describeBus(`the bus over RabbitMQ (${queueType} queues)`, async () => {
    const { url } = await rabbitMq();
    return { open: (options) => openBus({ type: 'rabbitmq', url, queueType, ...options }) };
  });
}

const retryable: AckDecision = { kind: 'retry', reason: 'again' };

describe('the bus over RabbitMQ, disturbed', () => {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function open(options: Partial<RabbitBusOptions> = {}): Promise<Bus> {
    const { url } = await rabbitMq();
    const bus = await openBus({ type: 'rabbitmq', url, ...options });
    cleanups.push(() => bus.close());
    return bus;
  }

  function queueOf(more: Partial<Queue> = {}) {
    const topic = `test.${nameOf('topic')}`;
    return { name: nameOf('queue'), topics: [topic], topic, ...more };
  }

  test(
    'connections that are cut lose nothing, and a handler at work does not hold up the others',
    { timeout: 90_000 },
    async () => {
      const broker = await rabbitMq();
      const bus = await open();
      const queue = queueOf();
      const seen = new Set<string>();
      const { promise, resolve } = Promise.withResolvers<void>();
      cleanups.push(async () => resolve());
      await bus.consume(queue, async ({ body }) => {
        seen.add(body);
        if (body === '"slow"') await promise;
        return done;
      });
      await bus.publish(queue.topic, { type: 'task', body: '"slow"' });
      await eventually(() => seen.size).toBe(1);
      let count = 0;
      const send = (): Promise<void> =>
        bus.publish(queue.topic, { type: 'task', body: String((count += 1)) });
      const burst = () => Promise.all(Array.from({ length: 100 }, send));
      const before = burst();
      const over = new AbortController();
      const cut = broker.closeConnections().finally(() => over.abort());
      while (!over.signal.aborted) await send();
      await Promise.all([before, cut, burst()]);
      await eventually(() => seen.size, { timeout: 60_000 }).toBe(count + 1);
    },
  );

  test(
    'a restart of the broker loses nothing that was confirmed',
    { timeout: 90_000 },
    async () => {
      const broker = await rabbitMq();
      const bus = await open({ publishTimeoutMs: 60_000 });
      const queue = queueOf();
      const waiting = queueOf();
      await bus.declare(waiting);
      for (let index = 0; index < 20; index += 1) {
        await bus.publish(
          waiting.topic,
          { type: 'task', body: String(index) },
          { mandatory: true },
        );
      }
      const seen: string[] = [];
      await bus.consume(queue, async ({ body }) => {
        seen.push(body);
        return done;
      });
      const restarted = broker.restart();
      // Published while the broker is away: it is taken once the broker is back.
      const during = bus.publish(queue.topic, { type: 'task', body: '"during"' });
      await restarted;
      await during;
      await eventually(() => seen, { timeout: 30_000 }).toContain('"during"');
      const kept = new Set<string>();
      await bus.consume(waiting, async ({ body }) => {
        kept.add(body);
        return done;
      });
      await eventually(() => kept.size, { timeout: 30_000 }).toBe(20);
    },
  );

  test('messages of other clients are accepted, and binary bodies are refused', async () => {
    const bus = await open();
    const queue = queueOf();
    const seen: Delivery[] = [];
    await bus.consume(queue, async (delivery) => {
      seen.push(delivery);
      return done;
    });
    const connection = new Connection((await rabbitMq()).url);
    const publisher = connection.createPublisher({ confirm: true });
    cleanups.push(async () => {
      await publisher.close();
      await connection.close();
    });
    const routingKey = queue.topic;
    await publisher.send({ exchange: 'legate', routingKey }, { an: 'object' });
    await publisher.send({ exchange: 'legate', routingKey }, 'text');
    const headers = { number: 3, text: 'x', 'legate-attempt': 'many', __proto__: 'y' };
    await publisher.send(
      { exchange: 'legate', routingKey, headers, contentType: 'application/json' },
      Buffer.from('{ not json'),
    );
    await eventually(() => seen.length).toBe(3);
    expect(seen.map(({ body }) => body)).toEqual(['{"an":"object"}', 'text', '{ not json']);
    expect(seen[2]).toMatchObject({ type: '', attempt: 1, headers: { text: 'x' } });
    expect(new Set(seen.map(({ id }) => id)).size).toBe(3);
  });

  test('what is too large for the consumer is dead, and never handled', async () => {
    const bus = await open({ maxBodyBytes: 50 });
    const other = await open();
    const queue = queueOf();
    const seen: string[] = [];
    await bus.consume(queue, async ({ body }) => {
      seen.push(body);
      return done;
    });
    await other.publish(queue.topic, { type: 'task', body: `"${'x'.repeat(60)}"` });
    await other.publish(queue.topic, { type: 'task', body: '"small"' });
    await eventually(() => seen).toEqual(['"small"']);
    await eventually(async () =>
      (await bus.deadLetters(queue.name)).map(({ reason }) => reason),
    ).toEqual(['the body of 62 bytes is larger than 50 (maxBodyBytes)']);
  });

  test('a message that is given back too often is dead by the broker itself', async () => {
    const bus = await open();
    const queue = queueOf();
    await bus.declare(queue);
    await bus.publish(queue.topic, { type: 'task', body: '"crash"' });
    const connection = new Connection((await rabbitMq()).url);
    cleanups.push(() => connection.close());
    const channel = await connection.acquire();
    cleanups.push(() => channel.close());
    let deliveries = 0;
    await channel.basicConsume({ queue: queue.name }, ({ deliveryTag }) => {
      deliveries += 1;
      channel.basicNack({ deliveryTag, requeue: true });
    });
    await eventually(async () =>
      (await bus.deadLetters(queue.name)).map(({ reason }) => reason),
    ).toEqual(['delivery_limit']);
    expect(deliveries).toBe(21);
  });

  test('a retry survives the end of its consumer', async () => {
    const bus = await open();
    const queue = queueOf({ retryDelaysMs: [2_000] });
    const first = await bus.consume(queue, async () => retryable);
    await bus.publish(queue.topic, { type: 'task', body: '"x"' });
    await eventually(async () => (await bus.inspect(`${queue.name}.retry.2000`))?.messages).toBe(1);
    await first.close();
    const attempts: number[] = [];
    await bus.consume(queue, async ({ attempt }) => {
      attempts.push(attempt);
      return done;
    });
    await eventually(() => attempts).toEqual([2]);
  });

  test('a broker that cannot be reached is told without its password', async () => {
    const opening = openBus({
      type: 'rabbitmq',
      url: 'amqp://guest:secret@127.0.0.1:1',
      connectTimeoutMs: 200,
    });
    await expect(opening).rejects.toThrow(/127\.0\.0\.1:1 cannot be reached/);
    await expect(opening).rejects.not.toThrow(/secret/);
    await expect(openBus({ type: 'rabbitmq', url: 'http://x' })).rejects.toThrow(/amqp:/);
  });

  /** Passes everything on to the broker, and resets connections that open a channel, so many times. */
  async function resetting(times: number): Promise<{ url: string; resets: () => number }> {
    const { url } = await rabbitMq();
    const { hostname, port } = new URL(url);
    let resets = 0;
    // A method frame on channel 1, of class channel (20), method open (10).
    const opening = Buffer.from([1, 0, 1, 0, 0, 0, 5, 0, 20, 0, 10]);
    const server = createServer((client) => {
      const broker = connect(Number(port), hostname);
      for (const socket of [client, broker]) {
        socket.on('error', () => socket.destroy());
        socket.on('close', () => [client, broker].forEach((each) => void each.destroy()));
      }
      broker.pipe(client);
      client.on('data', (chunk: Buffer) => {
        if (chunk.includes(opening) && resets < times) {
          resets += 1;
          client.resetAndDestroy();
        } else broker.write(chunk);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(async () => void server.close());
    const address = new URL(url);
    address.port = String((server.address() as AddressInfo).port);
    return { url: address.href, resets: () => resets };
  }

  test('a connection that is lost before the first declaration is opened again until the deadline', async () => {
    const twice = await resetting(2);
    const bus = await openBus({ type: 'rabbitmq', url: twice.url });
    cleanups.push(() => bus.close());
    expect(twice.resets()).toBe(2);
    expect(bus.isConnected).toBe(true);
    const always = await resetting(Number.POSITIVE_INFINITY);
    const failed = openBus({ type: 'rabbitmq', url: always.url, connectTimeoutMs: 500 });
    await expect(failed).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/connection to the message broker was lost/) as unknown,
    });
  });

  test('a server that is not a broker is an error, and ends no process', async () => {
    const server = createServer((socket) => {
      // The client may have gone before it reads the answer.
      socket.on('error', () => socket.destroy());
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(async () => void server.close());
    const { port } = server.address() as AddressInfo;
    const url = `amqp://guest:guest@127.0.0.1:${port}`;
    const opening = openBus({ type: 'rabbitmq', url, connectTimeoutMs: 500 });
    await expect(opening).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

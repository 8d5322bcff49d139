/** Messages that no well-meaning sender writes, through a real broker. */
import { Connection } from 'rabbitmq-client';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  field,
  nestedField,
  type RawMessage,
  type RawProperties,
  rawProperties,
  RawPublisher,
  textField,
} from '../../../../test/support/raw-amqp.ts';
import { rabbitMq } from '../../../../test/support/rabbitmq.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { eventually, nameOf } from '../bus.contract.ts';
import { type Bus, type BusMessage, type Delivery, done, type Queue } from '../bus.ts';
import { openBus } from '../open-bus.ts';
import type { RabbitBusOptions } from './rabbit-broker.ts';

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

/** A logger that remembers. */
function recorder(): { lines: { event: string; fields: object }[]; logger: Logger } {
  const lines: { event: string; fields: object }[] = [];
  const note = (fields: object, event: string): void => void lines.push({ event, fields });
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  return { lines, logger };
}

function queueOf(more: Partial<Queue> = {}) {
  const topic = `test.${nameOf('topic')}`;
  return { name: nameOf('queue'), topics: [topic], topic, ...more };
}

async function raw(): Promise<RawPublisher> {
  const publisher = await RawPublisher.open((await rabbitMq()).url);
  cleanups.push(() => publisher.close());
  return publisher;
}

function message(
  routingKey: string,
  properties: RawProperties,
  body: Buffer | string = '"x"',
): RawMessage {
  return { routingKey, properties: rawProperties(properties), body: Buffer.from(body) };
}

const json = { contentType: 'application/json' };
const deepBody = '['.repeat(100_000) + ']'.repeat(100_000);

/** What each message becomes: handed out with its body as it came, or refused. */
const hostile: readonly (readonly [
  string,
  RawProperties,
  Buffer | string,
  RegExp | 'handed out',
])[] = [
  ['JSON that nests 100,000 levels deep', json, deepBody, 'handed out'],
  [
    'JSON with an encoding that is unknown',
    { ...json, contentEncoding: 'x' },
    deepBody,
    'handed out',
  ],
  ['plain text', { contentType: 'text/plain' }, 'text', 'handed out'],
  ['bytes that are not UTF-8', json, Buffer.of(0x22, 0xff, 0xfe, 0x22), /not UTF-8/],
  ['no body', json, '', 'handed out'],
  [
    'a header of 9 kB',
    { headers: [textField('big', 'x'.repeat(9_000))] },
    '"x"',
    /headers of 9009 bytes/,
  ],
  [
    'a header of 100 kB',
    { headers: [textField('big', 'x'.repeat(100_000))] },
    '"x"',
    /headers of 10/,
  ],
  [
    '2,000 headers',
    { headers: Array.from({ length: 2_000 }, (_, index) => textField(`h${index}`, '')) },
    '"x"',
    /headers of/,
  ],
  [
    'headers that nest 6,000 levels deep',
    { headers: [nestedField('deep', 6_000)] },
    '"x"',
    /deeper than 8/,
  ],
  [
    'headers that nest 9 levels deep',
    { headers: [nestedField('deep', 9)] },
    '"x"',
    /deeper than 8/,
  ],
  [
    'headers of every type',
    {
      headers: [
        field('flag', 't', Buffer.of(1)),
        field('nothing', 'V', Buffer.alloc(0)),
        nestedField('list', 3),
      ],
    },
    '"x"',
    'handed out',
  ],
  [
    'names that are not UTF-8',
    { headers: [textField(Buffer.alloc(200, 0xff), 'x')] },
    '"x"',
    /headers of/,
  ],
  [
    'ids that are not UTF-8',
    { messageId: Buffer.alloc(255, 0xff), correlationId: Buffer.alloc(255, 0x80) },
    '"x"',
    'handed out',
  ],
  ['a correlation id with NUL', { correlationId: 'a\0b' }, '"x"', /NUL/],
  [
    'headers named like our own',
    {
      headers: [
        textField('legate-attempt', '-7'),
        textField('legate-topic', 'agent.task.other'),
        textField('__proto__', 'x'),
      ],
    },
    '"x"',
    'handed out',
  ],
  [
    'a death that is not a list of tables',
    { headers: [nestedField('x-death', 5)] },
    Buffer.of(0xff),
    /not UTF-8/,
  ],
  [
    'a death that is not a list of tables, and a body',
    { headers: [nestedField('x-death', 5)] },
    '"x"',
    'handed out',
  ],
  ['a death that lies', { headers: [textField('x-death', 'never')] }, '"x"', 'handed out'],
];

// Starting the server takes long on a busy machine.
beforeAll(async () => void (await rabbitMq()), 180_000);

describe.each(['quorum', 'classic'] as const)('hostile messages in %s queues', (queueType) => {
  test.each(hostile)('%s', async (_title, properties, body, expected) => {
    const { lines, logger } = recorder();
    const bus = await open({ logger, queueType });
    const queue = queueOf();
    const seen: Delivery[] = [];
    const refused: (readonly [BusMessage, string])[] = [];
    await bus.consume(
      queue,
      async (delivery) => {
        seen.push(delivery);
        return delivery.id === 'last' ? done : { kind: 'dead', reason: 'unwanted' };
      },
      { prefetch: 1, onRefused: async (...told) => void refused.push(told) },
    );
    const publisher = await raw();
    await publisher.publish(message(queue.topic, { messageId: 'hostile', ...properties }, body));
    await publisher.publish(message(queue.topic, { messageId: 'last' }));
    await eventually(() => seen.at(-1)?.id).toBe('last');
    await eventually(async () => (await bus.deadLetters(queue.name)).length).toBe(1);
    const [letter] = await bus.deadLetters(queue.name);
    if (expected === 'handed out') {
      expect(seen[0]?.body).toBe(String(body));
      expect(seen[0]?.topic).toBe(queue.topic);
      expect(seen[0]?.attempt).toBe(1);
      expect(letter).toMatchObject({ reason: 'unwanted', message: { body: String(body) } });
    } else {
      expect(seen.length).toBe(1);
      expect(refused).toEqual([
        [expect.objectContaining({ id: 'hostile', body: '' }), expect.stringMatching(expected)],
      ]);
      expect(letter).toMatchObject({
        id: 'hostile',
        reason: expect.stringMatching(expected) as unknown,
      });
      expect(lines.filter(({ event }) => event === 'bus.message.refused').length).toBe(1);
    }
    // Nothing of this costs the connection.
    expect(lines.filter(({ event }) => event === 'bus.connection.lost')).toEqual([]);
  });
});

test('more malformed messages with large headers than a consumer may hold do not stop it', async () => {
  const { lines, logger } = recorder();
  const bus = await open({ logger });
  const queue = queueOf();
  const seen: string[] = [];
  await bus.consume(
    queue,
    async ({ id }) => {
      seen.push(id);
      return id === 'last' ? done : { kind: 'dead', reason: 'x'.repeat(100_000) };
    },
    { prefetch: 10 },
  );
  const publisher = await raw();
  for (const size of [5_900, 9_000]) {
    const headers = [textField('big', 'x'.repeat(size))];
    for (let index = 0; index < 15; index += 1) {
      await publisher.publish(
        message(queue.topic, { headers, correlationId: 'y'.repeat(255) }, '{'),
      );
    }
  }
  await publisher.publish(message(queue.topic, { messageId: 'last' }));
  await eventually(() => seen.at(-1)).toBe('last');
  await eventually(async () => (await bus.inspect(queue.name))?.deadLetters).toBe(30);
  const reasons = (await bus.deadLetters(queue.name)).map(({ reason }) => reason);
  expect(new Set(reasons)).toEqual(
    new Set(['x'.repeat(500), 'headers of 9009 bytes: at most 6000']),
  );
  expect(lines.filter(({ event }) => event === 'bus.dead_letter').length).toBe(15);
  expect(lines.filter(({ event }) => event === 'bus.message.refused').length).toBe(15);
});

test('a dead letter whose queue of dead letters is gone is logged, and holds nothing up', async () => {
  const { lines, logger } = recorder();
  const bus = await open({ logger });
  const queue = queueOf();
  const seen: string[] = [];
  await bus.consume(
    queue,
    async ({ body }) => {
      seen.push(body);
      return { kind: 'dead', reason: 'unwanted' };
    },
    { prefetch: 1 },
  );
  const connection = new Connection((await rabbitMq()).url);
  cleanups.push(() => connection.close());
  await connection.queueDelete({ queue: `${queue.name}.dead` });
  for (const body of ['"a"', '"b"']) await bus.publish(queue.topic, { type: 'task', body });
  await eventually(() => seen).toEqual(['"a"', '"b"']);
  await eventually(() => lines.filter(({ event }) => event === 'bus.settle.failed').length).toBe(2);
  expect(lines.filter(({ event }) => event === 'bus.dead_letter').length).toBe(2);
});

test('a refused dead letter is not replayed, and stays where it is', async () => {
  const bus = await open({ maxBodyBytes: 50 });
  const queue = queueOf();
  await bus.declare(queue);
  const publisher = await raw();
  const large = message(`${queue.name}.dead`, { messageId: 'large' }, 'x'.repeat(60));
  await publisher.publish({ ...large, exchange: '' });
  await publisher.publish({
    ...message(`${queue.name}.dead`, { messageId: 'small' }),
    exchange: '',
  });
  await eventually(async () => (await bus.inspect(queue.name))?.deadLetters).toBe(2);
  expect(await bus.replay(queue.name)).toBe(1);
  expect(await bus.deadLetters(queue.name)).toMatchObject([
    { id: 'large', reason: 'the body of 60 bytes is larger than 50 (maxBodyBytes)' },
  ]);
});

test('a message says by which topic it came only within those of its queue', async () => {
  const bus = await open();
  const queue = queueOf();
  const seen: Delivery[] = [];
  await bus.consume(queue, async (delivery) => {
    seen.push(delivery);
    return done;
  });
  const publisher = await raw();
  const headers = [textField('legate-topic', 'agent.task.somebody-else')];
  await publisher.publish(message(queue.topic, { headers }));
  await publisher.publish({ ...message(queue.name, { headers }), exchange: '' });
  await eventually(() => seen.map(({ topic }) => topic)).toEqual([queue.topic, queue.name]);
});

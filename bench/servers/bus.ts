/**
 * The server side of the bus row, selected by the first argument. `ours` hosts an agent with SQLite in
 * the folder of the third argument; `bare` and `rpc` respond with rabbitmq-client only. The second
 * argument is the URL of the broker.
 */
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { agent, textOf } from '../../src/agents/index.ts';
import { hostOnBus, openBus } from '../../src/bus/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import {
  answerBytes,
  bareQueue,
  busAgentName,
  busExchange,
  inFlight,
  rpcQueue,
} from '../bus-protocol.ts';
import { Instruments } from './instruments.ts';

const [, , kind, url = '', directory = '.'] = process.argv;

async function host(): Promise<void> {
  const echo = agent({ name: busAgentName, serialise: 'task' }, async function* (turn) {
    yield artifact(textOf(turn.message));
  });
  await hostOnBus(echo, {
    bus: await openBus({ type: 'rabbitmq', url, exchange: busExchange }),
    store: { type: 'sqlite', path: join(directory, 'bus.db') },
    concurrency: inFlight,
  });
}

/** The library's own way: responses go directly to the client, and are lost with it. */
async function answerCalls(connection: Connection): Promise<void> {
  const consumer = connection.createConsumer(
    { queue: rpcQueue, qos: { prefetchCount: inFlight } },
    async ({ body }, reply) => {
      await reply(body as Buffer, { contentEncoding: 'utf-8' });
    },
  );
  await new Promise((resolve) => void consumer.once('ready', resolve));
}

/** With the guarantees of the bus: a request is acknowledged only after its response is confirmed. */
async function answerDurably(connection: Connection): Promise<void> {
  const publisher = connection.createPublisher({ confirm: true });
  const consumer = connection.createConsumer(
    { ...bareQueue, qos: { prefetchCount: inFlight } },
    async ({ body, replyTo = '', correlationId = '' }) => {
      const answer = { routingKey: replyTo, correlationId, durable: true, mandatory: true };
      const task = Buffer.alloc(answerBytes, ' ');
      (body as Buffer).copy(task);
      await publisher.send({ ...answer, contentEncoding: 'utf-8' }, task);
    },
  );
  await new Promise((resolve) => void consumer.once('ready', resolve));
}

if (kind === 'ours') await host();
else if (kind === 'bare') await answerDurably(new Connection(url));
else await answerCalls(new Connection(url));
new Instruments().report(0);

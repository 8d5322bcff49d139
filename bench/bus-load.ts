/** The client side of the bus row. The argument is the URL of the broker. */
import { Connection } from 'rabbitmq-client';
import { done, openBus, ownResponseQueue, topics } from '../src/bus/index.ts';
import {
  bareQueue,
  busAgentName,
  busExchange,
  type BusKind,
  type BusLoad,
  type BusLoadResult,
  inFlight,
  rpcQueue,
} from './bus-protocol.ts';
import { answerQuestions } from './ipc.ts';

const [, , url = ''] = process.argv;

/** Sends one request; resolves with the text of the response. */
type Ask = (body: string, id: string) => Promise<string>;

/** Matches responses to pending requests. */
class Waiting {
  readonly #waiting = new Map<string, (answer: string) => void>();

  async for(id: string, send: () => Promise<void>): Promise<string> {
    const answer = new Promise<string>((resolve) => this.#waiting.set(id, resolve));
    await send();
    return answer;
  }

  answer(id: string, text: string): void {
    this.#waiting.get(id)?.(text);
    this.#waiting.delete(id);
  }
}

async function ours(): Promise<Ask> {
  const bus = await openBus({ type: 'rabbitmq', url, exchange: busExchange });
  const name = `bench-${crypto.randomUUID()}`;
  const waiting = new Waiting();
  await bus.consume(
    ownResponseQueue(name),
    async ({ type, body, correlationId = '' }) => {
      if (type !== 'update') waiting.answer(correlationId, body);
      return done;
    },
    { prefetch: inFlight * 2 },
  );
  const replyTo = topics.response(name);
  return (body, id) =>
    waiting.for(id, () =>
      bus.publish(
        topics.task(busAgentName),
        // This client waits for the result, so it needs no updates; the bare side has none either.
        { type: 'task', body, correlationId: id, replyTo, headers: { updates: 'none' } },
        { mandatory: true },
      ),
    );
}

async function bare(): Promise<Ask> {
  const connection = new Connection(url);
  const queue = `bench.replies.${crypto.randomUUID()}`;
  const waiting = new Waiting();
  const consumer = connection.createConsumer(
    {
      queue,
      queueOptions: { queue, durable: true, arguments: { 'x-expires': 600_000 } },
      qos: { prefetchCount: inFlight * 2 },
    },
    async ({ body, correlationId = '' }) => waiting.answer(correlationId, String(body)),
  );
  await new Promise((resolve) => void consumer.once('ready', resolve));
  const publisher = connection.createPublisher({ confirm: true });
  const request = { routingKey: bareQueue.queue, replyTo: queue, durable: true, mandatory: true };
  return (body, id) =>
    waiting.for(id, () =>
      publisher.send(
        { ...request, correlationId: id, contentEncoding: 'utf-8' },
        Buffer.from(body),
      ),
    );
}

async function rpc(): Promise<Ask> {
  const client = new Connection(url).createRPCClient({ confirm: true, timeout: 60_000 });
  return async (body) => {
    const request = { routingKey: rpcQueue, contentEncoding: 'utf-8' };
    return String((await client.send(request, Buffer.from(body))).body);
  };
}

const makers: Readonly<Record<BusKind, () => Promise<Ask>>> = { ours, bare, rpc };
const made = new Map<BusKind, Promise<Ask>>();

answerQuestions<BusLoad, BusLoadResult>(async ({ kind, seconds }) => {
  const making = made.get(kind) ?? makers[kind]();
  made.set(kind, making);
  const ask = await making;
  const began = performance.now();
  const end = began + seconds * 1000;
  const times: number[] = [];
  const askOn = async (): Promise<void> => {
    while (performance.now() < end) {
      const id = crypto.randomUUID();
      const start = performance.now();
      const parts = [{ text: id }];
      const body = JSON.stringify({ message: { messageId: id, role: 'ROLE_USER', parts } });
      const answer = await ask(body, id);
      if (!answer.includes(id)) throw new Error(`a wrong answer: ${answer.slice(0, 200)}`);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, askOn));
  const took = (performance.now() - began) / 1000;
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { requests: times.length, seconds: took, p50Ms: at(0.5), p99Ms: at(0.99) };
});

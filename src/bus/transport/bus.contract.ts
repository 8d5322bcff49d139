/** The contract of every bus. Each driver's test calls it with a function that opens the driver. */
import { afterEach, describe, expect, test } from 'vitest';
import { LegateError } from '../../protocol/index.ts';
import { type Bus, type Delivery, done, release, type Queue, type AckDecision } from './bus.ts';

export interface BusPlace {
  /** A connection of its own to the same broker. */
  open(options?: { maxBodyBytes?: number }): Promise<Bus>;
}

const retry: AckDecision = { kind: 'retry', reason: 'not yet' };

let unique = 0;
/** Names unique for each run and test, because brokers keep queues. */
export function nameOf(what: string): string {
  unique += 1;
  return `${what}-${process.pid}-${Date.now()}-${unique}`;
}

/** Polls for an asynchronous effect of the broker, with a deadline that also suits a busy machine. */
export function eventually<T>(
  actual: () => T,
  options: { timeout?: number; interval?: number } = {},
) {
  return expect.poll(actual, { timeout: 10_000, interval: 20, ...options });
}

export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof LegateError) return error.code;
    throw error;
  }
  return 'no error';
}

export function describeBus(title: string, place: () => Promise<BusPlace>): void {
  describe(title, () => {
    const cleanups: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
    });

    async function open(options: { maxBodyBytes?: number } = {}): Promise<Bus> {
      const bus = await (await place()).open(options);
      cleanups.push(() => bus.close());
      return bus;
    }

    function queueOf(more: Partial<Queue> = {}): Queue & { topic: string } {
      const topic = `test.${nameOf('topic')}`;
      return { name: nameOf('queue'), topics: [topic], topic, ...more };
    }

    /** Consumes into a list. */
    async function collect(
      bus: Bus,
      queue: Queue,
      decision: (delivery: Delivery) => AckDecision | Promise<AckDecision> = () => done,
      options = {},
    ) {
      const seen: Delivery[] = [];
      const consumption = await bus.consume(
        queue,
        async (delivery) => {
          seen.push(delivery);
          return decision(delivery);
        },
        options,
      );
      return {
        seen,
        consumption,
        texts: () => seen.map(({ body }) => JSON.parse(body) as unknown),
      };
    }

    const say = (text: string | number) => ({ type: 'task', body: JSON.stringify(text) }) as const;

    test('a message arrives with all that was said about it', async () => {
      const bus = await open();
      const queue = queueOf();
      const { seen } = await collect(bus, queue);
      await bus.publish(queue.topic, {
        type: 'result',
        body: '{"text":"Grüße, 世界"}',
        id: 'message-1',
        correlationId: 'task-1',
        replyTo: 'agent.response.me',
        headers: { traceparent: '00-a-b-01' },
      });
      await eventually(() => seen.length).toBe(1);
      expect(seen[0]).toMatchObject({
        type: 'result',
        body: '{"text":"Grüße, 世界"}',
        id: 'message-1',
        topic: queue.topic,
        correlationId: 'task-1',
        replyTo: 'agent.response.me',
        headers: { traceparent: '00-a-b-01' },
        attempt: 1,
        isLastAttempt: false,
        isRedelivered: false,
      });
    });

    test('messages of one publisher keep their order, confirmed or not', async () => {
      const bus = await open();
      const queue = queueOf();
      const { seen, texts } = await collect(bus, queue, () => done, { concurrency: 1 });
      const sent: Promise<void>[] = [];
      for (let index = 0; index < 200; index += 1) {
        sent.push(bus.publish(queue.topic, say(index), { confirm: index % 3 === 0 }));
      }
      await Promise.all(sent);
      await eventually(() => seen.length).toBe(200);
      expect(texts()).toEqual(Array.from({ length: 200 }, (_, index) => index));
    });

    test('a mandatory message without a queue is an error', async () => {
      const bus = await open();
      const topic = `test.${nameOf('nobody')}`;
      expect(await codeOf(bus.publish(topic, say('x'), { mandatory: true }))).toBe(
        'PEER_UNREACHABLE',
      );
      expect(await codeOf(bus.publish(topic, say('x')))).toBe('no error');
    });

    test('a mandatory message waits where a queue was declared', async () => {
      const bus = await open();
      const queue = queueOf();
      await bus.declare(queue);
      await bus.publish(queue.topic, say('early'), { mandatory: true });
      await eventually(async () => (await bus.inspect(queue.name))?.messages).toBe(1);
      const { texts } = await collect(bus, queue);
      await eventually(texts).toEqual(['early']);
    });

    test('declaring a queue again, otherwise, keeps it and what is in it', async () => {
      const bus = await open();
      const queue = queueOf();
      await bus.declare(queue);
      await bus.publish(queue.topic, say('kept'), { mandatory: true });
      await bus.declare({ ...queue, maxMessages: 7, messageTtlMs: 1 });
      const { texts } = await collect(bus, { ...queue, maxMessages: 8 });
      await eventually(texts).toEqual(['kept']);
    });

    test('consumers of one queue share its messages; each queue of a topic has its own', async () => {
      const bus = await open();
      const queue = queueOf();
      const other = { ...queue, name: nameOf('other') };
      const first = await collect(bus, queue);
      const second = await collect(bus, queue);
      const third = await collect(bus, other);
      for (let index = 0; index < 20; index += 1) await bus.publish(queue.topic, say(index));
      await eventually(() => first.seen.length + second.seen.length).toBe(20);
      expect(first.seen.length).toBeGreaterThan(0);
      expect(second.seen.length).toBeGreaterThan(0);
      await eventually(() => third.seen.length).toBe(20);
    });

    test('prefetch bounds the unacknowledged messages, concurrency the handlers', async () => {
      const bus = await open();
      const queue = queueOf();
      let running = 0;
      let most = 0;
      const { promise, resolve } = Promise.withResolvers<void>();
      const { seen } = await collect(
        bus,
        queue,
        async () => {
          running += 1;
          most = Math.max(most, running);
          await promise;
          running -= 1;
          return done;
        },
        { prefetch: 4, concurrency: 2 },
      );
      for (let index = 0; index < 10; index += 1) await bus.publish(queue.topic, say(index));
      await eventually(() => seen.length).toBe(2);
      await eventually(async () => (await bus.inspect(queue.name))?.messages).toBe(6);
      resolve();
      await eventually(() => seen.length).toBe(10);
      expect(most).toBe(2);
    });

    test('closing a consumer waits for what it started and gives back the rest', async () => {
      const bus = await open();
      const queue = queueOf();
      const { promise, resolve } = Promise.withResolvers<void>();
      const { seen, consumption } = await collect(
        bus,
        queue,
        async () => {
          await promise;
          return done;
        },
        { prefetch: 5, concurrency: 1 },
      );
      for (let index = 0; index < 5; index += 1) await bus.publish(queue.topic, say(index));
      await eventually(() => seen.length).toBe(1);
      let isClosed = false;
      const closing = consumption.close().then(() => {
        isClosed = true;
      });
      expect(isClosed).toBe(false);
      resolve();
      await closing;
      expect(seen.length).toBe(1);
      const next = await collect(bus, queue);
      await eventually(() => new Set(next.texts())).toEqual(new Set([1, 2, 3, 4]));
    });

    test('a released message goes to another consumer at once and uncounted', async () => {
      const bus = await open();
      const queue = queueOf();
      const first = await collect(bus, queue, () => release, { limit: 1 });
      await bus.publish(queue.topic, say('x'));
      await eventually(() => first.seen.length).toBe(1);
      const { seen } = await collect(bus, queue);
      await eventually(() => seen.length).toBe(1);
      expect(seen[0]).toMatchObject({ attempt: 1, isRedelivered: true });
    });

    test('a consumer with a limit takes so many and leaves the others to others', async () => {
      const bus = await open();
      const queue = queueOf();
      await bus.declare(queue);
      for (let index = 0; index < 3; index += 1) await bus.publish(queue.topic, say(index));
      const one = await collect(bus, queue, () => done, { prefetch: 10, limit: 1 });
      await eventually(() => one.seen.length).toBe(1);
      await eventually(async () => (await bus.inspect(queue.name))?.messages).toBe(2);
      await one.consumption.close();
      expect(one.seen.length).toBe(1);
      const rest = await collect(bus, queue);
      await eventually(() => rest.texts()).toEqual([1, 2]);
      expect(rest.seen.every(({ isRedelivered }) => !isRedelivered)).toBe(true);
    });

    test('a retry comes later and is counted; after the last one the message is dead', async () => {
      const bus = await open();
      const queue = queueOf({ retryDelaysMs: [20, 40] });
      const { seen } = await collect(bus, queue, ({ body }) => {
        if (body === '"throws"') throw new Error('store away');
        return retry;
      });
      await bus.publish(queue.topic, { ...say('retried'), id: 'r' });
      await bus.publish(queue.topic, { ...say('throws'), id: 't' });
      // Delivery is at least once, so the test identifies attempts by their number.
      const attemptsOf = (wanted: string) =>
        seen.filter(({ id }, index) => {
          const first = seen.findIndex(
            (other) => other.id === wanted && other.attempt === seen[index]?.attempt,
          );
          return id === wanted && first === index;
        });
      await eventually(() => attemptsOf('r').length + attemptsOf('t').length).toBe(6);
      const attempts = attemptsOf('r');
      expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(attempts.map(({ isLastAttempt }) => isLastAttempt)).toEqual([false, false, true]);
      expect(attempts.every(({ topic }) => topic === queue.topic)).toBe(true);
      await eventually(
        async () => new Set((await bus.deadLetters(queue.name)).map(({ id }) => id)).size,
      ).toBe(2);
      const letters = await bus.deadLetters(queue.name);
      expect(letters.find(({ id }) => id === 'r')).toMatchObject({
        reason: 'not yet',
        attempts: 3,
        message: { body: '"retried"', topic: queue.topic },
      });
      expect(letters.find(({ id }) => id === 't')?.reason).toBe('store away');
      expect(letters.every(({ diedAt }) => diedAt > 0)).toBe(true);
    });

    test('a dead decision is final at once, and concerns its own queue only', async () => {
      const bus = await open();
      const queue = queueOf();
      const other = { ...queue, name: nameOf('other') };
      await bus.declare(other);
      const { seen } = await collect(bus, queue, () => ({ kind: 'dead', reason: 'unreadable' }));
      await bus.publish(queue.topic, say('poison'));
      await eventually(async () => (await bus.deadLetters(queue.name)).length).toBe(1);
      expect(seen.length).toBe(1);
      expect(await bus.deadLetters(other.name)).toEqual([]);
      expect(await bus.inspect(other.name)).toMatchObject({ messages: 1 });
      expect(await bus.inspect(queue.name)).toEqual({ messages: 0, consumers: 1, deadLetters: 1 });
    });

    test('dead letters can be read repeatedly, and replayed into their own queue', async () => {
      const bus = await open();
      const queue = queueOf();
      const other = { ...queue, name: nameOf('other') };
      await bus.declare(other);
      let decision: AckDecision = { kind: 'dead', reason: 'first' };
      const { seen } = await collect(bus, queue, () => decision);
      for (const id of ['a', 'b', 'c']) await bus.publish(queue.topic, { ...say(id), id });
      await eventually(async () => (await bus.deadLetters(queue.name)).length).toBe(3);
      const listed = async () => (await bus.deadLetters(queue.name)).map(({ id }) => id);
      expect(await listed()).toEqual(['a', 'b', 'c']);
      expect(await listed()).toEqual(['a', 'b', 'c']);
      expect((await bus.deadLetters(queue.name, { limit: 2 })).length).toBe(2);
      decision = done;
      expect(await bus.replay(queue.name, { ids: ['b'] })).toBe(1);
      await eventually(() => seen.length).toBe(4);
      expect(seen[3]).toMatchObject({ id: 'b', attempt: 1, topic: queue.topic });
      await eventually(listed).toEqual(['a', 'c']);
      expect(await bus.replay(queue.name)).toBe(2);
      await eventually(() => seen.length).toBe(6);
      expect(await listed()).toEqual([]);
      expect(await bus.inspect(other.name)).toMatchObject({ messages: 3 });
    });

    test('a replay of what dies again ends', async () => {
      const bus = await open();
      const queue = queueOf();
      const { seen } = await collect(bus, queue, () => ({ kind: 'dead', reason: 'always' }));
      await bus.publish(queue.topic, say('x'));
      await eventually(async () => (await bus.deadLetters(queue.name)).length).toBe(1);
      expect(await bus.replay(queue.name)).toBe(1);
      await eventually(() => seen.length).toBe(2);
      await eventually(async () => (await bus.deadLetters(queue.name)).length).toBe(1);
    });

    test('of dead letters the newest are kept, up to the limit', async () => {
      const bus = await open();
      const queue = queueOf({ deadLetters: { maxMessages: 2 } });
      const { seen } = await collect(bus, queue, () => ({ kind: 'dead', reason: 'x' }), {
        concurrency: 1,
      });
      for (const id of ['a', 'b', 'c']) await bus.publish(queue.topic, { ...say(id), id });
      await eventually(() => seen.length).toBe(3);
      await eventually(async () => (await bus.deadLetters(queue.name)).map(({ id }) => id)).toEqual(
        ['b', 'c'],
      );
    });

    test('dead letters are kept for so long and no longer', async () => {
      const bus = await open();
      const queue = queueOf({ deadLetters: { ttlMs: 400 } });
      const { seen } = await collect(bus, queue, () => ({ kind: 'dead', reason: 'x' }));
      await bus.publish(queue.topic, say('short-lived'));
      await eventually(() => seen.length).toBe(1);
      await eventually(async () => (await bus.inspect(queue.name))?.deadLetters).toBe(0);
      expect(await bus.deadLetters(queue.name)).toEqual([]);
      expect(await bus.replay(queue.name)).toBe(0);
    });

    test('a message that waited too long is dead', async () => {
      const bus = await open();
      const queue = queueOf({ messageTtlMs: 30 });
      await bus.declare(queue);
      await bus.publish(queue.topic, { ...say('late'), id: 'late' });
      await eventually(async () => {
        await bus.inspect(queue.name);
        return (await bus.deadLetters(queue.name)).map(({ id, reason }) => [id, reason]);
      }).toEqual([['late', 'expired']]);
    });

    test('publishing to a full queue is refused, and loses nothing that is in it', async () => {
      const bus = await open();
      const queue = queueOf({ maxMessages: 2 });
      await bus.declare(queue);
      const outcomes: string[] = [];
      // Brokers may accept one or two messages above the limit.
      for (let index = 0; index < 6; index += 1) {
        outcomes.push(await codeOf(bus.publish(queue.topic, say(index))));
      }
      expect(outcomes.at(-1)).toBe('UNAVAILABLE');
      const taken = outcomes.filter((outcome) => outcome === 'no error').length;
      const { seen } = await collect(bus, queue);
      await eventually(() => seen.length).toBe(taken);
    });

    test('an expiring queue is deleted once it has no consumer', async () => {
      const bus = await open();
      const queue = queueOf({ expiresAfterMs: 1_000 });
      const { consumption } = await collect(bus, queue);
      expect(await codeOf(bus.publish(queue.topic, say(1), { mandatory: true }))).toBe('no error');
      await consumption.close();
      // Inspecting a queue postpones its expiry, so the test publishes until the queue is gone.
      await eventually(() => codeOf(bus.publish(queue.topic, say(1), { mandatory: true }))).toBe(
        'PEER_UNREACHABLE',
      );
      expect(await bus.inspect(queue.name)).toBe(undefined);
    });

    test('what is too large or badly named never travels', async () => {
      const bus = await open({ maxBodyBytes: 100 });
      const queue = queueOf();
      await bus.declare(queue);
      const large = { type: 'task', body: JSON.stringify('x'.repeat(100)) } as const;
      expect(await codeOf(bus.publish(queue.topic, large))).toBe('PAYLOAD_TOO_LARGE');
      for (const topic of ['', '#', 'agent.*', 'agent.task.#', 'a..b', 'a b', 'a\n', '.a']) {
        expect(await codeOf(bus.publish(topic, say(1)))).toBe('INVALID_PARAMS');
        expect(await codeOf(bus.declare({ ...queue, topics: [topic] }))).toBe('INVALID_PARAMS');
        expect(await codeOf(bus.publish(queue.topic, { ...say(1), replyTo: topic }))).toBe(
          'INVALID_PARAMS',
        );
      }
      const many = Array.from({ length: 1_000 }, (_, index) => [`h${index}`, '']);
      for (const headers of [
        { long: 'x'.repeat(6_000) },
        { wide: '世'.repeat(2_000) },
        { ['n'.repeat(256)]: '' },
        Object.fromEntries(many) as Record<string, string>,
      ]) {
        const refused = bus.publish(queue.topic, { ...say(1), headers });
        expect(await codeOf(refused)).toBe('INVALID_PARAMS');
      }
      const correlationId = 'x'.repeat(256);
      expect(await codeOf(bus.publish(queue.topic, { ...say(1), correlationId }))).toBe(
        'INVALID_PARAMS',
      );
    });

    test('a body of several megabytes arrives whole', async () => {
      const bus = await open();
      const queue = queueOf();
      const { seen } = await collect(bus, queue);
      const body = JSON.stringify({ raw: 'é'.repeat(1_500_000) });
      await bus.publish(queue.topic, { type: 'task', body });
      await eventually(() => seen.length, { timeout: 10_000 }).toBe(1);
      expect(seen[0]?.body === body).toBe(true);
    });

    test('an aborted publish rejects with the reason', async () => {
      const bus = await open();
      const queue = queueOf();
      await bus.declare(queue);
      const signal = AbortSignal.abort(new Error('gone'));
      await expect(bus.publish(queue.topic, say(1), { signal })).rejects.toThrow('gone');
    });

    test('a closed bus takes nothing, and what is handled while it closes may still answer', async () => {
      const bus = await open();
      const queue = queueOf();
      const answers = queueOf();
      await bus.declare(answers);
      const { promise, resolve } = Promise.withResolvers<void>();
      const { seen } = await collect(bus, queue, async () => {
        await promise;
        await bus.publish(answers.topic, say('answer'), { mandatory: true });
        return done;
      });
      await bus.publish(queue.topic, say('question'));
      await eventually(() => seen.length).toBe(1);
      const closing = bus.close();
      resolve();
      await closing;
      expect(await codeOf(bus.publish(queue.topic, say(1)))).toBe('UNAVAILABLE');
      expect(await codeOf(bus.declare(queue))).toBe('UNAVAILABLE');
      expect(await codeOf(bus.consume(queue, async () => done))).toBe('UNAVAILABLE');
    });
  });
}

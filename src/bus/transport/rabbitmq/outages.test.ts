import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OwnRabbitMq, startRabbitMq } from '../../../../test/support/rabbitmq.ts';
import { agent, completed, working } from '../../../agents/index.ts';
import { joinPeers } from '../../../peers/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../../../store/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { message } from '../../../protocol/index.ts';
import { gateway } from '../../gateway/gateway.ts';
import { hostOnBus } from '../../host/host.ts';
import { busLink } from '../../link/bus-link.ts';
import { eventually, nameOf } from '../bus.contract.ts';
import { done } from '../bus.ts';
import { openBus } from '../open-bus.ts';
import { taskQueueName } from '../topics.ts';

/** Milliseconds. Redeliveries need some of them on a busy machine. */
const consumerTimeoutMs = 1_500;

/** A logger, and what it was told as "level event". */
function recorder(): {
  readonly logger: Logger;
  readonly of: (event: string) => readonly string[];
  readonly fieldsOf: (event: string) => readonly object[];
} {
  const events: string[] = [];
  const logged: { readonly event: string; readonly fields: object }[] = [];
  const at = (level: string) => (fields: object, event: string) => {
    events.push(`${level} ${event}`);
    logged.push({ event, fields });
  };
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  return {
    logger,
    of: (event) => events.filter((each) => each.endsWith(` ${event}`)),
    fieldsOf: (event) => logged.filter((each) => each.event === event).map(({ fields }) => fields),
  };
}

describe('a broker with a short consumer_timeout', { timeout: 180_000 }, () => {
  let broker: OwnRabbitMq;

  beforeAll(async () => {
    broker = await startRabbitMq({
      config: () => [`consumer_timeout = ${consumerTimeoutMs}`],
    });
    // How often channels look at their deliveries: rabbitmq.conf has no key for it.
    await broker.control('eval', 'application:set_env(rabbit, channel_tick_interval, 500).');
  }, 180_000);

  afterAll(() => broker.kill());

  /** An agent that reports progress, waits for a gate, and reports progress again. */
  async function worker(store: Store) {
    const log = recorder();
    const exchange = nameOf('timeout');
    const bus = await openBus({ type: 'rabbitmq', url: broker.url, exchange, logger: log.logger });
    const name = nameOf('slow');
    const gate = Promise.withResolvers<void>();
    const slow = agent({ name }, async function* () {
      yield working('one');
      await gate.promise;
      yield working('two');
      yield completed('three');
    });
    const options = { bus, store, logger: log.logger, acknowledgeAfterMs: 100 };
    const host = await hostOnBus(slow, options);
    const links = [busLink({ bus })];
    const network = await joinPeers({ name: 'me', store: openMemory(), links });
    const progress: string[] = [];
    const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
    const answer = network.invoker.invokeAndWait({ agent: name, message: 'go' }, session, {
      onProgress: (text) => void progress.push(text),
    });
    const close = async (): Promise<void> => {
      await network.close();
      await host.close();
      await bus.close();
    };
    return { name, log, progress, answer, finish: () => gate.resolve(), close };
  }

  test('a task of a shared store is not redelivered, nor one of a queue with its own limit; others are, and warned of', async () => {
    const [shared] = openMemoryReplicas(2);
    if (shared === undefined) throw new Error('expected a store');
    const [durable, own] = [await worker(shared), await worker(openMemory())];
    // Of the same age: the redeliveries of a message without either are the clock for the others.
    const clock = recorder();
    await using bus = await openBus({
      type: 'rabbitmq',
      url: broker.url,
      exchange: nameOf('clock'),
      logger: clock.logger,
    });
    const held = { name: nameOf('held'), topics: [nameOf('held')] };
    const never = Promise.withResolvers<typeof done>();
    await using _consumption = await bus.consume(held, () => never.promise);
    await bus.publish(held.topics[0] ?? '', { type: 'task', body: '{}' });
    await eventually(() => clock.of('bus.message.redelivered').length, {
      timeout: 60_000,
    }).toBeGreaterThan(1);
    never.resolve(done);
    for (const each of [durable, own]) each.finish();
    for (const each of [durable, own]) {
      expect((await each.answer).outcome).toMatchObject({ text: 'three' });
      expect(each.progress).toEqual(['one', 'two']);
      expect(each.log.of('bus.task.started')).toEqual(['info bus.task.started']);
      await eventually(() => each.log.of('bus.task.ended')).toEqual(['info bus.task.ended']);
    }
    expect(durable.log.of('bus.message.redelivered')).toEqual([]);
    const version = (await broker.control('version')).trim();
    const isPerQueue = Number(version.split('.')[0]) > 3 || Number(version.split('.')[1]) >= 12;
    // The queue has a limit of its own, where the broker knows that.
    expect(new Set(own.log.of('bus.message.redelivered'))).toEqual(
      new Set(isPerQueue ? [] : ['info bus.message.redelivered']),
    );
    expect(own.log.of('bus.consumer_timeout.unknown')).toEqual(
      isPerQueue ? [] : ['warn bus.consumer_timeout.unknown'],
    );
    expect(durable.log.of('bus.consumer_timeout.unknown')).toEqual([]);
    const listed = await broker.control('list_queues', 'name', 'arguments');
    const row = listed.split('\n').find((line) => line.startsWith(`${taskQueueName(own.name)}\t`));
    expect(row).toMatch(/x-consumer-timeout.*86400000/);
    for (const each of [durable, own]) await each.close();
  });

  test('an alarm, a full queue and an outage are logged at their levels, the outage once', async () => {
    const { logger, of, fieldsOf } = recorder();
    const exchange = nameOf('levels');
    const bus = await openBus({ type: 'rabbitmq', url: broker.url, exchange, logger });
    const [topic, other] = [`test.${nameOf('topic')}`, `test.${nameOf('topic')}`];
    const full = { name: nameOf('full'), topics: [topic], maxMessages: 1 };
    await bus.declare(full);
    const sent = { type: 'task', body: '1' } as const;
    const fill = async (): Promise<readonly string[]> => {
      await bus.publish(topic, sent).catch(() => undefined);
      return of('bus.queue.full');
    };
    await eventually(fill).toEqual(['warn bus.queue.full']);
    await broker.alarm('memory', true);
    // A broker tells a connection that publishes.
    const waiting = bus.publish(other, sent);
    await eventually(() => of('bus.connection.blocked')).toEqual(['warn bus.connection.blocked']);
    await broker.alarm('memory', false);
    await waiting;
    await eventually(() => of('bus.connection.unblocked')).toEqual([
      'info bus.connection.unblocked',
    ]);
    for (const queue of [nameOf('a'), nameOf('b'), nameOf('c')]) {
      await bus.consume({ name: queue, topics: [other] }, async () => done);
    }
    const before = of('bus.connection.open').length;
    await broker.restart();
    await eventually(() => of('bus.consumer.reopened').length, { timeout: 60_000 }).toBe(3);
    expect(of('bus.connection.open').length).toBeGreaterThan(before);
    expect(new Set(of('bus.connection.lost'))).toEqual(new Set(['warn bus.connection.lost']));
    // In one line: an outage is no defect of the program, whose stack would help.
    for (const fields of fieldsOf('bus.connection.lost')) {
      expect(fields).toEqual({
        host: expect.any(String) as unknown,
        purpose: expect.stringMatching(/^(consume|publish)$/) as unknown,
        reason: expect.any(String) as unknown,
      });
    }
    expect(of('bus.consumer.reopen_failed').length).toBeLessThan(2);
    await bus.close();
  });

  test('an alarm and a broker that hangs make gateway and worker unready until they are over', async () => {
    const exchange = nameOf('unready');
    await using bus = await openBus({ type: 'rabbitmq', url: broker.url, exchange, heartbeat: 1 });
    const echo = agent({ name: nameOf('echo') }, async function* () {
      yield completed('here');
    });
    await using host = await hostOnBus(echo, { bus });
    await using serving = await gateway({ bus, agents: [host.name], drainMs: 0 });
    const ready = async () => {
      const response = await fetch(`${serving.url}/ready`);
      const { reason } = (await response.json()) as { readonly reason?: string };
      return { status: response.status, reason };
    };
    // Without the retries of our client.
    const ask = async () => {
      const response = await fetch(`${serving.url}/message:send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ message: message('x') }),
      });
      return { status: response.status, text: await response.text() };
    };
    const answered = { status: 200, text: expect.stringContaining('TASK_STATE_COMPLETED') };
    expect(await ask()).toEqual(answered);

    await broker.alarm('memory', true);
    // A broker tells a connection that publishes.
    const waiting = ask();
    const alarm = expect.stringContaining('memory or disk alarm');
    await eventually(ready).toEqual({ status: 503, reason: alarm });
    expect(await host.ready()).toEqual({ isReady: false, reason: alarm });
    expect(await ask()).toEqual({ status: 503, text: alarm });
    await broker.alarm('memory', false);
    expect(await waiting).toEqual(answered);
    await eventually(ready).toMatchObject({ status: 200 });

    broker.freeze();
    const away = 'the message broker cannot be reached';
    await eventually(ready).toEqual({ status: 503, reason: away });
    expect(await ask()).toEqual({ status: 503, text: expect.stringContaining(away) });
    broker.thaw();
    await eventually(ready, { timeout: 60_000 }).toMatchObject({ status: 200 });
    expect(await ask()).toEqual(answered);
  });
});

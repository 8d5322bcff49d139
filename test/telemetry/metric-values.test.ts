import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, completed, failed, inputRequired, textOf } from '../../src/agents/index.ts';
import { busLink, hostOnBus, openBus } from '../../src/bus/index.ts';
import { connect } from '../../src/client/index.ts';
import { serveGrpc } from '../../src/grpc/index.ts';
import { GrpcClient } from '../../src/grpc/testing/grpc-client.ts';
import { serve } from '../../src/http/index.ts';
import { joinPeers } from '../../src/peers/index.ts';
import { artifact, message } from '../../src/protocol/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { emptyDatabase } from '../../src/store/postgres/database.contract.ts';
import { temporaryDirectory } from '../support/stores.ts';

/** Gauges of the store are up to five seconds old. */
const patient = { timeout: 20_000 };

type Labels = Readonly<Record<string, string>>;

/** The series of a metric in the text format of Prometheus. */
function seriesOf(text: string, name: string): readonly { labels: Labels; value: number }[] {
  const lines = text.split('\n').filter((line) => /^\w+/.exec(line)?.[0] === name);
  return lines.map((line) => ({
    labels: Object.fromEntries(
      Array.from(line.matchAll(/(\w+)="([^"]*)"/g), ([, key = '', value = '']) => [key, value]),
    ),
    value: Number(line.slice(line.lastIndexOf(' ') + 1)),
  }));
}

/** Reads metrics as Prometheus does: the value of the only series with these labels. */
function reader(url: string) {
  return async (name: string, labels: Labels = {}): Promise<number | undefined> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const wanted = Object.entries(labels);
    const found = seriesOf(text, name).filter((series) =>
      wanted.every(([key, value]) => series.labels[key] === value),
    );
    if (found.length > 1) throw new Error(`${name} ${JSON.stringify(labels)}: several series`);
    return found[0]?.value;
  };
}

const echo = agent({ name: 'echo' }, async function* (turn) {
  yield artifact(textOf(turn.message));
});

/** An agent that is held up until `release` is called. */
function held(name = 'held') {
  const gate = Promise.withResolvers<void>();
  const slow = agent({ name }, async function* () {
    await gate.promise;
    yield artifact('done');
  });
  return { agent: slow, release: () => gate.resolve() };
}

const immediately = { returnImmediately: true };

test('requests are counted and timed by transport, operation and outcome', async () => {
  await using bus = await openBus({ type: 'memory' });
  await using _host = await hostOnBus(echo, { bus, name: 'echo-worker' });
  await using network = await joinPeers({
    name: 'me',
    store: openMemory(),
    links: [busLink({ bus })],
    wellKnown: [{ name: 'echo-worker' }],
  });
  await using server = await serve(echo, { prometheus: true, drainMs: 0 });
  const grpc = await serveGrpc(server.router, {});
  try {
    using calling = await GrpcClient.connect({ url: grpc.url, version: '1.0' });
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      const client = await connect(server.url, { binding });
      await client.sendMessage('one');
      await client.sendMessage('two');
      await expect(client.getTask('nowhere')).rejects.toThrow();
    }
    await calling.call('sendMessage', { message: message('three') });
    await expect(calling.call('getTask', { id: 'nowhere' })).rejects.toThrow();
    const session = { id: 'c', caller: { tenant: '', subject: 'u', method: 'test' } };
    const request = { agent: 'echo-worker', skill: 'echo', message: 'four' };
    await network.invoker.invokeAndWait(request, session);
  } finally {
    await grpc.close({ graceMs: 0 });
  }
  const read = async (name: string) =>
    seriesOf(await (await fetch(`${server.url}/metrics`)).text(), name);
  const counts = async () =>
    (await read('legate_request_duration_seconds_count'))
      .map(
        ({ labels: { transport, operation, outcome }, value }) =>
          `${transport} ${operation} ${outcome} ${value}`,
      )
      .toSorted();
  // A request is counted after its answer was sent.
  await expect
    .poll(counts, patient)
    .toEqual([
      'amqp sendMessage ok 1',
      'grpc getTask TASK_NOT_FOUND 1',
      'grpc sendMessage ok 1',
      'jsonrpc getTask TASK_NOT_FOUND 1',
      'jsonrpc sendMessage ok 2',
      'rest getTask TASK_NOT_FOUND 1',
      'rest sendMessage ok 2',
    ]);
  const sums = await read('legate_request_duration_seconds_sum');
  expect(sums.filter(({ value }) => value > 0)).toHaveLength(7);
  const all = (await read('legate_request_duration_seconds_bucket')).filter(
    ({ labels }) => labels['transport'] === 'rest' && labels['operation'] === 'sendMessage',
  );
  expect(all.find(({ labels }) => labels['le'] === '+Inf')?.value).toBe(2);
  expect(all.length).toBeGreaterThan(5);
});

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'a stream over %s counts as open until it ends or its caller leaves',
  async (binding) => {
    const { agent: slow, release } = held();
    await using server = await serve(slow, { prometheus: true, drainMs: 0 });
    const read = reader(server.url);
    const transport = binding === 'JSONRPC' ? 'jsonrpc' : 'rest';
    const open = () => read('legate_streams_open', { transport });
    const client = await connect(server.url, { binding });
    const leaving = new AbortController();
    const drain = async (signal?: AbortSignal): Promise<void> => {
      for await (const _ of client.sendStreamingMessage(
        'x',
        signal === undefined ? {} : { signal },
      )) {
        // Only the stream matters.
      }
    };
    const ending = drain();
    const left = drain(leaving.signal).catch(() => undefined);
    await expect.poll(open, patient).toBe(2);
    leaving.abort();
    await left;
    await expect.poll(open, patient).toBe(1);
    release();
    await ending;
    await expect.poll(open, patient).toBe(0);
    const opened = { transport, operation: 'sendStreamingMessage', outcome: 'ok' };
    expect(await read('legate_request_duration_seconds_count', opened)).toBe(2);
  },
);

test('turns are counted while they run, while they wait, and by their outcomes', async () => {
  const gate = Promise.withResolvers<void>();
  const desk = agent({ name: 'desk' }, async function* (turn) {
    const text = textOf(turn.message);
    if (text === 'hold') await gate.promise;
    if (text === 'ask') yield inputRequired('Which?');
    else if (text === 'fail') yield failed('It broke.');
    else yield completed('Done.');
  });
  await using server = await serve(desk, { prometheus: true, drainMs: 0 });
  const read = reader(server.url);
  const client = await connect(server.url);
  const running = () => read('legate_turns_running', { agent: 'desk' });
  const queued = () => read('legate_turns_queued', { agent: 'desk' });
  for (const _ of Array(3)) {
    const one = message('hold', { contextId: 'one' });
    await client.sendMessage({ message: one, configuration: immediately });
  }
  await client.sendMessage({ message: message('hold'), configuration: immediately });
  await expect.poll(running, patient).toBe(2);
  // Turns of one context run one after the other.
  await expect.poll(queued, patient).toBe(2);
  gate.resolve();
  await expect.poll(running, patient).toBe(0);
  await expect.poll(queued, patient).toBe(0);
  for (const text of ['ask', 'fail', 'fail']) await client.sendMessage(text);
  const ended = async (outcome: string) => [
    await read('legate_turns_total', { agent: 'desk', outcome }),
    await read('legate_turn_duration_seconds_count', { agent: 'desk', outcome }),
  ];
  await expect.poll(() => ended('completed'), patient).toEqual([4, 4]);
  await expect.poll(() => ended('input-required'), patient).toEqual([1, 1]);
  await expect.poll(() => ended('failed'), patient).toEqual([2, 2]);
  expect(await read('legate_events_total', { agent: 'desk' })).toBeGreaterThanOrEqual(7);
});

test('contexts with unfinished tasks are shown against their limit, which holds', async () => {
  const { agent: slow, release } = held();
  await using server = await serve(slow, { prometheus: true, drainMs: 0, maxContexts: 2 });
  const read = reader(server.url);
  const client = await connect(server.url);
  const send = (contextId: string) =>
    client.sendMessage({ message: message('x', { contextId }), configuration: immediately });
  await send('one');
  await send('two');
  const refused = await client.sendMessage(message('x', { contextId: 'three' }));
  expect(JSON.stringify(refused)).toContain('context_limit');
  expect(await read('legate_contexts_open', { agent: 'held' })).toBe(2);
  expect(await read('legate_contexts_limit', { agent: 'held' })).toBe(2);
  release();
  await expect.poll(() => read('legate_contexts_open', { agent: 'held' }), patient).toBe(0);
});

test('webhook deliveries are shown while they wait, and when they were abandoned', async () => {
  const held = Promise.withResolvers<void>();
  const webhook = createServer((request, response) => {
    request.resume();
    void held.promise.then(() => response.writeHead(500).end());
  });
  webhook.listen(0, '127.0.0.1');
  await once(webhook, 'listening');
  const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`;
  const ended = agent({ name: 'ended' }, async function* () {
    yield completed('Done.');
  });
  try {
    await using server = await serve(ended, {
      prometheus: true,
      push: { maxAttempts: 1 },
      drainMs: 0,
    });
    const read = reader(server.url);
    await (
      await connect(server.url)
    ).sendMessage({
      message: message('x'),
      configuration: { taskPushNotificationConfig: { url } },
    });
    const deliveries = async () => [
      await read('legate_push_deliveries', { state: 'pending' }),
      await read('legate_push_deliveries', { state: 'dead' }),
    ];
    const [pending, dead] = await deliveries();
    expect(pending).toBeGreaterThan(0);
    expect(dead).toBe(0);
    held.resolve();
    await expect.poll(deliveries, patient).toEqual([0, pending]);
    expect(await read('legate_push_attempts_total', { outcome: 'dead' })).toBe(pending);
  } finally {
    held.resolve();
    webhook.closeAllConnections();
    webhook.close();
  }
});

test.each(['sqlite', 'postgres'] as const)(
  'latency and group size of %s come with the writes, which share transactions',
  async (driver) => {
    await using directory = await temporaryDirectory();
    await using server = await serve(echo, {
      store:
        driver === 'sqlite'
          ? { type: driver, path: join(directory.path, 'store.db') }
          : { type: driver, url: await emptyDatabase() },
      prometheus: true,
      drainMs: 0,
    });
    const read = reader(server.url);
    const count = (operation: string) =>
      read('legate_store_duration_seconds_count', { driver, operation });
    const client = await connect(server.url);
    await client.sendMessage('x');
    const before = (await count('write')) ?? 0;
    expect(before).toBeGreaterThan(0);
    await Promise.all(Array.from({ length: 20 }, () => client.sendMessage('x')));
    expect(await count('write')).toBeGreaterThanOrEqual(before + 20);
    const sum = await read('legate_store_duration_seconds_sum', { driver, operation: 'write' });
    expect(sum).toBeGreaterThan(0);
    const groups = (await read('legate_store_group_size_count', { driver })) ?? 0;
    expect(groups).toBeGreaterThan(0);
    // Requests that come together are committed together.
    expect(await read('legate_store_group_size_sum', { driver })).toBeGreaterThan(groups);
    if (driver === 'sqlite') return;
    await client.getTask('nowhere').catch(() => undefined);
    expect(await count('read')).toBeGreaterThan(0);
    expect(await read('legate_store_connections', { use: 'write' })).toBe(1);
    expect(await read('legate_store_connections', { use: 'upkeep' })).toBe(1);
    expect(await read('legate_store_connections', { use: 'read' })).toBeGreaterThan(0);
    // A lease may be renewed just now.
    await expect.poll(() => read('legate_store_pending', { use: 'write' }), patient).toBe(0);
  },
);

test('the process shows its memory, its processor time, and how late its event loop is', async () => {
  const startedAt = Date.now() / 1000;
  await using server = await serve(echo, { prometheus: true, drainMs: 0 });
  const read = reader(server.url);
  await (await connect(server.url)).sendMessage('x');
  const resident = (await read('process_resident_memory_bytes')) ?? 0;
  const used = (await read('process_heap_used_bytes')) ?? 0;
  expect(used).toBeGreaterThan(1_000_000);
  expect(resident).toBeGreaterThan(used / 2);
  expect(await read('process_heap_limit_bytes')).toBeGreaterThan(used);
  expect(await read('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(await read('process_start_time_seconds')).toBeLessThanOrEqual(startedAt);
  const delay = () => read('nodejs_eventloop_delay_p99_seconds');
  await expect.poll(delay, patient).toBeGreaterThan(0);
  const busy = (await read('nodejs_eventloop_utilization')) ?? 0;
  expect(busy).toBeGreaterThan(0);
  expect(busy).toBeLessThanOrEqual(1);
});

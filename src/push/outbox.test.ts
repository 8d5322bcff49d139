import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { LegateError, type Task, v03 } from '../protocol/index.ts';
import { type DeliveryRecord, openMemory, openStore, type Store } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { bodySigner, generateSigningKey, verifyBodySignature } from './body-signature.ts';
import { sustainedDelivery, TaskWithPush } from './outbox.contract.ts';
import { PushDispatcher, type PushDispatcherOptions, type PushScheduler } from './outbox.ts';
import { publicPolicy } from './policy.ts';
import { type Receiver, type Respond, startReceiver } from './receiver.contract.ts';

/** Time that moves only when told. */
class ManualScheduler {
  #now = 1_000_000;
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  now(): number {
    return this.#now;
  }

  after(delay: number, run: () => void): { cancel(): void } {
    const timer = { at: this.#now + delay, run };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  defer(run: () => void): void {
    setImmediate(run);
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const timer of this.#timers) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }
}

interface Setting {
  readonly store: Store;
  readonly receiver: Receiver;
  readonly scheduler: ManualScheduler;
  readonly dispatcher: PushDispatcher;
}

async function setting(
  run: (setting: Setting) => Promise<void>,
  options: Partial<PushDispatcherOptions> & { respond?: Respond; store?: Store } = {},
): Promise<void> {
  const scheduler = new ManualScheduler();
  const { respond, store = openMemory({ clock: scheduler }), ...rest } = options;
  await using receiver = await startReceiver(respond);
  const dispatcher = new PushDispatcher({
    store,
    replica: 'one',
    policy: { ...publicPolicy, allowLoopback: true },
    taskAt: async () => undefined,
    random: () => 1,
    scheduler,
    ...rest,
  });
  try {
    await run({ store, receiver, scheduler, dispatcher });
  } finally {
    await dispatcher.stop();
    await store.close();
  }
}

function deliveries(store: Store): Promise<readonly DeliveryRecord[]> {
  return store.push.deliveries({ limit: 100 });
}

const failing: Respond = (_call, response) => void response.writeHead(503).end();

test('PUSH-DELIVER: an update is posted as a StreamResponse with its credentials', async () => {
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 'task/1', [
        {
          id: 'my hook',
          url: `${receiver.url}/hook?x=1`,
          token: 'token-1',
          authentication: { scheme: 'Bearer', credentials: 'secret' },
        },
      ]);
      dispatcher.start();
      await task.append(1);
      dispatcher.wake();
      await expect.poll(() => receiver.calls.length).toBe(1);
      const [call] = receiver.calls;
      expect(call).toMatchObject({
        method: 'POST',
        path: '/hook?x=1',
        headers: {
          'content-type': 'application/a2a+json',
          'a2a-version': '1.0',
          authorization: 'Bearer secret',
          'x-a2a-notification-token': 'token-1',
          'idempotency-key': 'task%2F1/my%20hook/2',
          traceparent: '00-trace-2',
        },
      });
      expect(JSON.parse(call?.body ?? '')).toEqual({
        statusUpdate: {
          taskId: 'task/1',
          contextId: 'context-task/1',
          status: { state: 'TASK_STATE_WORKING' },
          metadata: { sequence: 2 },
        },
      });
      await expect.poll(() => deliveries(store)).toEqual([]);
    },
    { traceparent: (delivery) => `00-trace-${delivery.sequence}` },
  );
});

test('a configuration registered under 0.3 gets the whole task as it was at that event', async () => {
  const task = (sequence: number): Task => ({
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_WORKING' },
    metadata: { sequence },
  });
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const made = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }], '0.3');
      dispatcher.start();
      await made.append(2);
      dispatcher.wake();
      await expect.poll(() => receiver.calls.length).toBe(2);
      expect(receiver.calls.map(({ body }) => JSON.parse(body))).toEqual([
        v03.task.encode(task(2)),
        v03.task.encode(task(3)),
      ]);
      expect(receiver.calls[0]?.headers).toMatchObject({
        'content-type': 'application/json',
        'a2a-version': '0.3',
      });
    },
    { taskAt: async (_taskId, sequence) => task(sequence) },
  );
});

test('without credentials there is no Authorization header', async () => {
  await setting(async ({ store, receiver, dispatcher }) => {
    const config = { id: 'h', url: receiver.url, authentication: { scheme: 'Bearer' } };
    const task = await TaskWithPush.create(store, 't', [config]);
    await task.append(1);
    dispatcher.start();
    await expect.poll(() => receiver.calls.length).toBe(1);
    expect(receiver.calls[0]?.headers).not.toHaveProperty('authorization');
    expect(receiver.calls[0]?.headers).not.toHaveProperty('x-a2a-notification-token');
  });
});

test('a signed body verifies with the published keys', async () => {
  const signer = bodySigner([generateSigningKey()]);
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const url = `${receiver.url}/hook`;
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url }]);
      await task.append(1);
      dispatcher.start();
      await expect.poll(() => receiver.calls.length).toBe(1);
      const [call] = receiver.calls;
      const verified = await verifyBodySignature(
        String(call?.headers['x-a2a-signature']),
        call?.body ?? '',
        { keys: await signer.jwks(), audience: url, now: scheduler.now() },
      );
      expect(verified).toEqual({ id: call?.headers['idempotency-key'] });
    },
    { signer },
  );
});

test('a failed delivery is tried again after a growing wait, under the same key, and holds up those behind it', async () => {
  let isFailing = true;
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(2);
      dispatcher.start();
      await expect
        .poll(() => deliveries(store))
        .toMatchObject([{ attempts: 1, lastError: 'answered 503' }, { attempts: 0 }]);
      scheduler.advance(999);
      await expect.poll(() => receiver.calls.length).toBe(1);
      scheduler.advance(1);
      await expect.poll(() => deliveries(store)).toMatchObject([{ attempts: 2 }, { attempts: 0 }]);
      isFailing = false;
      scheduler.advance(4_000);
      await expect.poll(() => deliveries(store)).toEqual([]);
      const keys = receiver.calls.map(({ headers }) => headers['idempotency-key']);
      expect(keys).toEqual(['t/h/2', 't/h/2', 't/h/2', 't/h/3']);
    },
    { respond: (_call, response) => void response.writeHead(isFailing ? 503 : 200).end() },
  );
});

test('after the last attempt a delivery is dead, is kept, lets the next one pass, and can be revived', async () => {
  const taken: string[] = [];
  let refuses = '2';
  const respond: Respond = (call, response) => {
    const sequence = String(call.headers['idempotency-key']).split('/')[2] ?? '';
    if (sequence === refuses) return void response.writeHead(500).end();
    taken.push(sequence);
    response.writeHead(200).end();
  };
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(2);
      dispatcher.start();
      await expect
        .poll(() => deliveries(store))
        .toMatchObject([{ state: 'dead', sequence: 2, lastError: 'answered 500' }]);
      expect(taken).toEqual(['3']);
      refuses = '';
      const [dead] = await deliveries(store);
      expect(await dispatcher.revive(dead?.id ?? 0)).toBe(true);
      await expect.poll(() => deliveries(store)).toEqual([]);
      expect(taken).toEqual(['3', '2']);
      expect(await dispatcher.revive(dead?.id ?? 0)).toBe(false);
    },
    { respond, maxAttempts: 1 },
  );
});

test('five attempts are made by default', async () => {
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      for (let attempt = 1; attempt <= 5; attempt += 1) {
        await expect.poll(() => deliveries(store)).toMatchObject([{ attempts: attempt }]);
        scheduler.advance(600_000);
      }
      expect(await deliveries(store)).toMatchObject([{ state: 'dead' }]);
      expect(receiver.calls).toHaveLength(5);
    },
    { respond: failing },
  );
});

test('Retry-After is honoured where it asks for more than the backoff', async () => {
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      const nextAttemptAt = scheduler.now() + 120_000;
      await expect.poll(() => deliveries(store)).toMatchObject([{ attempts: 1, nextAttemptAt }]);
    },
    {
      respond: (_call, response) => void response.writeHead(429, { 'retry-after': '120' }).end(),
    },
  );
});

test('a redirect is a failure and is not followed', async () => {
  await using inner = await startReceiver();
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      await expect
        .poll(() => deliveries(store))
        .toMatchObject([{ attempts: 1, lastError: 'answered 302; redirects are not followed' }]);
      expect(inner.calls).toHaveLength(0);
    },
    { respond: (_call, response) => void response.writeHead(302, { location: inner.url }).end() },
  );
});

test('410 Gone is final', async () => {
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      await expect.poll(() => deliveries(store)).toMatchObject([{ state: 'dead', attempts: 1 }]);
    },
    { respond: (_call, response) => void response.writeHead(410).end() },
  );
});

test('a name that has come to point inwards since registration is dead at once and never called', async () => {
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const url = `http://hooks.example.com:${receiver.port}/`;
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url }]);
      await task.append(1);
      await dispatcher.validate({ url });
      dispatcher.start();
      await expect
        .poll(() => deliveries(store))
        .toMatchObject([{ state: 'dead', lastError: expect.stringContaining('loopback') }]);
      expect(receiver.connections()).toBe(0);
    },
    { policy: publicPolicy, resolver: async () => ['127.0.0.1'] },
  );
});

test.each([
  ['a name that points inwards', async () => ['93.184.216.34', '10.0.0.1'], 'private network'],
  ['a name that nobody knows', async () => [], 'cannot be looked up'],
])(
  'when asked to, registration looks up the host: %s is refused',
  async (_what, resolver, text) => {
    await setting(
      async ({ dispatcher }) => {
        await expect(
          dispatcher.validate({ url: 'https://hooks.example.com/' }),
        ).rejects.toMatchObject({
          code: 'INVALID_PARAMS',
          message: expect.stringContaining(text),
        });
      },
      { policy: publicPolicy, resolver, resolveAtRegistration: true },
    );
  },
);

test('a call without an answer is abandoned and tried again', async () => {
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      await expect.poll(() => receiver.calls.length).toBe(1);
      scheduler.advance(40);
      await expect
        .poll(() => deliveries(store))
        .toMatchObject([{ attempts: 1, lastError: 'no answer within 40 ms' }]);
    },
    { respond: () => {}, timeout: 40 },
  );
});

test('another network and another time can take the place of the real ones', async () => {
  const calls: string[] = [];
  const deferred: (() => void)[] = [];
  const answers = [{ status: 503, retryAfter: '7' }, new Error('lost'), { status: 204 }];
  const scheduler = new ManualScheduler();
  const dispatcher = new PushDispatcher({
    store: await storeWithOneDelivery('https://hook.example/', scheduler),
    replica: 'one',
    policy: publicPolicy,
    taskAt: async () => undefined,
    random: () => 1,
    scheduler: {
      now: () => scheduler.now(),
      after: (delay, run) => scheduler.after(delay, run),
      defer: (callback) => void deferred.push(callback),
    },
    transport: {
      async send(url, request) {
        calls.push(`${request.method} ${url} at ${scheduler.now() - 1_000_000}`);
        const answer = answers.shift();
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer');
        return { retryAfter: undefined, ...answer };
      },
      close: () => void calls.push('closed'),
    },
  });
  dispatcher.start();
  for (const wait of [0, 7_000, 4_000, 0]) {
    scheduler.advance(wait);
    while (deferred.length > 0) {
      deferred.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  await dispatcher.stop();
  expect(calls).toEqual([
    'POST https://hook.example/ at 0',
    'POST https://hook.example/ at 7000',
    'POST https://hook.example/ at 11000',
    'closed',
  ]);
});

async function storeWithOneDelivery(url: string, clock: { now(): number }): Promise<Store> {
  const store = openMemory({ clock });
  const task = await TaskWithPush.create(store, 't', [{ id: 'h', url }]);
  await task.append(1);
  return store;
}

test('a receiver that hangs holds up its own host only', async () => {
  await using other = await startReceiver();
  await setting(
    async ({ store, receiver, dispatcher }) => {
      for (let index = 0; index < 10; index += 1) {
        const task = await TaskWithPush.create(store, `slow-${index}`, [
          { id: 'h', url: `${receiver.url}/${index}` },
        ]);
        await task.append(1);
      }
      const task = await TaskWithPush.create(store, 'quick', [{ id: 'h', url: other.url }]);
      await task.append(3);
      dispatcher.start();
      await expect.poll(() => other.calls.length).toBe(3);
      expect(receiver.calls).toHaveLength(2);
      await dispatcher.stop({ drainTimeout: 0 });
    },
    {
      respond: () => {},
      concurrency: 4,
      concurrencyPerHost: 2,
      // The hanging calls are aborted at once when told to stop.
      scheduler: immediate(),
    },
  );
});

/** The system's time; timers without delay run at once. */
function immediate(): PushScheduler {
  return {
    now: () => Date.now(),
    after(delay, run) {
      const timer = setTimeout(run, delay);
      return { cancel: () => clearTimeout(timer) };
    },
    defer: (run) => void setImmediate(run),
  };
}

test('one failing configuration does not hold up another of the same task', async () => {
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [
        { id: 'bad', url: `${receiver.url}/bad` },
        { id: 'good', url: `${receiver.url}/good` },
      ]);
      await task.append(3);
      dispatcher.start();
      await expect.poll(() => receiver.calls.filter(({ path }) => path === '/good').length).toBe(3);
      await expect
        .poll(() => deliveries(store))
        .toMatchObject([{ attempts: 1 }, { attempts: 0 }, { attempts: 0 }]);
    },
    {
      respond: (call, response) => void response.writeHead(call.path === '/bad' ? 500 : 200).end(),
    },
  );
});

test('a configuration that cannot be decoded is dead at once and does not hold up the others', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  await using receiver = await startReceiver();
  const former = await openStore({ type: 'sqlite', path });
  const task = await TaskWithPush.create(former, 't', [
    { id: 'unreadable', url: `${receiver.url}/unreadable` },
    { id: 'good', url: `${receiver.url}/good` },
  ]);
  await task.append(1);
  await former.close();
  const database = new DatabaseSync(path);
  database.exec(`UPDATE push_configs SET body = '{"v":99}' WHERE id = 'unreadable'`);
  database.close();

  const store = await openStore({ type: 'sqlite', path });
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  const policy = { ...publicPolicy, allowLoopback: true };
  const taskAt = async (): Promise<undefined> => undefined;
  const dispatcher = new PushDispatcher({ store, replica: 'one', policy, taskAt });
  dispatcher.start();
  await expect.poll(() => receiver.calls.map((call) => call.path)).toEqual(['/good']);
  await expect
    .poll(() => deliveries(store))
    .toMatchObject([
      {
        state: 'dead',
        push: { config: { id: 'unreadable', url: '' } },
        lastError: expect.stringContaining(`can't read push configuration "unreadable"`),
      },
    ]);
  await dispatcher.stop();
});

test('deliveries claimed by a dead process are sent by another one when the claim expires', async () => {
  await setting(async ({ store, receiver, scheduler, dispatcher }) => {
    const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
    await task.append(1);
    await store.push.claim({ replica: 'dead', leaseMs: 5_000, limit: 10 });
    dispatcher.start();
    await expect.poll(() => store.push.nextDueMs()).toBe(5_000);
    expect(receiver.calls).toHaveLength(0);
    scheduler.advance(5_000);
    await expect.poll(() => receiver.calls.length).toBe(1);
  });
});

test('a failed read of the own store uses up no attempt: the delivery is sent when its claim expires', async () => {
  const logged: string[] = [];
  const scheduler = new ManualScheduler();
  const store = openMemory({ clock: scheduler });
  let reads = 0;
  const failingOnce = {
    push: store.push,
    health: store.health,
    readEvents: (...of: Parameters<Store['readEvents']>) => {
      reads += 1;
      if (reads > 1) return store.readEvents(...of);
      return Promise.reject(new LegateError('STORE_FAILED', 'store x: cannot be reached'));
    },
  };
  await using receiver = await startReceiver();
  const dispatcher = new PushDispatcher({
    store: failingOnce,
    replica: 'one',
    policy: { ...publicPolicy, allowLoopback: true },
    taskAt: async () => undefined,
    scheduler,
    maxAttempts: 1,
    logger: { ...silentLogger, error: (_fields, event) => void logged.push(event) },
  });
  const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
  await task.append(1);
  dispatcher.start();
  await expect.poll(() => logged).toEqual(['push.read_failed']);
  expect(await deliveries(store)).toMatchObject([{ state: 'pending', attempts: 0 }]);
  await expect
    .poll(() => {
      scheduler.advance(10_000);
      return receiver.calls.length;
    })
    .toBe(1);
  await expect.poll(() => deliveries(store)).toEqual([]);
  await dispatcher.stop();
  await store.close();
});

test('deliveries without a notification are found by polling', async () => {
  await setting(async ({ store, receiver, scheduler, dispatcher }) => {
    dispatcher.start();
    const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
    await new Promise((resolve) => setTimeout(resolve, 0));
    await task.append(1);
    await expect
      .poll(() => {
        scheduler.advance(10_000);
        return receiver.calls.length;
      })
      .toBe(1);
  });
});

test('stop waits for calls under way and starts no new ones', async () => {
  const answer = Promise.withResolvers<void>();
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(2);
      dispatcher.start();
      await expect.poll(() => receiver.calls.length).toBe(1);
      const stopped = dispatcher.stop();
      answer.resolve();
      await stopped;
      expect(receiver.calls).toHaveLength(1);
      expect(await deliveries(store)).toMatchObject([{ sequence: 3, attempts: 0 }]);
    },
    {
      respond: (_call, response) => void answer.promise.then(() => response.writeHead(200).end()),
    },
  );
});

test('stop waits for a claim under way, so that the store can be closed after it', async () => {
  await setting(async ({ store, dispatcher }) => {
    const claimed = Promise.withResolvers<readonly []>();
    const claim = vi.spyOn(store.push, 'claim').mockReturnValueOnce(claimed.promise);
    dispatcher.start();
    await expect.poll(() => claim.mock.calls.length).toBe(1);
    let isStopped = false;
    const stopped = dispatcher.stop().then(() => {
      isStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStopped).toBe(false);
    claimed.resolve([]);
    await stopped;
  });
});

test('a call that outlasts the drain time is aborted and counts no attempt', async () => {
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      await expect.poll(() => receiver.calls.length).toBe(1);
      const stopped = dispatcher.stop({ drainTimeout: 100 });
      await new Promise((resolve) => setImmediate(resolve));
      scheduler.advance(100);
      await stopped;
      expect(await deliveries(store)).toMatchObject([{ attempts: 0, state: 'pending' }]);
    },
    { respond: () => {} },
  );
});

test('a store that fails for a moment stops nothing for good', async () => {
  await setting(async ({ store, receiver, scheduler, dispatcher }) => {
    vi.spyOn(store.push, 'claim').mockRejectedValueOnce(new Error('disk'));
    vi.spyOn(store.push, 'settle').mockRejectedValueOnce(new Error('disk'));
    const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
    await task.append(1);
    dispatcher.start();
    // The first claim fails; the first call succeeds but cannot be settled, and so is made again.
    await expect
      .poll(() => {
        scheduler.advance(5_000);
        return deliveries(store);
      })
      .toEqual([]);
    expect(receiver.calls.map(({ headers }) => headers['idempotency-key'])).toEqual([
      't/h/2',
      't/h/2',
    ]);
  });
});

test('neither secrets nor paths reach the log', async () => {
  const lines: string[] = [];
  const write = (fields: object, event: string) => void lines.push(JSON.stringify([fields, event]));
  const logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  await setting(
    async ({ store, receiver, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [
        {
          id: 'h',
          url: `${receiver.url}/path-secret`,
          token: 'token-secret',
          authentication: { scheme: 'Bearer', credentials: 'credentials-secret' },
        },
      ]);
      await task.append(2);
      dispatcher.start();
      await expect.poll(() => lines.length).toBe(2);
      expect(lines.join('\n')).not.toContain('secret');
      expect(lines[0]).toContain('"push.dead"');
      expect(lines[1]).toContain('"push.delivered"');
    },
    {
      logger,
      maxAttempts: 1,
      respond: (_call, response, index) =>
        void (index === 0 ? response.destroy() : response.writeHead(200).end()),
    },
  );
});

test('sustained: 2,000 deliveries over 40 configurations with every tenth call failing: none lost, none out of order', async () => {
  const store = openMemory();
  const result = await sustainedDelivery(store, { deliveries: 2_000, configs: 40 });
  expect(result).toMatchObject({ delivered: 2_000, outOfOrder: 0, left: 0 });
  expect(result.failedCalls).toBeGreaterThanOrEqual(200);
  expect(result.calls).toBe(2_000 + result.failedCalls);
  await store.close();
});

test('a busy process makes way: fewer deliveries at a time, and pauses between; later all go out', async () => {
  let allowance = 16;
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      for (let index = 0; index < 40; index += 1) {
        const config = { id: 'h', url: `${receiver.url}/${index}` };
        const task = await TaskWithPush.create(store, `t-${index}`, [config]);
        await task.append(1);
      }
      const claim = vi.spyOn(store.push, 'claim');
      dispatcher.start();
      const turn = () => new Promise((resolve) => setImmediate(resolve));
      for (let turns = 0; turns < 5; turns += 1) await turn();
      expect(claim).not.toHaveBeenCalled();
      scheduler.advance(40);
      await expect.poll(() => receiver.calls.length).toBe(16);
      expect(claim).toHaveBeenCalledTimes(1);
      for (let turns = 0; turns < 5; turns += 1) await turn();
      expect(claim).toHaveBeenCalledTimes(1);
      allowance = Infinity;
      scheduler.advance(40);
      await expect.poll(() => receiver.calls.length).toBe(40);
      await expect.poll(() => deliveries(store)).toEqual([]);
    },
    { allowance: () => allowance },
  );
});

test('stopping does not wait for the pause of a busy process, and settles what has ended', async () => {
  await setting(
    async ({ store, receiver, scheduler, dispatcher }) => {
      const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
      await task.append(1);
      dispatcher.start();
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      scheduler.advance(40);
      await expect.poll(() => receiver.calls.length).toBe(1);
      await dispatcher.stop();
      expect(await deliveries(store)).toEqual([]);
    },
    { allowance: () => 0 },
  );
});

test('calls that have ended are settled and followed up in one go', async () => {
  await setting(async ({ store, receiver, dispatcher }) => {
    const task = await TaskWithPush.create(store, 't', [{ id: 'h', url: receiver.url }]);
    await task.append(3);
    const order: string[] = [];
    const claim = store.push.claim.bind(store.push);
    const settle = store.push.settle.bind(store.push);
    vi.spyOn(store.push, 'settle').mockImplementation(async (...args) => {
      order.push('settle begins');
      await settle(...args);
      order.push('settle ends');
    });
    vi.spyOn(store.push, 'claim').mockImplementation(async (...args) => {
      order.push('claim begins');
      return claim(...args);
    });
    dispatcher.start();
    await expect.poll(() => receiver.calls.length).toBe(3);
    await expect.poll(() => order.filter((step) => step === 'settle ends').length).toBe(3);
    expect(order.slice(0, 4)).toEqual([
      'claim begins',
      'settle begins',
      'claim begins',
      'settle ends',
    ]);
  });
});

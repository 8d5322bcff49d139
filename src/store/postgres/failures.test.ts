import { Client } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { startPostgres } from '../../../test/support/postgres.ts';
import {
  admission,
  admit,
  alice,
  append,
  ending,
  log,
  statusAppend,
  working,
} from '../behaviour/fixtures.contract.ts';
import { emptyDatabase, query } from './database.contract.ts';
import { openPostgres, type PostgresOptions } from './open-postgres.ts';
import type { PostgresStore } from './postgres-store.ts';
import { badNetwork } from './proxy.contract.ts';

const stores: PostgresStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

async function open(options: PostgresOptions): Promise<PostgresStore> {
  const store = await openPostgres(options);
  stores.push(store);
  return store;
}

const failed = { code: 'STORE_FAILED', retryAfter: 1 };

test('a database that cannot be reached: the error names it, and no password', async () => {
  const url = 'postgres://me:secret@127.0.0.1:1/there';
  const error = await openPostgres({ url }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    ...failed,
    message: expect.stringMatching(
      /^store 127\.0\.0\.1:1\/there: cannot be reached .*ECONNREFUSED/,
    ),
  });
  expect(String((error as Error).stack)).not.toContain('secret');
});

test('a database that does not exist: the error says so', async () => {
  const url = new URL(await emptyDatabase());
  url.pathname = '/absent';
  await expect(openPostgres({ url: url.href })).rejects.toMatchObject({
    ...failed,
    message: expect.stringContaining('there is no such database; create it'),
  });
});

test('an address of another kind, or too few connections, is a mistake in the configuration', async () => {
  for (const url of ['mysql://localhost/x', 'localhost:5432']) {
    await expect(openPostgres({ url })).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  }
  const url = await emptyDatabase();
  await expect(openPostgres({ url, maxConnections: 2 })).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  });
});

test('a store takes no more connections than it may', async () => {
  const url = await emptyDatabase();
  const store = await open({ url, maxConnections: 3 });
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      await admit(store, { taskId: `t${index}`, contextId: `c${index}` });
      await store.load(`t${index}`);
      await store.push.nextDueMs();
    }),
  );
  const rows = await query<{ n: number }>(
    url,
    `SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE application_name LIKE 'legate%' AND datname = current_database()`,
  );
  expect(rows[0]?.n).toBe(3);
});

test('a write whose answer was lost fails; tried again it conflicts, and is there once', async () => {
  await using network = await badNetwork(await emptyDatabase());
  const store = await open({ url: network.url, statementTimeoutMs: 2_000 });
  const { turn } = await admit(store);
  network.answers = 'lose';
  await expect(store.append(ending(turn, 1))).rejects.toMatchObject(failed);
  network.answers = 'pass';
  expect(await store.append(ending(turn, 1))).toEqual({ kind: 'fenced' });
  expect(await log(store)).toHaveLength(2);

  await admit(store, { taskId: 'u' });
  network.answers = 'lose';
  const lost = store.append(statusAppend('u', 1, working));
  await expect(lost).rejects.toMatchObject(failed);
  network.answers = 'pass';
  expect(await store.append(statusAppend('u', 1, working))).toEqual({ kind: 'version-conflict' });
  expect(await log(store, 'u')).toHaveLength(2);
});

test('an admission whose answer was lost is found by the message when it comes again', async () => {
  await using network = await badNetwork(await emptyDatabase());
  const store = await open({ url: network.url, statementTimeoutMs: 2_000 });
  const dedupe = { key: 'm', digest: 'd', expiresAt: 9000 };
  network.answers = 'lose';
  await expect(store.admit(admission({ dedupe }))).rejects.toMatchObject(failed);
  network.answers = 'pass';
  expect(await store.admit(admission({ taskId: 'again', dedupe }))).toMatchObject({
    kind: 'duplicate',
    taskId: 't',
  });
  const own = { agent: 'agent', replica: 'r1', now: 5000, limit: 10, inFlight: [] };
  expect(await store.takeOver(own)).toMatchObject([{ taskId: 't', attempt: 1 }]);
});

test('closing does not wait for connections that are half open', async () => {
  await using network = await badNetwork(await emptyDatabase());
  const store = await open({ url: network.url, connectTimeoutMs: 100 });
  network.stall();
  await store.close();
});

test('reads are retried when their connection breaks', async () => {
  await using network = await badNetwork(await emptyDatabase());
  const store = await open({ url: network.url });
  await admit(store);
  network.answers = 'lose';
  const reads = Promise.all([store.load('t'), store.readEvents('t', 0, 10)]);
  await new Promise((resolve) => setImmediate(resolve));
  network.answers = 'pass';
  network.cut();
  expect(await reads).toMatchObject([{ id: 't' }, [{ sequence: 1 }]]);
  await append(store, statusAppend('t', 1, working));
});

test('watchers are notified when notices may have been lost', async () => {
  const url = await emptyDatabase();
  await using network = await badNetwork(url);
  const store = await open({ url: network.url });
  const other = await open({ url });
  const told: string[] = [];
  store.watch(
    ({ taskId }) => told.push(taskId),
    () => told.push('a gap'),
  );
  network.cut();
  await expect.poll(() => told).toEqual(['a gap']);
  await admit(other);
  await other.requestCancel('t');
  await expect.poll(() => told).toEqual(['a gap', 't']);
});

test('what others send on the channel does no harm', async () => {
  const url = await emptyDatabase();
  const store = await open({ url });
  const other = await open({ url });
  const told: unknown[] = [];
  store.watch((notice) => told.push(notice));
  for (const payload of ['', 'x', '{}', '[]', '[1]', '["a",1]', '["a",["t"]]', '["a",[1,2]]']) {
    await query(url, "SELECT pg_notify('legate', $1)", [payload]);
  }
  await admit(other);
  await other.requestCancel('t');
  await expect.poll(() => told).toEqual([{ taskId: 't', version: 1 }]);
});

test('a statement that waits for too long fails, and the next one does not', async () => {
  const url = await emptyDatabase();
  const store = await open({ url, statementTimeoutMs: 2_000 });
  await admit(store);
  const blocker = new Client({ connectionString: url });
  await blocker.connect();
  await blocker.query('BEGIN; SELECT * FROM legate.open_tasks FOR UPDATE');
  await expect(store.append(statusAppend('t', 1, working))).rejects.toMatchObject({
    ...failed,
    message: expect.stringContaining('statementTimeoutMs'),
  });
  await blocker.query('ROLLBACK');
  await blocker.end();
  await append(store, statusAppend('t', 1, working));
});

test('a database that restarts: calls wait for it, nothing that was written is lost', async () => {
  const server = await startPostgres();
  const url = await server.database();
  const store = await open({ url });
  await admit(store, { taskId: 'before' });
  const restarted = server.restart();
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 20));
      return admit(store, { taskId: `t${index}`, contextId: `c${index}` });
    }),
  );
  await restarted;
  await expect.poll(() => store.load('before').catch(() => undefined)).toBeDefined();
  for (const [index, { status }] of results.entries()) {
    if (status === 'fulfilled') expect(await store.load(`t${index}`)).toBeDefined();
  }
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject(failed);
  }
  expect((await store.list({ owner: alice, limit: 1 })).total).toBeGreaterThan(1);
});

test('a database that stays away: calls are refused after waitMs, later ones at once', async () => {
  await using network = await badNetwork(await emptyDatabase());
  const store = await open({ url: network.url, waitMs: 1_000 });
  await admit(store);
  await network[Symbol.asyncDispose]();
  await expect(store.load('t')).rejects.toMatchObject(failed);
  await expect(store.admit(admission({ taskId: 'u' }))).rejects.toMatchObject(failed);
  await expect(store.heartbeat('r1', 1)).rejects.toMatchObject(failed);
});

test('more calls than can wait are refused at once, and the others are done', async () => {
  const store = await open({ url: await emptyDatabase() });
  const calls = Array.from({ length: 10_500 }, (_, index) =>
    store.records.increment({ space: 's', key: `k${index % 7}`, by: 1, expiresAt: 9000, now: 1 }),
  );
  const results = await Promise.allSettled(calls);
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(500);
  expect(refused[0]).toMatchObject({
    reason: { ...failed, message: expect.stringContaining('too many operations are waiting') },
  });
  const counted = await store.records.list({ space: 's', limit: 10, now: 1 });
  const total = counted.reduce((sum, { value }) => sum + Number(value.value), 0);
  expect(total).toBe(10_000);
});

test('after it was closed a store refuses, and closes twice', async () => {
  const store = await open({ url: await emptyDatabase() });
  const written = store.admit(admission());
  await Promise.all([store.close(), store.close()]);
  expect(await written).toMatchObject({ kind: 'admitted' });
  for (const call of [
    () => store.load('t'),
    () => store.admit(admission({ taskId: 'u' })),
    () => store.heartbeat('r1', 1),
  ]) {
    await expect(call()).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('is closed'),
    });
  }
});

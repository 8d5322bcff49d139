import {
  chmodSync,
  linkSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Json, type Task } from '../../protocol/index.ts';
import {
  admission,
  admit,
  alice,
  append,
  ending,
  finishedTask,
  inputRequired,
  log,
  statusAppend,
  statusEvent,
  taskBody,
  webhook,
  working,
  writeContext,
} from '../behaviour/fixtures.contract.ts';
import type { Store } from '../contract.ts';
import { checkSqlite, migrateSqlite } from './maintenance.ts';
import { migrate, readMigrations } from './migrations.ts';
import { openSqlite, type SqliteOptions } from './open-sqlite.ts';

let directory: string;
let path: string;
let opened: Store[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'legate-sqlite-'));
  path = join(directory, 'store.db');
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  chmodSync(directory, 0o700);
  rmSync(directory, { recursive: true, force: true });
});

function open(options: Partial<SqliteOptions> = {}): Store {
  const store = openSqlite({ path, ...options });
  opened.push(store);
  return store;
}

async function reopen(store: Store): Promise<Store> {
  await store.close();
  return open();
}

/** What opening fails with. */
function failure(options: Partial<SqliteOptions> = {}): { code: string; message: string } {
  try {
    open(options);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error('opening should have failed');
}

/** Root may write everywhere; for the time of the work this process is nobody. */
function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}

test('a missing directory is made, and both it and the files are private', async () => {
  const store = open({ path: join(directory, 'new', 'deep', 'store.db') });
  await admit(store);
  expect(statSync(join(directory, 'new')).mode & 0o777).toBe(0o700);
  const files = readdirSync(join(directory, 'new', 'deep'));
  expect(files).toContain('store.db');
  for (const file of files) {
    expect(statSync(join(directory, 'new', 'deep', file)).mode & 0o777).toBe(0o600);
  }
});

test('everything is there after closing and opening again', async () => {
  const first = open();
  const dedupe = { key: 'm', digest: 'd', expiresAt: 9000 };
  const { turn } = await admit(first, { taskId: 'done', contextId: 'a', dedupe, push: webhook() });
  const context = { owner: alice, contextId: 'a', value: Json.of({ v: 1 }), log: [Json.of(1)] };
  const records = [{ space: 's', key: 'k', value: Json.of('r') }];
  await append(first, ending(turn, 1, 'TASK_STATE_COMPLETED', { context, records }));
  await admit(first, { taskId: 'open', contextId: 'b' });

  const second = await reopen(first);
  const done = await second.load('done');
  expect(done).toMatchObject({ version: 2, state: 'TASK_STATE_COMPLETED', hasPush: true });
  expect(done?.snapshot.body.value).toMatchObject({ id: 'done', contextId: 'a' });
  expect(await second.readEvents('done', 0, 10)).toHaveLength(2);
  expect((await second.loadContext(alice, 'a'))?.value?.value).toEqual({ v: 1 });
  expect(await second.readContextLog(alice, 'a')).toHaveLength(1);
  expect(await second.records.get('s', 'k', 0)).toMatchObject({ version: 1 });
  expect(await second.push.deliveries({ limit: 10 })).toHaveLength(2);
  expect(await second.list({ owner: alice, limit: 10 })).toMatchObject({ total: 2 });
  expect(await second.admit(admission({ taskId: 'u', dedupe }))).toMatchObject({
    kind: 'duplicate',
    taskId: 'done',
    ended: true,
  });
});

test('turns that were running have no replica after a restart, whatever their heartbeat', async () => {
  const first = open();
  await first.heartbeat('r1', Infinity);
  const running = await admit(first, { taskId: 'a', key: 'k' });
  const queued = await admit(first, { taskId: 'b', key: 'k' });
  const second = await reopen(first);

  const query = { agent: 'agent', replica: 'r2', limit: 10 };
  const [taken, ...others] = await second.takeOver(query);
  expect(taken).toMatchObject({ id: running.turn.id, attempt: 2, taskId: 'a' });
  expect(taken?.request.value).toEqual({ for: 'a' });
  expect(others).toEqual([]);
  const { next } = await append(
    second,
    ending(running.turn, 1, 'TASK_STATE_FAILED', { replica: 'r2' }),
  );
  expect(next).toMatchObject({ id: queued.turn.id, attempt: 1 });
});

test('claimed deliveries can be claimed again at once after opening again', async () => {
  const first = open();
  await finishedTask(first, { push: webhook() });
  const claim = { replica: 'r1', leaseMs: 99_000, limit: 10 };
  expect(await first.push.claim(claim)).toHaveLength(1);
  const second = await reopen(first);
  expect(await second.push.claim({ ...claim, replica: 'r2' })).toHaveLength(1);
});

test('the limit of contexts counts what was there before', async () => {
  const first = open();
  await admit(first, { taskId: 'a', contextId: 'a' });
  await finishedTask(first, { taskId: 'b', contextId: 'b' });
  const second = await reopen(first);
  const more = admission({ taskId: 'c', contextId: 'c', maxContexts: 1 });
  expect(await second.admit(more)).toEqual({ kind: 'context-limit' });
  expect(await second.admit({ ...more, maxContexts: 2 })).toMatchObject({ kind: 'admitted' });
});

test('a second owner is refused while the first has the store open', async () => {
  const first = open();
  expect(failure()).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/another process has it open; end that process, or give/),
  });
  await reopen(first);
});

test('a second owner is refused though it comes by a symbolic link, to the file or a directory', async () => {
  const first = open();
  const file = join(directory, 'link.db');
  symlinkSync(path, file);
  const folder = join(directory, 'folder');
  symlinkSync(directory, folder);
  for (const other of [file, join(folder, 'store.db')]) {
    expect(failure({ path: other })).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('another process has it open'),
    });
  }
  await first.close();
  await finishedTask(open({ path: file }));
});

test('a second owner is refused though the file was given another name while it is open', async () => {
  const store = open();
  await admit(store);
  const moved = join(directory, 'moved.db');
  renameSync(path, moved);
  expect(() => openSqlite({ path: moved })).toThrow(/another process has it open/);
  renameSync(moved, path);
  await store.close();
  await open().close();
});

test('a link that leads nowhere is refused by what it is', () => {
  symlinkSync(join(directory, 'nowhere', 'store.db'), path);
  for (const guest of [false, true])
    expect(() => openSqlite({ path, guest })).toThrow(/a symbolic link to .*nowhere/);
});

test('a link to a directory in which no store is yet leads to the same store', () => {
  const folder = join(directory, 'folder');
  symlinkSync(directory, folder);
  open({ path: join(folder, 'store.db') });
  expect(failure()).toMatchObject({
    message: expect.stringContaining('another process has it open'),
  });
});

test('a file with several names is refused, by either of them, and left alone', async () => {
  const first = open();
  await finishedTask(first);
  const other = join(directory, 'other.db');
  linkSync(path, other);
  expect(failure({ path: other })).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/2 names \(hard links\).*remove the other names/),
  });
  await first.close();
  expect(failure().message).toContain('hard links');
  rmSync(other);
  expect(await open().load('t')).toBeDefined();
});

test('a folder in place of the file is refused as what it is', () => {
  expect(failure({ path: directory })).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/is a folder; name a file in it/),
  });
});

test('a guest joins a store that is open, and both see what the other writes', async () => {
  const owner = open();
  await finishedTask(owner, { push: webhook() });
  const [delivery] = await owner.push.claim({
    replica: 'r1',
    leaseMs: 9000,
    limit: 1,
  });
  if (delivery === undefined) throw new Error('a delivery was expected');
  await owner.push.settle(delivery.id, { kind: 'dead', error: 'e' });

  const guest = open({ guest: true });
  expect(await guest.push.deliveries({ state: 'dead', limit: 10 })).toHaveLength(1);
  expect(await guest.push.revive(delivery.id)).toBe(true);
  expect(await owner.push.deliveries({ state: 'dead', limit: 10 })).toEqual([]);
});

test('what the owner keeps in memory follows the writes of a guest', async () => {
  const owner = open();
  const { turn } = await admit(owner, { maxContexts: 5 });
  const guest = open({ guest: true });
  await append(guest, statusAppend('t', 1, inputRequired));
  expect(await owner.append(statusAppend('t', 1, working))).toEqual({ kind: 'version-conflict' });
  await append(guest, statusAppend('t', 2, 'TASK_STATE_CANCELED'));

  expect(await owner.append(ending(turn, 3))).toEqual({ kind: 'fenced' });
  const next = admission({ taskId: 'u', contextId: 'd', key: 'c', maxContexts: 1 });
  expect(await owner.admit(next)).toMatchObject({ kind: 'admitted', running: true });
  expect(await owner.list({ owner: alice, limit: 10 })).toMatchObject({ total: 2 });
});

test('a guest makes no store', () => {
  expect(failure({ guest: true })).toMatchObject({ code: 'STORE_FAILED' });
  expect(readdirSync(directory)).toEqual([]);
});

test('a guest does not bring an old store up to date', async () => {
  await open().close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 0');
  database.close();
  expect(failure({ guest: true })).toMatchObject({
    code: 'STORE_VERSION',
    message: expect.stringContaining('start the server once'),
  });
});

test('a store that a newer program wrote is refused and not changed', async () => {
  await open().close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 999');
  database.close();
  const before = readFileSync(path);

  const { code, message } = failure();
  expect(code).toBe('STORE_VERSION');
  expect(message).toMatch(new RegExp(`${path}: .*version 999.* up to \\d+; use the newer version`));
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a database of another program is refused and not changed', () => {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE theirs (n INTEGER)');
  database.close();
  const before = readFileSync(path);
  expect(failure()).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining('give the store a path of its own'),
  });
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a file that is not a database is refused and not changed', () => {
  const garbage = Buffer.from('no database at all, but long enough to look at'.repeat(200));
  writeFileSync(path, garbage);
  expect(failure()).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(
      /store\.db: the file is damaged or not a store; restore a backup/,
    ),
  });
  expect(readFileSync(path).equals(garbage)).toBe(true);
});

test('operations on a damaged file fail and say so, and the process lives', async () => {
  const first = open();
  for (let index = 0; index < 200; index += 1) {
    await finishedTask(first, { taskId: `t${index}`, contextId: `c${index}` });
  }
  await first.close();
  const bytes = readFileSync(path);
  bytes.fill(0xa5, 4096 * 2);
  writeFileSync(path, bytes);

  let thrown: unknown;
  try {
    await open().load('t100');
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(
      /store\.db: the file is damaged or not a store; restore a backup/,
    ),
  });
});

test('a directory that cannot be written is a clear failure', () => {
  chmodSync(directory, 0o555);
  expect(asNobody(() => failure())).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(
      /store\.db can't be created \(EACCES\); make its directory writable/,
    ),
  });
});

test('a file that cannot be read is a clear failure', async () => {
  await open().close();
  chmodSync(directory, 0o755);
  chmodSync(path, 0o000);
  expect(asNobody(() => failure())).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/store\.db: cannot be opened; check/),
  });
});

test('a path through a file is a clear failure', () => {
  writeFileSync(join(directory, 'file'), '');
  expect(failure({ path: join(directory, 'file', 'store.db') })).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/store\.db can't be created \(E[A-Z]+\)/),
  });
});

test('on a full disk writes fail, what is stored stays, and writing continues when there is room', async () => {
  const store = open({ maxBytes: 512 * 1024 });
  const large = Json.of({ text: 'x'.repeat(20_000) });
  const stored: string[] = [];
  let thrown: unknown;
  for (let index = 0; thrown === undefined; index += 1) {
    const id = `t${String(index).padStart(3, '0')}`;
    try {
      const { turn } = await admit(store, { taskId: id, contextId: id, request: large });
      const context = { owner: alice, contextId: id, value: large };
      await append(store, ending(turn, 1, 'TASK_STATE_COMPLETED', { context }));
      stored.push(id);
    } catch (error) {
      thrown = error;
    }
  }
  expect(thrown).toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/the disk is full; stored data is intact: free/),
  });
  expect(stored.length).toBeGreaterThan(5);
  for (const id of stored) {
    expect(await store.load(id)).toMatchObject({ version: 2, state: 'TASK_STATE_COMPLETED' });
    expect((await store.loadContext(alice, id))?.value?.text).toBe(large.text);
  }
  const writes = [1, 2, 3].map((n) =>
    writeContext(store, { owner: alice, contextId: `w${n}`, value: large }),
  );
  const outcomes = await Promise.allSettled(writes);
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);

  for (const id of stored.slice(0, 5)) await store.deleteContext(alice, id);
  await writeContext(store, { owner: alice, contextId: 'later', value: large });
  expect((await store.loadContext(alice, 'later'))?.value?.text).toBe(large.text);
  expect(await store.load(stored[0] ?? '')).toMatchObject({ version: 2 });
});

test('the file is kept with a log beside it, and every commit reaches the disk', async () => {
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
  let own: DatabaseSync | undefined;
  try {
    const store = open();
    await admit(store);
    // What is set for one connection can be asked of that one alone.
    own = exec.mock.contexts.at(-1) as DatabaseSync | undefined;
  } finally {
    exec.mockRestore();
  }
  expect(own?.location()).toBe(path);
  expect({ ...own?.prepare('PRAGMA journal_mode').get() }).toEqual({ journal_mode: 'wal' });
  expect({ ...own?.prepare('PRAGMA synchronous').get() }).toEqual({ synchronous: 2 });
});

test('a write waits for another process that writes, and continues when that has ended', async () => {
  const store = open({ busyTimeoutMs: 60_000 });
  await admit(store, { taskId: 'before' });
  const asked = new Int32Array(new SharedArrayBuffer(4));
  // In a thread of its own: a write that waits stops this one.
  const holder = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
    const { DatabaseSync } = require('node:sqlite');
    const other = new DatabaseSync(workerData.path);
    other.exec('BEGIN IMMEDIATE');
    parentPort.postMessage('held');
    Atomics.wait(workerData.asked, 0, 0);
    // The write may be on its way still: it is held up until it surely has come.
    Atomics.wait(workerData.asked, 0, 1, 200);
    other.exec('COMMIT');
    other.close();`,
    { eval: true, stderr: true, workerData: { path, asked } },
  );
  const ended = new Promise((resolve) => holder.once('exit', resolve));
  await new Promise((resolve, reject) => {
    holder.once('message', resolve);
    holder.once('error', reject);
  });
  const write = admit(store, { taskId: 'after', contextId: 'd' });
  Atomics.store(asked, 0, 1);
  Atomics.notify(asked, 0);
  await write;
  expect(await ended).toBe(0);
  expect(await store.load('after')).toMatchObject({ version: 1 });
});

test('a write fails when the other process takes longer than is waited, and nothing is lost', async () => {
  const store = open({ busyTimeoutMs: 5 });
  await admit(store, { taskId: 'before' });
  const other = new DatabaseSync(path);
  try {
    other.exec('BEGIN IMMEDIATE');
    const later = admission({ taskId: 'after', contextId: 'd' });
    await expect(store.admit(later)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringMatching(/another process keeps it locked; end that process/),
    });
    expect(await store.load('before')).toMatchObject({ version: 1 });
    expect(await store.load('after')).toBeUndefined();
    other.exec('ROLLBACK');
    expect(await store.admit(later)).toMatchObject({ kind: 'admitted' });
  } finally {
    other.close();
  }
});

test('operations after closing are refused', async () => {
  const store = open();
  await store.close();
  await expect(store.admit(admission())).rejects.toMatchObject({ code: 'STORE_FAILED' });
  await expect(store.load('t')).rejects.toThrow(/store\.db is closed/);
});

test('closing writes what was started', async () => {
  const store = open();
  const write = store.admit(admission());
  await store.close();
  expect(await write).toMatchObject({ kind: 'admitted' });
  expect(await open().load('t')).toMatchObject({ version: 1 });
});

test('the log beside the file is gone after closing', async () => {
  const store = open();
  await admit(store);
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test('a path is taken as a file, whatever it looks like', async () => {
  mkdirSync(join(directory, 'here'));
  const store = open({ path: join(directory, 'here', ':memory:') });
  await admit(store);
  const again = openSqlite({ path: join(directory, 'here', ':memory:'), guest: true });
  opened.push(again);
  expect(await again.load('t')).toBeDefined();
});

test.each(['', ':memory:', 'file:tasks.db?mode=memory'])(
  'the path %j is refused: it would become the name of a file',
  (path) => {
    expect(() => openSqlite({ path })).toThrow(/is not the path of a file.*type: 'memory'/);
  },
);

test('ids of a task and its context are stored once, and a short log has no snapshot', async () => {
  const store = open();
  const taskId = '01a1ef76-fd3e-75b1-9651-4ab7d666b1c6';
  const contextId = '01a1ef76-fd3e-75b2-a47a-046911ee2761';
  const { turn } = await admit(store, { taskId, contextId });
  const events = [2, 3].map((sequence) => statusEvent(sequence, working, taskId));
  const body = taskBody(taskId, contextId, working);
  await append(store, statusAppend(taskId, 1, working, { events, snapshot: { version: 3, body } }));
  await append(store, ending(turn, 3));
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare('SELECT key, body FROM events').all();
  expect(rows.map(({ key }) => Number(key) % 2 ** 22)).toEqual([1, 3, 4]);
  expect(JSON.stringify(rows)).not.toMatch(/01a1ef76/);
  expect(database.prepare('SELECT * FROM snapshots').all()).toEqual([]);
  database.close();
  expect((await log(store, taskId)).map(([sequence]) => sequence)).toEqual([1, 2, 3, 4]);
  expect(await store.readEvents(taskId, 1, 1)).toMatchObject([{ sequence: 2 }]);
  const record = await store.load(taskId);
  expect(record?.snapshot).toMatchObject({
    version: 1,
    body: { value: { id: taskId, contextId } },
  });
  expect(record?.tail.map(({ body: event }) => event.value)).toEqual([
    ...events.map((event) => event.body.value),
    statusEvent(4, 'TASK_STATE_COMPLETED', taskId).body.value,
  ]);
});

test('a sweep gives the space of what it deleted back to the file system', async () => {
  const store = open();
  const text = 'x'.repeat(4_000);
  const ids = Array.from({ length: 600 }, (_, index) => `t${index}`);
  for (const id of ids) {
    const task = Json.of<Task>({ ...taskBody(id, id).value, metadata: { text } });
    const { turn } = await admit(store, { taskId: id, contextId: id, task });
    await append(store, ending(turn, 1));
  }
  const again = await reopen(store);
  const before = statSync(path).size;
  while ((await again.sweep({ retentionMs: 1, limit: 100 })).tasks > 0);
  for (let round = 0; round < 10; round += 1) await again.sweep({ limit: 100 });
  await again.close();
  expect(statSync(path).size).toBeLessThan(before / 5);
});

test('a file that was made without auto-vacuum gives space back after it was migrated', async () => {
  const former = new DatabaseSync(path);
  migrate(former, readMigrations().slice(0, -1), path);
  former.close();
  await open().close();
  expect(checkSqlite(path)).toMatchObject({ shrinks: false });
  expect(migrateSqlite(path)).toMatchObject({ shrinks: true, problems: [] });
  await open().close();
  expect(checkSqlite(path)).toMatchObject({ shrinks: true });
});

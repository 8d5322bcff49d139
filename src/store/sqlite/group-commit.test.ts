import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GroupCommit } from './group-commit.ts';

let database: DatabaseSync;
let commits: GroupCommit;
let hooks: { onForeignWrite: number; beforeCommit: number; onRollback: number };

beforeEach(() => {
  database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT');
  hooks = { onForeignWrite: 0, beforeCommit: 0, onRollback: 0 };
  commits = new GroupCommit(database, '/the/path', {
    onForeignWrite: () => void (hooks.onForeignWrite += 1),
    beforeCommit: () => void (hooks.beforeCommit += 1),
    onRollback: () => void (hooks.onRollback += 1),
  });
});
afterEach(() => {
  commits.close();
  database.close();
});

function insert(n: number): number {
  database.prepare('INSERT INTO numbers VALUES (?)').run(n);
  return n;
}

function stored(): unknown[] {
  return database
    .prepare('SELECT n FROM numbers ORDER BY n')
    .all()
    .map((row) => row['n']);
}

test('operations of one turn of the event loop share one transaction', async () => {
  const results = await Promise.all([1, 2, 3].map((n) => commits.write(() => insert(n))));
  expect(results).toEqual([1, 2, 3]);
  expect(stored()).toEqual([1, 2, 3]);
  expect(hooks.beforeCommit).toBe(1);
});

test('operations of two turns of the event loop have two transactions', async () => {
  await commits.write(() => insert(1));
  await commits.write(() => insert(2));
  expect(hooks.beforeCommit).toBe(2);
});

test('an operation settles only after its transaction was committed', async () => {
  const write = commits.write(() => insert(1));
  expect(stored()).toEqual([]);
  await write.then(() => expect(database.isTransaction).toBe(false));
});

test('of a group in which one operation throws, only that one fails', async () => {
  const outcomes = await Promise.allSettled([
    commits.write(() => insert(1)),
    commits.write(() => {
      insert(50);
      throw new Error('guilty');
    }),
    commits.write(() => insert(1)),
    commits.write(() => insert(2)),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
  ]);
  expect(outcomes[1]).toMatchObject({ reason: new Error('guilty') });
  expect(outcomes[2]).toMatchObject({ reason: { code: 'INTERNAL' } });
  expect(stored()).toEqual([1, 2]);
  // Once for the group, once for each of the two that failed.
  expect(hooks.onRollback).toBe(3);
});

test('an operation that fails alone is not run twice', async () => {
  let runs = 0;
  const write = commits.write(() => {
    runs += 1;
    throw new Error('guilty');
  });
  await expect(write).rejects.toThrow('guilty');
  expect(runs).toBe(1);
});

test('more operations than one transaction takes are all written', async () => {
  const numbers = Array.from({ length: 2_500 }, (_, index) => index);
  await Promise.all(numbers.map((n) => commits.write(() => insert(n))));
  expect(stored()).toEqual(numbers);
  expect(hooks.beforeCommit).toBe(3);
});

/** A turn of the event loop in which the disk is not used. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('operations that keep coming, a turn of the event loop each, share one transaction', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  const writes: Promise<number>[] = [];
  for (const n of [1, 2, 3, 4, 5]) {
    writes.push(commits.write(() => insert(n)));
    await turn();
  }
  await Promise.all(writes);
  expect(hooks.beforeCommit).toBe(1);
  clock.mockRestore();
});

test('operations are not gathered for longer than a flush takes, however long a turn is', async () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1));
  await Promise.all(
    [1, 2, 3].map(async (n) => {
      for (let turns = 1; turns < n; turns += 1) await turn();
      await commits.write(() => insert(n));
    }),
  );
  expect(hooks.beforeCommit).toBe(3);
  clock.mockRestore();
});

test('operations that never stop coming are written all the same', async () => {
  let written = 0;
  for (let n = 1; n <= 100; n += 1) {
    void commits.write(() => insert(n)).then(() => (written += 1));
    await turn();
  }
  expect(written).toBeGreaterThan(70);
});

test('a commit that fails rejects the operation that caused it, and no other', async () => {
  database.exec(
    `CREATE TABLE parents (n INTEGER PRIMARY KEY);
     CREATE TABLE children (n INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);`,
  );
  const orphan = database.prepare('INSERT INTO children VALUES (1)');
  const whole = commits.write(() => orphan.run());
  const second = commits.write(() => insert(2));
  await expect(whole).rejects.toMatchObject({ code: 'INTERNAL' });
  expect(await second).toBe(2);
  expect(stored()).toEqual([2]);
});

test('closing writes what waits, and refuses what comes later', async () => {
  const write = commits.write(() => insert(1));
  commits.close();
  expect(await write).toBe(1);
  await expect(commits.write(() => insert(2))).rejects.toMatchObject({ code: 'STORE_FAILED' });
  await expect(commits.read(() => 1)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(stored()).toEqual([1]);
});

test('a read that fails says which file', async () => {
  const read = commits.read(() => database.exec('SELECT * FROM absent'));
  await expect(read).rejects.toThrow(/^store \/the\/path: .*no such table/);
});

test('fake timers do not stop the disk', async () => {
  vi.useFakeTimers();
  try {
    await commits.write(() => insert(1));
  } finally {
    vi.useRealTimers();
  }
  expect(stored()).toEqual([1]);
});

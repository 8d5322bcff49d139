import { expect, test } from 'vitest';
import { Json, type Task } from '../../protocol/index.ts';
import { alice, bob, completed, inputRequired } from '../behaviour/fixtures.contract.ts';
import type { TaskQuery } from '../contract.ts';
import { applyWrites } from '../record-rules.ts';
import { MemoryRecords } from './memory-records.ts';
import { MemoryTables } from './memory-tables.ts';
import type { MemoryTask } from './memory-task.ts';

const count = 100_000;

/** An owner's tasks in contexts of ten, one in a hundred of them open, and how often tasks were looked at. */
function manyTasks() {
  const { tasks, events } = new MemoryTables({ now: () => 0, skewMs: () => 0 });
  let looks = 0;
  const watch = (row: MemoryTask): MemoryTask => {
    let { statusTime } = row;
    return Object.defineProperty(row, 'statusTime', {
      get: () => ((looks += 1), statusTime),
      set(value: number) {
        statusTime = value;
      },
      enumerable: true,
    });
  };
  const insert = (number: number): MemoryTask => {
    const id = `task-${String(number).padStart(6, '0')}`;
    const contextId = `context-${Math.floor(number / 10)}`;
    const state = number % 100 === 0 ? inputRequired : completed;
    const body = Json.of<Task>({ id, contextId, status: { state } });
    const admission = { taskId: id, agent: 'a', owner: alice, contextId, now: number };
    const key = { key: id, replica: 'r', request: Json.of({}), maxContexts: 0 };
    const row = tasks.insert({ ...admission, ...key }, state);
    events.create(row, body);
    return watch(row);
  };
  const rows = Array.from({ length: count }, (_, number) => insert(number));
  const looksOf = (run: () => void): number => {
    looks = 0;
    run();
    return looks;
  };
  return { tasks, rows, insert, looksOf };
}

test('with 100,000 tasks of one owner, a page looks at its own tasks and few more', () => {
  const { tasks, looksOf } = manyTasks();
  const limit = 50;
  const middle = { statusTime: count / 2, id: '' };
  const queries: readonly [query: TaskQuery, length: number, total: number][] = [
    [{ owner: alice, limit }, limit, count],
    [{ owner: alice, limit, after: middle }, limit, count],
    [{ owner: alice, limit, statusTimeFrom: count - 10 }, 10, 10],
    [{ owner: alice, limit, state: inputRequired }, limit, count / 100],
    [{ owner: alice, limit, state: 'TASK_STATE_WORKING' }, 0, 0],
    [{ owner: alice, limit, contextId: 'context-5' }, 10, 10],
    [{ owner: alice, limit, contextId: 'context-0', state: inputRequired }, 1, 1],
    [{ owner: bob, limit }, 0, 0],
    [{ limit }, limit, count],
  ];
  for (const [query, length, total] of queries) {
    const looks = looksOf(() => {
      const page = tasks.page(query);
      expect([page.records.length, page.total]).toEqual([length, total]);
    });
    expect(looks, JSON.stringify(query)).toBeLessThan(4 * limit);
  }
});

test('with 100,000 tasks of one owner, writing one looks at few others', () => {
  const { tasks, rows, insert, looksOf } = manyTasks();
  expect(looksOf(() => void insert(count))).toBeLessThan(200);
  const [row] = rows;
  if (row === undefined) throw new Error('there are no tasks');
  const advanced = {
    version: 2,
    state: completed,
    statusTime: count + 1,
    isSuperseded: false,
  } as const;
  expect(looksOf(() => tasks.advance(row, advanced))).toBeLessThan(300);
  expect(looksOf(() => tasks.delete(row))).toBeLessThan(200);
  expect(tasks.page({ owner: alice, limit: 1 }).total).toBe(count);
});

test('with 100,000 records of one space, a page looks at its own records and few more', async () => {
  const records = new MemoryRecords({ now: () => 0, skewMs: () => 0 });
  let looks = 0;
  const keys = Array.from({ length: count }, (_, number) => `key-${number}`);
  applyWrites(
    records,
    keys.map((key) => ({ space: 's', key, value: Json.of(key) })),
    0,
  );
  for (const key of keys) {
    const get = (): undefined => void (looks += 1);
    Object.defineProperty(await records.get('s', key, 0), 'expiresAt', { get });
  }
  looks = 0;
  const page = await records.list({ space: 's', prefix: 'key-5', limit: 50, now: 0 });
  expect(page).toHaveLength(50);
  expect(looks).toBeLessThan(100);
});

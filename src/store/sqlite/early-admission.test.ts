import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import { admission, admit, append, ending } from '../behaviour/fixtures.contract.ts';
import type { Store } from '../contract.ts';
import { openSqlite } from './open-sqlite.ts';

let directory: string;
let path: string;
let store: Store;
let onlooker: DatabaseSync;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'legate-early-'));
  path = join(directory, 'store.db');
  store = openSqlite({ path, maxBytes: 512 * 1024 });
  onlooker = new DatabaseSync(path, { readOnly: true });
});
afterEach(async () => {
  onlooker.close();
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Tasks and open turns as another process sees them. */
function seen(): { tasks: unknown; turns: unknown } {
  const count = (table: string): unknown =>
    onlooker.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];
  return { tasks: count('tasks'), turns: count('turns') };
}

test('a turn that may begin at once is told before it is in the file', async () => {
  const { stored } = await admit(store, { atOnce: true });
  expect(seen()).toEqual({ tasks: 0, turns: 0 });
  await stored;
  expect(seen()).toEqual({ tasks: 1, turns: 1 });
});

test('any other is told when it is', async () => {
  const outcome = await admit(store);
  expect(seen()).toEqual({ tasks: 1, turns: 1 });
  expect(outcome.stored).toBeUndefined();
});

test('a turn that waits for others is told when it is in the file', async () => {
  const first = await admit(store, { taskId: 'a' });
  const second = await admit(store, { taskId: 'b', atOnce: true });
  expect(second.running).toBe(false);
  expect(second.stored).toBeUndefined();
  expect(seen()).toEqual({ tasks: 2, turns: 2 });
  const { next } = await append(store, ending(first.turn, 1));
  expect(next?.request.value).toEqual({ for: 'b' });
});

test('a turn that ends at once comes into the file with its end', async () => {
  const { turn, stored } = await admit(store, { atOnce: true });
  const end = append(store, ending(turn, 1));
  await stored;
  expect(seen()).toEqual({ tasks: 1, turns: 0 });
  await end;
  await store.close();
  store = openSqlite({ path });
  expect(await store.load('t')).toMatchObject({ state: 'TASK_STATE_COMPLETED', version: 2 });
});

test('where there is no room for it, it never was, and its runner is fenced off', async () => {
  const request = Json.of('x'.repeat(600 * 1024));
  // Told, since the request comes into the file last.
  const { turn, stored } = await admit(store, { request, atOnce: true });
  const end = store.append(ending(turn, 1, 'TASK_STATE_WORKING', { endsTurn: false }));
  await expect(stored).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(await end).toEqual({ kind: 'fenced' });
  expect(await store.load('t')).toBeUndefined();
  expect(seen()).toEqual({ tasks: 0, turns: 0 });
});

test('its id stays its own when the transaction is undone because of another', async () => {
  const { turn, stored } = await admit(store, { atOnce: true });
  const others = Promise.allSettled([
    store.admit(admission({ taskId: 't', contextId: 'd' })),
    append(store, ending(turn, 1, 'TASK_STATE_INPUT_REQUIRED')),
    admit(store, { taskId: 'u', contextId: 'u' }),
  ]);
  await stored;
  const [taken, end, later] = await others;
  expect(taken).toMatchObject({ status: 'rejected', reason: { code: 'INTERNAL' } });
  expect(end).toMatchObject({ status: 'fulfilled' });
  expect(later).toMatchObject({ status: 'fulfilled' });
  expect(await store.load('t')).toMatchObject({ contextId: 'c', version: 2 });
  if (later.status !== 'fulfilled') return;
  expect(later.value.turn.id).not.toBe(turn.id);
  expect(seen()).toEqual({ tasks: 2, turns: 1 });
});

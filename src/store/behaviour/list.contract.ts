import { describe, expect, test } from 'vitest';
import type { TaskPage, TaskQuery } from '../contract.ts';
import {
  admit,
  alice,
  append,
  bob,
  completed,
  type CurrentStore,
  ending,
  finishedTask,
  inputRequired,
  statusAppend,
  working,
} from './fixtures.contract.ts';

function ids(page: TaskPage): string[] {
  return page.records.map(({ id }) => id);
}

export function listBehaviour(current: CurrentStore): void {
  /** Walks all pages and checks that each says the same total. */
  const walk = async (query: Omit<TaskQuery, 'after'>): Promise<string[][]> => {
    const pages: string[][] = [];
    let after: TaskQuery['after'];
    for (;;) {
      const page = await current().list(after === undefined ? query : { ...query, after });
      pages.push(ids(page));
      expect(page.total).toBe((await current().list(query)).total);
      const last = page.records.at(-1);
      if (!page.more || last === undefined) return pages;
      after = { statusTime: last.statusTime, id: last.id };
    }
  };

  describe('a list of tasks', () => {
    test('is empty for an owner without tasks', async () => {
      const empty = { records: [], total: 0, more: false };
      expect(await current().list({ owner: alice, limit: 10 })).toEqual(empty);
    });

    test('starts with the task whose status changed last, equal times by id', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', now: 100 });
      await admit(store, { taskId: 'c', contextId: 'c', now: 200 });
      await admit(store, { taskId: 'b', contextId: 'b', now: 200 });
      expect(ids(await store.list({ owner: alice, limit: 10 }))).toEqual(['c', 'b', 'a']);

      await append(store, statusAppend('a', 1, working, { statusTime: 200 }));
      expect(ids(await store.list({ owner: alice, limit: 10 }))).toEqual(['c', 'b', 'a']);
      await append(store, statusAppend('b', 1, working, { statusTime: 300 }));
      expect(ids(await store.list({ owner: alice, limit: 10 }))).toEqual(['b', 'c', 'a']);
    });

    test('keeps its order when a clock goes back', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', now: 500 });
      await store.list({ owner: alice, limit: 10 });
      await admit(store, { taskId: 'b', contextId: 'b', now: 100 });
      await admit(store, { taskId: 'c', contextId: 'c', now: 300 });
      expect(ids(await store.list({ owner: alice, limit: 10 }))).toEqual(['a', 'c', 'b']);
      await append(store, statusAppend('a', 1, working, { statusTime: 200 }));
      expect(ids(await store.list({ owner: alice, limit: 10 }))).toEqual(['c', 'a', 'b']);
    });

    test('comes in pages, each task once, with the total over all', async () => {
      const store = current();
      for (let index = 0; index < 25; index += 1) {
        const id = `t${String(index).padStart(2, '0')}`;
        await admit(store, { taskId: id, contextId: id, now: 100 + Math.floor(index / 3) });
      }
      const pages = await walk({ owner: alice, limit: 10 });
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
      const expected = Array.from({ length: 25 }, (_, i) => `t${String(24 - i).padStart(2, '0')}`);
      expect(pages.flat()).toEqual(expected);
      expect((await store.list({ owner: alice, limit: 10 })).total).toBe(25);
    });

    test('a page that ends with the last task says that there are no more', async () => {
      const store = current();
      for (const id of ['a', 'b']) await admit(store, { taskId: id, contextId: id });
      expect(await store.list({ owner: alice, limit: 2 })).toMatchObject({ more: false, total: 2 });
      expect(await store.list({ owner: alice, limit: 1 })).toMatchObject({ more: true, total: 2 });
    });

    test('a cursor works though its task has moved or gone', async () => {
      const store = current();
      for (const [index, id] of ['a', 'b', 'c'].entries()) {
        await admit(store, { taskId: id, contextId: id, now: 100 + index });
      }
      await append(store, statusAppend('b', 1, working, { statusTime: 900 }));
      const page = await store.list({
        owner: alice,
        limit: 9,
        after: { statusTime: 101, id: 'b' },
      });
      expect(ids(page)).toEqual(['a']);
      expect(page.total).toBe(3);
    });

    test('shows only tasks of its owner', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a' });
      await admit(store, { taskId: 'b', contextId: 'b', owner: bob });
      const page = await store.list({ owner: alice, limit: 10 });
      expect(ids(page)).toEqual(['a']);
      expect(page.total).toBe(1);
      const context = await store.list({ owner: alice, contextId: 'b', limit: 10 });
      expect(context).toEqual({ records: [], total: 0, more: false });
    });

    test('gives whole records: snapshot, tail, flags', async () => {
      const store = current();
      await admit(store);
      await append(store, statusAppend('t', 1, working));
      await store.requestCancel('t');
      const [record] = (await store.list({ owner: alice, limit: 10 })).records;
      const loaded = await store.load('t');
      expect(record?.snapshot.body.value).toEqual(loaded?.snapshot.body.value);
      expect(record?.tail.map(({ body }) => body.value)).toEqual(
        loaded?.tail.map(({ body }) => body.value),
      );
      expect(record).toMatchObject({ version: 2, state: working, cancelRequested: true });
    });

    test('a task without a status change keeps its place', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', now: 100 });
      await admit(store, { taskId: 'b', contextId: 'b', now: 200 });
      const unchanged = { statusTime: 100, state: 'TASK_STATE_SUBMITTED' as const };
      await append(store, statusAppend('a', 1, 'TASK_STATE_SUBMITTED', unchanged));
      expect(ids(await store.list({ owner: alice, limit: 10 }))).toEqual(['b', 'a']);
    });
  });

  describe('filters of a list', () => {
    test('by context', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'x', now: 100 });
      await admit(store, { taskId: 'b', contextId: 'y', now: 200 });
      await admit(store, { taskId: 'c', contextId: 'x', now: 300 });
      expect(await walk({ owner: alice, contextId: 'x', limit: 1 })).toEqual([['c'], ['a']]);
      expect((await store.list({ owner: alice, contextId: 'x', limit: 1 })).total).toBe(2);
    });

    test('by state, as it is now', async () => {
      const store = current();
      const a = await admit(store, { taskId: 'a', contextId: 'a' });
      await admit(store, { taskId: 'b', contextId: 'b' });
      await append(store, ending(a.turn, 1, inputRequired));
      const only = async (state: NonNullable<TaskQuery['state']>): Promise<string[]> => {
        const page = await store.list({ owner: alice, state, limit: 10 });
        expect(page.total).toBe(page.records.length);
        return ids(page);
      };
      expect(await only(inputRequired)).toEqual(['a']);
      expect(await only('TASK_STATE_SUBMITTED')).toEqual(['b']);
      expect(await only(completed)).toEqual([]);
    });

    test('superseded tasks are input-required, and left out of the open ones', async () => {
      const store = current();
      for (const [index, taskId] of ['a', 'b', 'c'].entries()) {
        const { turn } = await admit(store, { taskId, contextId: 'c' });
        await append(store, ending(turn, 1, inputRequired, { statusTime: 10 + index }));
      }
      const over = { isSuperseded: true, statusTime: 11 };
      await append(store, statusAppend('b', 2, inputRequired, over));
      const query = { owner: alice, state: inputRequired, limit: 2 } as const;
      const first = await store.list(query);
      expect(first).toMatchObject({ total: 3, more: true });
      expect(first.records.map(({ id, isSuperseded }) => [id, isSuperseded])).toEqual([
        ['c', false],
        ['b', true],
      ]);
      const open = await store.list({ ...query, contextId: 'c', isOpen: true });
      expect(open).toMatchObject({ total: 2, more: false });
      expect(open.records.map(({ id }) => id)).toEqual(['c', 'a']);
      expect(await store.list({ state: inputRequired, limit: 5 })).toMatchObject({ total: 3 });
    });

    test('by state over several pages', async () => {
      const store = current();
      for (const [index, id] of ['a', 'b', 'c', 'd', 'e'].entries()) {
        await admit(store, { taskId: id, contextId: id, now: 100 });
        if (index % 2 === 0) {
          await append(store, statusAppend(id, 1, working, { statusTime: 200 + index }));
        }
      }
      const pages = await walk({ owner: alice, state: working, limit: 2 });
      expect(pages).toEqual([['e', 'c'], ['a']]);
    });

    test('by time, inclusive', async () => {
      const store = current();
      for (const [index, id] of ['a', 'b', 'c'].entries()) {
        await admit(store, { taskId: id, contextId: id, now: 100 + index });
      }
      const page = await store.list({ owner: alice, statusTimeFrom: 101, limit: 10 });
      expect(ids(page)).toEqual(['c', 'b']);
      expect(page.total).toBe(2);
      expect(await walk({ owner: alice, statusTimeFrom: 101, limit: 1 })).toEqual([['c'], ['b']]);
      expect(await store.list({ owner: alice, statusTimeFrom: 103, limit: 1 })).toMatchObject({
        total: 0,
      });
    });

    test('all together', async () => {
      const store = current();
      await finishedTask(store, { taskId: 'a', contextId: 'x' }, 100);
      await finishedTask(store, { taskId: 'b', contextId: 'x' }, 300);
      await finishedTask(store, { taskId: 'c', contextId: 'y' }, 300);
      await admit(store, { taskId: 'd', contextId: 'x', now: 300 });
      const query = {
        owner: alice,
        contextId: 'x',
        state: completed,
        statusTimeFrom: 200,
      } as const;
      const page = await store.list({ ...query, limit: 10 });
      expect(ids(page)).toEqual(['b']);
      expect(page.total).toBe(1);
    });
  });

  describe('a list over all owners', () => {
    test('shows the tasks of each, the newest first, in pages', async () => {
      const store = current();
      await finishedTask(store, { taskId: 'a', contextId: 'x' }, 100);
      await finishedTask(store, { taskId: 'b', contextId: 'y', owner: bob }, 300);
      await admit(store, { taskId: 'c', contextId: 'x', now: 200 });
      await admit(store, { taskId: 'd', contextId: 'z', owner: bob, now: 300 });
      const page = await store.list({ limit: 10 });
      expect(ids(page)).toEqual(['d', 'b', 'c', 'a']);
      expect(page).toMatchObject({ total: 4, more: false });
      expect(page.records.map(({ owner }) => owner)).toEqual([bob, bob, alice, alice]);
      expect(await walk({ limit: 1 })).toEqual([['d'], ['b'], ['c'], ['a']]);
      expect(await walk({ limit: 3 })).toEqual([['d', 'b', 'c'], ['a']]);
    });

    test('can be filtered like that of one owner', async () => {
      const store = current();
      await finishedTask(store, { taskId: 'a', contextId: 'x' }, 100);
      await finishedTask(store, { taskId: 'b', contextId: 'x', owner: bob }, 300);
      await admit(store, { taskId: 'c', contextId: 'x', now: 200 });
      const only = async (query: Partial<TaskQuery>): Promise<string[]> => {
        const page = await store.list({ ...query, limit: 10 });
        expect(page.total).toBe(page.records.length);
        return ids(page);
      };
      expect(await only({ state: completed })).toEqual(['b', 'a']);
      expect(await only({ state: 'TASK_STATE_SUBMITTED' })).toEqual(['c']);
      expect(await only({ contextId: 'x' })).toEqual(['b', 'c', 'a']);
      expect(await only({ contextId: 'nowhere' })).toEqual([]);
      expect(await only({ statusTimeFrom: 200 })).toEqual(['b', 'c']);
      expect(await only({ contextId: 'x', state: completed, statusTimeFrom: 200 })).toEqual(['b']);
    });
  });
}

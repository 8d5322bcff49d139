import { describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import type { Append } from '../contract.ts';
import {
  admit,
  alice,
  append,
  bob,
  completed,
  type CurrentStore,
  ending,
  log,
  statusAppend,
  statusEvent,
  taskBody,
  working,
} from './fixtures.contract.ts';

export function logBehaviour(current: CurrentStore): void {
  describe('the log of a task', () => {
    test('an append adds its events, and the task takes on their state and time', async () => {
      const store = current();
      await admit(store);
      const events = [statusEvent(2, working), statusEvent(3, working)];
      await append(store, statusAppend('t', 1, working, { events, statusTime: 1500 }));

      expect(await store.load('t')).toMatchObject({ version: 3, state: working, statusTime: 1500 });
      expect((await log(store)).map(([sequence]) => sequence)).toEqual([1, 2, 3]);
      expect((await log(store))[2]?.[1]).toEqual(events[1]?.body.value);
    });

    test('an append without events changes the status alone', async () => {
      const store = current();
      const { turn } = await admit(store);
      await append(store, ending(turn, 1, completed, { events: [] }));
      expect(await store.load('t')).toMatchObject({ version: 1, state: completed, tail: [] });
    });

    test('events are read in order, from a number on, and no more than asked for', async () => {
      const store = current();
      await admit(store, { taskId: 'before', contextId: 'before' });
      await admit(store);
      await admit(store, { taskId: 'behind', contextId: 'behind' });
      const events = [2, 3, 4, 5].map((sequence) => statusEvent(sequence, working));
      await append(store, statusAppend('t', 1, working, { events }));
      const numbers = async (after: number, limit: number): Promise<number[]> =>
        (await store.readEvents('t', after, limit)).map(({ sequence }) => sequence);

      expect(await numbers(0, 2)).toEqual([1, 2]);
      expect(await numbers(2, 2)).toEqual([3, 4]);
      expect(await numbers(4, 10)).toEqual([5]);
      expect(await numbers(5, 10)).toEqual([]);
      for (const beyond of [99, 2 ** 22, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
        expect(await numbers(beyond, 10)).toEqual([]);
      }
      for (const before of [-1, -(2 ** 22), -(2 ** 40)]) {
        expect(await numbers(before, 2)).toEqual([1, 2]);
      }
    });

    test('tasks have separate logs', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a' });
      await admit(store, { taskId: 'b', contextId: 'b' });
      await append(store, statusAppend('a', 1, working));
      expect(await store.readEvents('b', 1, 10)).toEqual([]);
      expect(await store.readEvents('x', 0, 10)).toEqual([]);
    });

    test('a body comes back as it went in', async () => {
      const store = current();
      await admit(store);
      const text = 'ä\u0000\u2028\u{1F600} "quoted" \\ __proto__';
      const body = Json.of({
        artifactUpdate: {
          taskId: 't',
          contextId: 'c',
          artifact: { artifactId: 'a', parts: [{ text }, { data: JSON.parse('{"__proto__":1}') }] },
        },
      });
      await append(store, statusAppend('t', 1, working, { events: [{ sequence: 2, body }] }));
      const [event] = await store.readEvents('t', 1, 1);
      expect(event?.body.text).toBe(body.text);
    });

    test("another owner's task does not exist", async () => {
      const store = current();
      await admit(store);
      expect(await store.load('t', bob)).toBeUndefined();
      expect(await store.load('t', alice)).toMatchObject({ id: 't' });
      expect(await store.load('x', alice)).toBeUndefined();
    });
  });

  describe('snapshots', () => {
    test('a lagging snapshot comes with the events after it', async () => {
      const store = current();
      await admit(store);
      await append(store, statusAppend('t', 1, working));
      const events = [statusEvent(3, working), statusEvent(4, working)];
      await append(store, statusAppend('t', 2, working, { events }));

      const first = await store.load('t');
      expect(first?.snapshot.version).toBe(1);
      expect(first?.tail.map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
      expect(first?.tail[0]?.body.value).toEqual(statusEvent(2, working).body.value);
    });

    test('a snapshot given with an append takes the place of the former', async () => {
      const store = current();
      await admit(store);
      const body = taskBody('t', 'c', working);
      const events = Array.from({ length: 20 }, (_, index) => statusEvent(index + 2, working));
      const snapshot = { version: 20, body };
      await append(store, statusAppend('t', 1, working, { events, snapshot }));

      const record = await store.load('t');
      expect(record?.snapshot.version).toBe(20);
      expect(record?.snapshot.body.value).toEqual(body.value);
      expect(record?.tail.map(({ sequence }) => sequence)).toEqual([21]);
    });

    test('an up-to-date snapshot comes alone, with the very text it was given', async () => {
      const store = current();
      const { turn } = await admit(store);
      const body = Json.fromText<never>('{ "id": "t",  "kept": "as given" }');
      const events = Array.from({ length: 8 }, (_, index) => statusEvent(index + 2, working));
      await append(store, ending(turn, 1, completed, { events, snapshot: { version: 9, body } }));
      const record = await store.load('t');
      expect(record?.tail).toEqual([]);
      expect(record?.snapshot.body.text).toBe(body.text);
    });
  });

  describe('losing a race', () => {
    test('an append at another version than the current one conflicts and writes nothing', async () => {
      const store = current();
      await admit(store);
      await append(store, statusAppend('t', 1, working));
      const context = { owner: alice, contextId: 'c', value: Json.of(1) };
      expect(await store.append(statusAppend('t', 1, completed, { context }))).toEqual({
        kind: 'version-conflict',
      });
      expect(await store.append(statusAppend('t', 3, completed))).toEqual({
        kind: 'version-conflict',
      });
      expect(await store.load('t')).toMatchObject({ version: 2, state: working });
      expect(await log(store)).toHaveLength(2);
      expect(await store.loadContext(alice, 'c')).toBeUndefined();
    });

    test('of two appends at the same moment one wins', async () => {
      const store = current();
      await admit(store);
      const outcomes = await Promise.all([
        store.append(statusAppend('t', 1, working)),
        store.append(statusAppend('t', 1, 'TASK_STATE_CANCELED')),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(['appended', 'version-conflict']);
    });

    test('a terminal state absorbs: nothing is appended after it', async () => {
      const store = current();
      const { turn } = await admit(store);
      await append(store, ending(turn, 1));
      expect(await store.append(statusAppend('t', 2, working))).toEqual({
        kind: 'version-conflict',
      });
      expect(await store.load('t')).toMatchObject({ version: 2, state: completed });
    });

    test('an append to a task that is gone conflicts', async () => {
      expect(await current().append(statusAppend('x', 1, working))).toEqual({
        kind: 'version-conflict',
      });
    });

    test('a turn that does not run under the replica, or on another task, is fenced', async () => {
      const store = current();
      const a = await admit(store, { taskId: 'a', key: 'k' });
      const b = await admit(store, { taskId: 'b', key: 'k' });
      const by = (id: number, replica: string): Partial<Append> => ({ turn: { id, replica } });

      expect(await store.append(statusAppend('a', 1, working, by(a.turn.id, 'r2')))).toEqual({
        kind: 'fenced',
      });
      expect(await store.append(statusAppend('b', 1, working, by(a.turn.id, 'r1')))).toEqual({
        kind: 'fenced',
      });
      expect(await store.append(statusAppend('b', 1, working, by(b.turn.id, 'r1')))).toEqual({
        kind: 'fenced',
      });
      expect(await store.append(statusAppend('a', 7, working, by(b.turn.id, 'r1')))).toEqual({
        kind: 'fenced',
      });
      expect(await store.load('a')).toMatchObject({ version: 1 });
    });

    test.each<[string, Partial<Append>]>([
      ['events that do not follow the version', { events: [statusEvent(3, working)] }],
      ['events with a gap', { events: [statusEvent(2, working), statusEvent(4, working)] }],
      ['a snapshot ahead of the log', { snapshot: { version: 3, body: taskBody('t', 'c') } }],
      ['the end of a turn by no runner', { endsTurn: true }],
    ])('%s are an error', async (_, changes) => {
      const store = current();
      await admit(store);
      await expect(store.append(statusAppend('t', 1, working, changes))).rejects.toMatchObject({
        code: 'INTERNAL',
      });
      expect(await store.load('t')).toMatchObject({ version: 1 });
    });
  });

  describe('a plain reply', () => {
    const reply = Json.of({ messageId: 'm', role: 'ROLE_AGENT' as const, parts: [] });

    test('makes the task and all of its log vanish, and its turns end', async () => {
      const store = current();
      const { turn } = await admit(store);
      const other = await admit(store, { taskId: 'b' });
      const { next } = await append(store, ending(turn, 1, completed, { events: [], reply }));

      expect(next).toMatchObject({ id: other.turn.id });
      expect(await store.load('t')).toBeUndefined();
      expect(await store.readEvents('t', 0, 10)).toEqual([]);
      expect(await store.list({ owner: alice, limit: 10 })).toMatchObject({ total: 1 });
      expect(await store.append(ending(turn, 1))).toEqual({ kind: 'fenced' });
    });

    test('keeps the state of the context and the records written with it', async () => {
      const store = current();
      const { turn } = await admit(store);
      const write = ending(turn, 1, completed, {
        events: [],
        reply,
        context: { owner: alice, contextId: 'c', value: Json.of({ seen: 1 }) },
        records: [{ space: 's', key: 'k', value: Json.of(1) }],
      });
      await append(store, write);
      expect((await store.loadContext(alice, 'c'))?.value?.value).toEqual({ seen: 1 });
      expect((await store.records.get('s', 'k', 3000))?.value.value).toBe(1);
    });
  });
}

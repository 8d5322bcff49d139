import { describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import {
  admission,
  admit,
  alice,
  append,
  bob,
  carryOn,
  completed,
  continuation,
  type CurrentStore,
  ending,
  inputRequired,
  log,
  taskBody,
  statusAppend,
} from './fixtures.contract.ts';

export function admissionBehaviour(current: CurrentStore): void {
  describe('admission', () => {
    test('a first message makes a task with its first event and a running turn', async () => {
      const store = current();
      const outcome = await store.admit(admission());

      expect(outcome).toMatchObject({
        kind: 'admitted',
        running: true,
        turn: { key: 'c', taskId: 't', attempt: 1 },
      });
      const record = await store.load('t');
      expect(record).toMatchObject({
        id: 't',
        owner: alice,
        contextId: 'c',
        state: 'TASK_STATE_SUBMITTED',
        version: 1,
        statusTime: 1000,
        cancelRequested: false,
        hasPush: false,
        tail: [],
      });
      expect(record?.snapshot.version).toBe(1);
      expect(record?.snapshot.body.value).toEqual(taskBody('t', 'c').value);
      expect(await log(store)).toEqual([[1, { task: taskBody('t', 'c').value }]]);
    });

    test('queued turns and open contexts of an agent are counted', async () => {
      const store = current();
      const { agent } = admission();
      expect(await store.counts(agent)).toEqual({ queuedTurns: 0, openContexts: 0 });
      const { turn } = await admit(store);
      await admit(store, { taskId: 'behind' });
      await admit(store, { taskId: 'elsewhere', contextId: 'other', key: 'other' });
      await admit(store, { taskId: 'foreign', agent: 'another', key: 'another' });
      expect(await store.counts(agent)).toEqual({ queuedTurns: 1, openContexts: 2 });
      await append(store, ending(turn, 1, completed));
      expect(await store.counts(agent)).toEqual({ queuedTurns: 0, openContexts: 2 });
    });

    test('the turn carries the request as it was given', async () => {
      const request = Json.of({ deep: [1, { text: 'ä\u0000\u{1F600}' }] });
      const { turn } = await admit(current(), { request });
      expect(turn.request.value).toEqual(request.value);
    });

    test('messages that arrive together queue, are deduplicated and are limited', async () => {
      const store = current();
      const dedupe = { key: 'm', digest: 'd', expiresAt: 5_000 };
      const [first, second, repeated, limited] = await Promise.all([
        admit(store, { taskId: 'a', dedupe }),
        admit(store, { taskId: 'b' }),
        store.admit(admission({ taskId: 'c', dedupe })),
        store.admit(admission({ contextId: 'd', maxContexts: 1 })),
      ]);
      expect([first.running, second.running]).toEqual([true, false]);
      expect(repeated).toEqual({ kind: 'duplicate', taskId: 'a', ended: false });
      expect(limited).toEqual({ kind: 'context-limit' });
      const { next } = await append(store, ending(first.turn, 1));
      expect(next).toMatchObject({ id: second.turn.id, taskId: 'b' });
    });

    test('turns have different ids', async () => {
      const store = current();
      const first = await admit(store, { taskId: 'a', contextId: 'a' });
      await append(store, ending(first.turn, 1));
      const second = await admit(store, { taskId: 'b', contextId: 'b' });
      expect(second.turn.id).not.toBe(first.turn.id);
    });

    test('a further message to an unfinished task adds a turn and leaves the log alone', async () => {
      const store = current();
      const { turn } = await admit(store);
      await append(store, ending(turn, 1, inputRequired));

      expect(await carryOn(store)).toMatchObject({ running: true, turn: { taskId: 't' } });
      expect((await store.load('t'))?.version).toBe(2);
    });

    test('a message to an unknown task is refused as not found', async () => {
      const store = current();
      expect(await store.admit(continuation())).toEqual({ kind: 'task-not-found' });
      expect(await store.takeOver({ agent: 'agent', replica: 'r2', limit: 10 })).toEqual([]);
    });

    test("a message to another owner's task is refused as not found", async () => {
      const store = current();
      await admit(store);
      expect(await store.admit(continuation({ owner: bob }))).toEqual({ kind: 'task-not-found' });
    });

    test('a message to a task in a terminal state is refused as ended', async () => {
      const store = current();
      const { turn } = await admit(store);
      await append(store, ending(turn, 1, completed));
      expect(await store.admit(continuation())).toEqual({ kind: 'task-ended' });
    });

    test('a new task under an id that exists is an error and changes nothing', async () => {
      const store = current();
      await admit(store);
      const again = admission({ owner: bob, contextId: 'elsewhere' });
      await expect(store.admit(again)).rejects.toMatchObject({ code: 'INTERNAL' });
      expect(await store.load('t')).toMatchObject({ owner: alice, contextId: 'c', version: 1 });
      expect(await store.list({ owner: bob, limit: 10 })).toMatchObject({ total: 0 });
    });

    test('many admissions at the same moment all succeed', async () => {
      const store = current();
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          store.admit(admission({ taskId: `t${index}`, contextId: `c${index}` })),
        ),
      );
      expect(outcomes.every(({ kind }) => kind === 'admitted')).toBe(true);
      expect(await store.list({ owner: alice, limit: 10 })).toMatchObject({ total: 200 });
    });
  });

  describe('the limit of contexts', () => {
    const limited = { maxContexts: 2 };

    test('a new context beyond the limit is refused, and nothing of it is kept', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', ...limited });
      await admit(store, { taskId: 'b', contextId: 'b', ...limited });
      const third = admission({ taskId: 'd', contextId: 'd', ...limited });

      expect(await store.admit(third)).toEqual({ kind: 'context-limit' });
      expect(await store.load('d')).toBeUndefined();
    });

    test('the limit counts the contexts of all callers, and two callers share none', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'same', ...limited });
      await admit(store, { taskId: 'b', contextId: 'same', owner: bob, key: 'k', ...limited });
      const third = admission({ taskId: 'd', contextId: 'd', ...limited });
      expect(await store.admit(third)).toEqual({ kind: 'context-limit' });
    });

    test('a context that has an unfinished task may get more', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', ...limited });
      await admit(store, { taskId: 'b', contextId: 'b', ...limited });
      expect(await admit(store, { taskId: 'a2', contextId: 'a', ...limited })).toMatchObject({
        running: false,
      });
    });

    test('an unfinished task can be continued at the limit', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', maxContexts: 1 });
      await carryOn(store, { taskId: 'a', contextId: 'a', maxContexts: 1 });
    });

    test('a context is free again when its last unfinished task has ended', async () => {
      const store = current();
      const first = await admit(store, { taskId: 'a', contextId: 'a', maxContexts: 1 });
      const second = await admit(store, { taskId: 'a2', contextId: 'a', maxContexts: 1 });
      const other = admission({ taskId: 'b', contextId: 'b', maxContexts: 1 });

      await append(store, ending(first.turn, 1));
      expect(await store.admit(other)).toEqual({ kind: 'context-limit' });
      await append(store, ending(second.turn, 1));
      expect(await store.admit(other)).toMatchObject({ kind: 'admitted' });
    });

    test('a superseded task keeps no context, until it is continued', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', contextId: 'a', maxContexts: 1 });
      await append(store, ending(turn, 1, inputRequired));
      await append(store, statusAppend('a', 2, inputRequired, { isSuperseded: true }));
      const other = await admit(store, { taskId: 'b', contextId: 'b', maxContexts: 1 });
      const again = admission({ taskId: 'a2', contextId: 'a', maxContexts: 1 });
      expect(await store.admit(again)).toEqual({ kind: 'context-limit' });
      await append(store, ending(other.turn, 1));
      const continued = await carryOn(store, { taskId: 'a', contextId: 'a' });
      await append(store, ending(continued.turn, 3, inputRequired));
      const third = admission({ taskId: 'c', contextId: 'c', maxContexts: 1 });
      expect(await store.admit(third)).toEqual({ kind: 'context-limit' });
      expect(await store.load('a')).toMatchObject({ state: inputRequired, isSuperseded: false });
    });

    test('an interrupted task keeps its context', async () => {
      const store = current();
      const { turn } = await admit(store, { maxContexts: 1 });
      await append(store, ending(turn, 1, inputRequired));
      const other = admission({ taskId: 'b', contextId: 'b', maxContexts: 1 });
      expect(await store.admit(other)).toEqual({ kind: 'context-limit' });
    });

    test('a task that vanished with a plain reply frees its context', async () => {
      const store = current();
      const { turn } = await admit(store, { maxContexts: 1 });
      const reply = Json.of({ messageId: 'm', role: 'ROLE_AGENT' as const, parts: [] });
      await append(store, ending(turn, 1, completed, { events: [], reply }));
      await admit(store, { taskId: 'b', contextId: 'b', maxContexts: 1 });
    });

    test('each agent has a limit of its own', async () => {
      const store = current();
      await admit(store, { taskId: 'a', contextId: 'a', maxContexts: 1 });
      const other = { agent: 'other', owner: '["other","","alice"]', maxContexts: 1 };
      await admit(store, { taskId: 'b', contextId: 'b', ...other });
      expect(await store.admit(admission({ taskId: 'd', contextId: 'd', ...other }))).toEqual({
        kind: 'context-limit',
      });
    });

    test('0 means unlimited', async () => {
      const store = current();
      for (const id of ['a', 'b', 'd']) await admit(store, { taskId: id, contextId: id });
      expect(await store.list({ owner: alice, limit: 10 })).toMatchObject({ total: 3 });
    });
  });
}

import { describe, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import type { Store } from '../contract.ts';
import {
  admit,
  alice,
  append,
  type CurrentStore,
  ending,
  type SetTime,
} from './fixtures.contract.ts';

/** Queues a command in key `c`, for replica `r1`. */
export function queueCommand(store: Store, id: string) {
  return store.commands.queue({
    agent: 'agent',
    key: 'c',
    id,
    replica: 'r1',
    request: Json.of({ for: id }),
  });
}

export function commandsBehaviour(current: CurrentStore, setTime: SetTime): void {
  describe('commands', () => {
    const replica = 'r1';
    const now = 1000;

    test('wait behind the turns of their key, and turns behind them', async () => {
      const store = current();
      const first = await admit(store, { taskId: 'a' });
      const command = await queueCommand(store, 'x');
      const last = await admit(store, { taskId: 'b' });
      expect([command.running, last.running]).toEqual([false, false]);
      const { next } = await append(store, ending(first.turn, 1));
      expect(next).toEqual({ ...command.turn, request: expect.any(Json) });
      expect(next?.request.value).toEqual({ for: 'x' });
      expect(await store.commands.end({ turn: command.turn, replica, now })).toMatchObject({
        kind: 'ended',
        next: { id: last.turn.id, taskId: 'b' },
      });
      expect(await store.loadTurn(command.turn.id)).toBeUndefined();
    });

    test('write the context and records with their end, and leave no task', async () => {
      const store = current();
      const { turn, running } = await queueCommand(store, 'x');
      expect(running).toBe(true);
      const context = {
        owner: alice,
        contextId: 'c',
        value: Json.of({ a: 1 }),
        log: [Json.of('l')],
      };
      const records = [{ space: 's', key: 'k', value: Json.of('v') }];
      const end = { turn, replica, context, records, now };
      expect(await store.commands.end(end)).toEqual({ kind: 'ended' });
      expect((await store.loadContext(alice, 'c'))?.value?.value).toEqual({ a: 1 });
      expect((await store.readContextLog(alice, 'c')).map(({ value }) => value)).toEqual(['l']);
      expect((await store.records.get('s', 'k', now))?.value.value).toBe('v');
      expect(await store.load('x')).toBeUndefined();
      expect((await store.list({ owner: alice, limit: 9 })).total).toBe(0);
    });

    test('an end is fenced for others and after the first; a record that has changed refuses it', async () => {
      const store = current();
      const { turn } = await queueCommand(store, 'x');
      const context = { owner: alice, contextId: 'c', value: Json.of(1) };
      const records = [{ space: 's', key: 'k', value: Json.of('v'), ifVersion: 3 }];
      const end = { turn, replica, context, now };
      expect(await store.commands.end({ ...end, replica: 'r2' })).toEqual({ kind: 'fenced' });
      expect(await store.commands.end({ ...end, records })).toEqual({ kind: 'version-conflict' });
      expect(await store.loadContext(alice, 'c')).toBeUndefined();
      expect(await store.commands.end(end)).toEqual({ kind: 'ended' });
      expect(await store.commands.end(end)).toEqual({ kind: 'fenced' });
    });

    test('are dropped for their key, whether they run or wait; turns of tasks continue', async () => {
      const store = current();
      const running = await queueCommand(store, 'x');
      const task = await admit(store, { taskId: 'a' });
      await queueCommand(store, 'y');
      const dropped = await store.commands.drop('c', 'r2');
      expect([...dropped.ids].sort()).toEqual(['x', 'y']);
      expect(dropped.next).toMatchObject({ id: task.turn.id });
      expect(await store.commands.end({ turn: running.turn, replica, now })).toEqual({
        kind: 'fenced',
      });
      expect(await store.commands.drop('c', 'r2')).toEqual({ ids: [] });
    });

    test('are taken over from a replica whose lease has expired', async () => {
      const store = current();
      await setTime(1000);
      await store.heartbeat('r1', 10);
      const { turn } = await queueCommand(store, 'x');
      await setTime(2000);
      const query = { agent: 'agent', replica: 'r2', limit: 9 };
      expect(await store.takeOver(query)).toMatchObject([{ id: turn.id, taskId: 'x', attempt: 2 }]);
      expect(await store.commands.end({ turn, replica: 'r2', now })).toEqual({ kind: 'ended' });
    });
  });
}

import { describe, expect, test } from 'vitest';
import {
  admit,
  append,
  carryOn,
  completed,
  type CurrentStore,
  type SetTime,
  ending,
  inputRequired,
  statusAppend,
  working,
} from './fixtures.contract.ts';

const takeOver = { agent: 'agent', replica: 'r2', limit: 10 };

export function turnsBehaviour(current: CurrentStore, setTime: SetTime): void {
  describe('turns of one key', () => {
    test('run one at a time, in the order of their admission', async () => {
      const store = current();
      const a = await admit(store, { taskId: 'a', key: 'k' });
      const b = await admit(store, { taskId: 'b', key: 'k' });
      const c = await admit(store, { taskId: 'c', key: 'k' });
      expect([a.running, b.running, c.running]).toEqual([true, false, false]);

      const first = await append(store, ending(a.turn, 1));
      expect(first.next).toMatchObject({ id: b.turn.id, taskId: 'b', key: 'k', attempt: 1 });
      expect(first.next?.request.value).toEqual({ for: 'b' });
      const second = await append(store, ending(b.turn, 1));
      expect(second.next).toMatchObject({ id: c.turn.id });
      const third = await append(store, ending(c.turn, 1));
      expect(third.next).toBeUndefined();
      expect(await admit(store, { taskId: 'd', key: 'k' })).toMatchObject({ running: true });
    });

    test('turns of different keys run side by side', async () => {
      const store = current();
      await admit(store, { taskId: 'a', key: 'k' });
      expect(await admit(store, { taskId: 'b', key: 'l' })).toMatchObject({ running: true });
    });

    test('an event that does not end the turn starts no other', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', key: 'k' });
      await admit(store, { taskId: 'b', key: 'k' });
      const write = statusAppend('a', 1, working, { turn: { id: turn.id, replica: 'r1' } });
      expect((await append(store, write)).next).toBeUndefined();
    });

    test('the next turn runs under the replica that ended the one before', async () => {
      const store = current();
      const a = await admit(store, { taskId: 'a', key: 'k', replica: 'r1' });
      await admit(store, { taskId: 'b', key: 'k', replica: 'r2' });
      const { next } = await append(store, ending(a.turn, 1));
      if (next === undefined) throw new Error('a next turn was expected');

      const asOther = ending(next, 1, completed, { replica: 'r2' });
      expect(await store.append(asOther)).toEqual({ kind: 'fenced' });
      await append(store, ending(next, 1));
    });

    test('an interrupted task: its turn ends, the next of its key starts', async () => {
      const store = current();
      const { turn } = await admit(store);
      const followUp = await carryOn(store);
      expect(followUp.running).toBe(false);
      const { next } = await append(store, ending(turn, 1, inputRequired));
      expect(next).toMatchObject({ id: followUp.turn.id, taskId: 't' });
    });
  });

  describe('a terminal state', () => {
    test('ends every turn of the task, queued ones included', async () => {
      const store = current();
      const { turn } = await admit(store);
      const queued = await carryOn(store);
      const { next } = await append(store, ending(turn, 1, completed));
      expect(next).toBeUndefined();
      expect(await store.append(ending(queued.turn, 2))).toEqual({ kind: 'fenced' });
      expect(await store.takeOver(takeOver)).toEqual([]);
    });

    test('written by another than the runner, fences the runner and starts the next turn', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', key: 'k' });
      const other = await admit(store, { taskId: 'b', key: 'k' });
      const cancel = statusAppend('a', 1, 'TASK_STATE_CANCELED', { replica: 'r2' });
      const { next } = await append(store, cancel);

      expect(next).toMatchObject({ id: other.turn.id });
      expect(await store.append(ending(turn, 2))).toEqual({ kind: 'fenced' });
      expect(await store.append(ending(other.turn, 1))).toEqual({ kind: 'fenced' });
      await append(store, ending(other.turn, 1, completed, { replica: 'r2' }));
    });

    test('of a queued task leaves the running turn of its key alone', async () => {
      const store = current();
      const a = await admit(store, { taskId: 'a', key: 'k' });
      await admit(store, { taskId: 'b', key: 'k' });
      const { next } = await append(store, statusAppend('b', 1, 'TASK_STATE_CANCELED'));
      expect(next).toBeUndefined();
      expect((await append(store, ending(a.turn, 1))).next).toBeUndefined();
    });
  });

  describe('cancel requests', () => {
    test('mark the task, and every append from then on says so', async () => {
      const store = current();
      const { turn } = await admit(store);
      expect(await store.requestCancel('t')).toEqual({ running: true, queued: false });
      expect((await store.load('t'))?.cancelRequested).toBe(true);
      const write = statusAppend('t', 1, working, { turn: { id: turn.id, replica: 'r1' } });
      expect(await append(store, write)).toMatchObject({ cancelRequested: true });
    });

    test('may come twice', async () => {
      const store = current();
      await admit(store);
      await store.requestCancel('t');
      expect(await store.requestCancel('t')).toEqual({ running: true, queued: false });
    });

    test('say which turns are under way', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', key: 'k' });
      await admit(store, { taskId: 'b', key: 'k' });
      await carryOn(store, { taskId: 'a', key: 'k' });
      expect(await store.requestCancel('b')).toEqual({ running: false, queued: true });
      expect(await store.requestCancel('a')).toEqual({ running: true, queued: true });
      await append(store, ending(turn, 1, inputRequired));
      const idle = await admit(store, { taskId: 'd', key: 'l' });
      await append(store, ending(idle.turn, 1, inputRequired));
      expect(await store.requestCancel('d')).toEqual({ running: false, queued: false });
    });

    test('are known by the replica that runs the turn', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', key: 'k' });
      await admit(store, { taskId: 'b', key: 'k' });
      await admit(store, { taskId: 'c', key: 'l' });
      expect(await store.cancelRequests('r1')).toEqual([]);
      await store.requestCancel('a');
      await store.requestCancel('b');
      expect(await store.cancelRequests('r1')).toEqual(['a']);
      expect(await store.cancelRequests('r2')).toEqual([]);
      await append(store, ending(turn, 1, 'TASK_STATE_CANCELED'));
      expect(await store.cancelRequests('r1')).toEqual(['b']);
    });

    test('of unknown and of ended tasks have no effect', async () => {
      const store = current();
      const { turn } = await admit(store);
      await append(store, ending(turn, 1));
      expect(await store.requestCancel('t')).toBeUndefined();
      expect(await store.requestCancel('x')).toBeUndefined();
      expect((await store.load('t'))?.cancelRequested).toBe(false);
    });
  });

  describe('taking over', () => {
    test('a turn of a live replica stays with it', async () => {
      const store = current();
      await setTime(4000);
      await store.heartbeat('r1', 1001);
      await admit(store);
      await setTime(5000);
      expect(await store.takeOver(takeOver)).toEqual([]);
    });

    test('a turn of a replica without a fresh heartbeat goes to the one that asks, once', async () => {
      const store = current();
      await setTime(4000);
      await store.heartbeat('r1', 1000);
      await store.heartbeat('r2', 2000);
      const { turn } = await admit(store);
      await setTime(5000);
      const [taken, ...others] = await store.takeOver(takeOver);
      expect(taken).toMatchObject({ id: turn.id, key: 'c', taskId: 't', attempt: 2 });
      expect(taken?.request.value).toEqual({ for: 't' });
      expect(others).toEqual([]);
      expect(await store.takeOver({ ...takeOver, replica: 'r3' })).toEqual([]);
    });

    test('a lease that has expired is spared on request, but not that of one that retired', async () => {
      const store = current();
      await setTime(4000);
      await store.heartbeat('r1', 1000);
      await admit(store);
      await setTime(5000);
      const sparing = { ...takeOver, sparesExpired: true };
      expect(await store.takeOver(sparing)).toEqual([]);
      await store.retire('r1');
      expect(await store.takeOver(sparing)).toHaveLength(1);
    });

    test('leases go by the clock of the store, whatever the caller takes for now', async () => {
      const store = current();
      await setTime(4000);
      await store.heartbeat('r1', 1000);
      await admit(store, { now: 64_000 });
      expect(await store.takeOver(takeOver)).toEqual([]);
      await setTime(5000);
      expect(await store.takeOver(takeOver)).toHaveLength(1);
    });

    test('dead replicas are those without a lease, or with one that has expired', async () => {
      const store = current();
      await setTime(4000);
      await store.heartbeat('alive', 2000);
      await store.heartbeat('expired', 1000);
      await store.heartbeat('retired', 9000);
      await store.retire('retired');
      await setTime(5000);
      const all = ['alive', 'expired', 'retired', 'unknown'];
      const dead = await store.deadReplicas(all);
      expect([...dead].sort()).toEqual(['expired', 'retired', 'unknown']);
      const spared = await store.deadReplicas(all, { sparesExpired: true });
      expect([...spared].sort()).toEqual(['retired', 'unknown']);
      expect(await store.deadReplicas([])).toEqual([]);
    });

    test('a replica that never gave a sign of life is dead', async () => {
      const store = current();
      await admit(store);
      expect(await store.takeOver(takeOver)).toHaveLength(1);
    });

    test('the asking replica is alive whatever its heartbeat says', async () => {
      const store = current();
      await admit(store, { replica: 'r2' });
      expect(await store.takeOver(takeOver)).toEqual([]);
    });

    test('the runner that lost its turn is fenced, the new one writes', async () => {
      const store = current();
      const { turn } = await admit(store);
      await store.takeOver(takeOver);
      expect(await store.append(ending(turn, 1))).toEqual({ kind: 'fenced' });
      await append(store, ending(turn, 1, completed, { replica: 'r2' }));
    });

    test('a retired replica is dead at once', async () => {
      const store = current();
      await store.heartbeat('r1', Infinity);
      await admit(store);
      await store.retire('r1');
      expect(await store.takeOver(takeOver)).toMatchObject([{ attempt: 2 }]);
    });

    test('an agent is given its own turns only', async () => {
      const store = current();
      await admit(store);
      expect(await store.takeOver({ ...takeOver, agent: 'other' })).toEqual([]);
      expect(await store.takeOver(takeOver)).toHaveLength(1);
    });

    test('queued turns wait for the one before them', async () => {
      const store = current();
      const a = await admit(store, { taskId: 'a', key: 'k' });
      const b = await admit(store, { taskId: 'b', key: 'k' });
      expect(await store.takeOver(takeOver)).toMatchObject([{ id: a.turn.id }]);
      const { next } = await append(store, ending(a.turn, 1, completed, { replica: 'r2' }));
      expect(next).toMatchObject({ id: b.turn.id, attempt: 1 });
    });

    test('the oldest turns come first, and no more than asked for', async () => {
      const store = current();
      for (const id of ['a', 'b', 'c']) await admit(store, { taskId: id, key: id });
      const taken = await store.takeOver({ ...takeOver, limit: 2 });
      expect(taken.map(({ taskId }) => taskId)).toEqual(['a', 'b']);
      expect(await store.takeOver(takeOver)).toMatchObject([{ taskId: 'c' }]);
    });
  });

  describe('turns that run in the name of the asking replica', () => {
    const own = { ...takeOver, replica: 'r1' };

    test('are given to it when their key is not in flight', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', key: 'k' });
      await admit(store, { taskId: 'b', key: 'k' });
      await admit(store, { taskId: 'c', key: 'l' });
      expect(await store.takeOver({ ...own, inFlight: ['l'] })).toMatchObject([
        { id: turn.id, key: 'k', attempt: 1 },
      ]);
      await append(store, ending(turn, 1));
    });

    test('stay as they are when it does not say which keys are in flight', async () => {
      const store = current();
      await admit(store);
      expect(await store.takeOver(own)).toEqual([]);
    });

    test('of another live replica are left alone', async () => {
      const store = current();
      await store.heartbeat('r1', Infinity);
      await admit(store);
      expect(await store.takeOver({ ...takeOver, inFlight: [] })).toEqual([]);
    });
  });

  describe('releasing', () => {
    test('a released turn is the first of its queue and can be taken over by anyone', async () => {
      const store = current();
      await store.heartbeat('r1', Infinity);
      const a = await admit(store, { taskId: 'a', key: 'k' });
      await admit(store, { taskId: 'b', key: 'k' });
      await store.release({ id: a.turn.id, replica: 'r1' });

      expect(await store.append(ending(a.turn, 1))).toEqual({ kind: 'fenced' });
      expect(await store.takeOver({ ...takeOver, limit: 10 })).toMatchObject([
        { id: a.turn.id, attempt: 1 },
      ]);
    });

    test('a turn that had started counts one attempt more', async () => {
      const store = current();
      const { turn } = await admit(store);
      await store.release({ id: turn.id, replica: 'r1', started: true });
      expect(await store.takeOver(takeOver)).toMatchObject([{ id: turn.id, attempt: 2 }]);
    });

    test('only the replica that runs a turn can release it', async () => {
      const store = current();
      const { turn } = await admit(store);
      await store.release({ id: turn.id, replica: 'r2' });
      await append(store, ending(turn, 1));
    });

    test('a new turn waits behind a released one', async () => {
      const store = current();
      const { turn } = await admit(store, { taskId: 'a', key: 'k' });
      await store.release({ id: turn.id, replica: 'r1' });
      expect(await admit(store, { taskId: 'b', key: 'k' })).toMatchObject({ running: false });
    });

    test('a turn that has ended is left alone', async () => {
      const store = current();
      const { turn } = await admit(store);
      await append(store, ending(turn, 1));
      await store.release({ id: turn.id, replica: 'r1' });
      expect(await store.takeOver(takeOver)).toEqual([]);
    });
  });
}

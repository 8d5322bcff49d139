import { describe, expect, test } from 'vitest';
import { Json, type Message } from '../../protocol/index.ts';
import type { Dedupe } from '../contract.ts';
import {
  admission,
  admit,
  append,
  bob,
  completed,
  continuation,
  type CurrentStore,
  type SetTime,
  ending,
  inputRequired,
} from './fixtures.contract.ts';

const dedupe: Dedupe = { key: 'message-1', digest: 'digest-1', expiresAt: 9000 };
/** The same message again: the engine has made up new ids by then. */
const repeated = admission({ taskId: 'u', contextId: 'd', dedupe });
const reply = Json.of<Message>({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] });

export function dedupeBehaviour(current: CurrentStore, setTime: SetTime): void {
  describe('a message that comes again', () => {
    test('while its turn is open, is a duplicate that has not ended', async () => {
      const store = current();
      await admit(store, { dedupe });
      expect(await store.admit(repeated)).toEqual({
        kind: 'duplicate',
        taskId: 't',
        ended: false,
      });
      expect(await store.load('u')).toBeUndefined();
    });

    test('after its turn has ended, is a duplicate that has', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1));
      expect(await store.admit(repeated)).toEqual({ kind: 'duplicate', taskId: 't', ended: true });
    });

    test('after its turn ended without ending the task, is a duplicate that has ended', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1, inputRequired));
      expect(await store.admit(repeated)).toMatchObject({ kind: 'duplicate', ended: true });
    });

    test('brings the plain message it was answered with', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1, completed, { events: [], reply }));
      const outcome = await store.admit(repeated);
      expect(outcome).toMatchObject({ kind: 'duplicate', taskId: 't', ended: true });
      expect(outcome.kind === 'duplicate' && outcome.reply?.value).toEqual(reply.value);
    });

    test('with another content is refused', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      const other = admission({ taskId: 'u', dedupe: { ...dedupe, digest: 'digest-2' } });
      expect(await store.admit(other)).toEqual({ kind: 'reused' });
      await append(store, ending(turn, 1));
      expect(await store.admit(other)).toEqual({ kind: 'reused' });
    });

    test('after its expiry is a new message', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1));
      expect(await store.admit({ ...repeated, now: 8999 })).toMatchObject({ kind: 'duplicate' });
      expect(await store.admit({ ...repeated, now: 9000 })).toMatchObject({ kind: 'admitted' });
      expect(await store.admit({ ...repeated, taskId: 'v', now: 8000 })).toMatchObject({
        kind: 'duplicate',
        taskId: 'u',
      });
    });

    test('after its expiry, but while its turn is open, is still a duplicate', async () => {
      const store = current();
      await admit(store, { dedupe });
      expect(await store.admit({ ...repeated, now: 99_000 })).toMatchObject({
        kind: 'duplicate',
        ended: false,
      });
    });

    test('after its task was swept is a new message', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1));
      await setTime(3000);
      await store.sweep({ retentionMs: 0, limit: 10 });
      expect(await store.admit({ ...repeated, now: 3000 })).toMatchObject({ kind: 'admitted' });
    });

    test('from another owner is another message', async () => {
      const store = current();
      await admit(store, { dedupe });
      const other = { ...repeated, owner: bob, key: 'bob' };
      expect(await store.admit(other)).toMatchObject({ kind: 'admitted' });
    });

    test('is recognised before anything else is looked at', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe, maxContexts: 1 });
      expect(await store.admit({ ...repeated, maxContexts: 1 })).toMatchObject({
        kind: 'duplicate',
      });
      await append(store, ending(turn, 1));
      expect(await store.admit(continuation({ dedupe }))).toMatchObject({ kind: 'duplicate' });
      expect(await store.admit(continuation({ taskId: 'x', dedupe }))).toMatchObject({
        kind: 'duplicate',
        taskId: 't',
      });
    });

    test('twice in the same moment, is admitted once', async () => {
      const store = current();
      const outcomes = await Promise.all([
        store.admit(admission({ dedupe })),
        store.admit(repeated),
      ]);
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['admitted', 'duplicate']);
    });

    test('a message that was refused is not remembered', async () => {
      const store = current();
      await admit(store, { maxContexts: 1 });
      expect(await store.admit({ ...repeated, maxContexts: 1 })).toEqual({ kind: 'context-limit' });
      expect(await store.admit(continuation({ taskId: 'x', dedupe }))).toEqual({
        kind: 'task-not-found',
      });
      expect(await store.admit(repeated)).toMatchObject({ kind: 'admitted' });
    });
  });

  describe('what became of a turn', () => {
    test('an open turn has not ended', async () => {
      const store = current();
      const running = await admit(store, { taskId: 'a' });
      const queued = await admit(store, { taskId: 'b' });
      expect(await store.loadTurn(running.turn.id)).toEqual({ ended: false });
      expect(await store.loadTurn(queued.turn.id)).toEqual({ ended: false });
    });

    test('an ended turn is known while its message is remembered, with its reply', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1, completed, { events: [], reply }));
      const known = await store.loadTurn(turn.id);
      expect(known?.ended).toBe(true);
      expect(known?.reply?.value).toEqual(reply.value);

      await setTime(9000);
      await store.sweep({ limit: 10 });
      expect(await store.loadTurn(turn.id)).toBeUndefined();
    });

    test('an admission that fails takes nothing from what is known of a turn', async () => {
      const store = current();
      const { turn } = await admit(store, { dedupe });
      await append(store, ending(turn, 1));
      // The message is over, and its place would be taken, were there not a task of that id.
      const again = admission({ taskId: 't', contextId: 'd', dedupe, now: 9000 });
      await expect(store.admit(again)).rejects.toMatchObject({ code: 'INTERNAL' });
      expect(await store.loadTurn(turn.id)).toEqual({ ended: true });
    });

    test('a turn that never was is unknown', async () => {
      expect(await current().loadTurn(12_345)).toBeUndefined();
    });
  });
}

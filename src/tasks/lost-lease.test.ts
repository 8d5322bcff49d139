import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent, type Turn } from '../agents/index.ts';
import { Json, LegateError, message } from '../protocol/index.ts';
import { openMemoryReplicas, type Store, type TurnRecord } from '../store/index.ts';
import { type Call, Engine, TurnStopped } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };

/** The clock of the stores; far ahead, every lease has expired. */
const clock = { ahead: 0, now: () => Date.now() + clock.ahead };

/** An agent that says nothing and waits to be stopped, and two stores on one memory. */
async function setting(options: { hears: boolean }) {
  const [inner, other] = openMemoryReplicas(2, { clock });
  if (inner === undefined || other === undefined) throw new Error('expected two stores');
  const state = { isAway: false, missedBeats: 0 };
  const store = intercepted(inner, {
    heartbeat: (go) => {
      if (!state.isAway) return go();
      state.missedBeats += 1;
      return Promise.reject(new LegateError('STORE_FAILED', 'away'));
    },
    ...(!options.hears && { watch: () => () => {} }),
  });
  const turns: Turn[] = [];
  const silent = agent({ name: 'silent' }, async function* (turn) {
    turns.push(turn);
    yield await new Promise<never>((_resolve, reject) => {
      turn.signal.addEventListener('abort', () => reject(turn.signal.reason as Error));
    });
  });
  const engine = await Engine.start({ agent: silent, store, leaseMs: 30 });
  const answer = engine.send({ message: message('hi', { contextId: 'c' }) }, call);
  await expect.poll(() => turns.length).toBe(1);
  return { engine, other, turns, answer, state };
}

async function takeOver(store: Store): Promise<TurnRecord> {
  await store.heartbeat('other', Infinity);
  clock.ahead = 60_000;
  const taken = store.takeOver({ agent: 'silent', replica: 'other', limit: 1 });
  clock.ahead = 0;
  const [turn] = await taken;
  if (turn === undefined) throw new Error('expected a turn');
  return turn;
}

async function complete(store: Store, { id, taskId }: TurnRecord): Promise<void> {
  const status = { state: 'TASK_STATE_COMPLETED' } as const;
  const body = Json.of({ statusUpdate: { taskId, contextId: 'c', status } });
  await store.append({
    taskId,
    version: 1,
    events: [{ sequence: 2, body }],
    state: status.state,
    statusTime: 0,
    turn: { id, replica: 'other' },
    endsTurn: true,
    replica: 'other',
    now: 0,
  });
}

test('a replica whose lease had expired stops turns that others took over', async () => {
  const { engine, other, turns, answer, state } = await setting({ hears: false });
  state.isAway = true;
  const turn = await takeOver(other);
  await expect.poll(() => state.missedBeats).toBeGreaterThan(4);
  state.isAway = false;
  await expect.poll(() => turns[0]?.signal.aborted).toBe(true);
  expect(turns[0]?.signal.reason).toMatchObject({ stopCause: 'lost' });
  // Its caller waits for the replica that runs the turn now.
  await complete(other, turn);
  const outcome = await answer;
  expect('task' in outcome && outcome.task.value.status.state).toBe('TASK_STATE_COMPLETED');
  await engine.stop();
});

test('a turn whose task was ended by another replica stops when its process is notified', async () => {
  const { engine, other, turns, answer } = await setting({ hears: true });
  await complete(other, await takeOver(other));
  await answer;
  expect(turns[0]?.signal.reason).toBeInstanceOf(TurnStopped);
  await engine.stop();
});

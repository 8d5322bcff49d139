import { expect, test } from 'vitest';
import { intercepted, type Interceptors } from '../../test/support/intercepted-store.ts';
import { agent, type Agent, completed, type Turn } from '../agents/index.ts';
import { Json, LegateError, message } from '../protocol/index.ts';
import { openMemoryReplicas, type Store, type TurnRecord } from '../store/index.ts';
import { type Call, Engine, TurnStopped } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };
const request = { message: message('hi', { contextId: 'c' }) };

function gate(): { open: () => void; opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
}

function replicas(interceptors: Interceptors = {}): { mine: Store; other: Store } {
  const [mine, other] = openMemoryReplicas(2, { clock });
  if (mine === undefined || other === undefined) throw new Error('expected two stores');
  return { mine: intercepted(mine, interceptors), other };
}

/** Works until it is told to end. */
function slow(): { agent: Agent; turns: Turn[]; end: () => void } {
  const { opened, open } = gate();
  const turns: Turn[] = [];
  const made = agent({ name: 'slow' }, async function* (turn) {
    turns.push(turn);
    await opened;
    yield completed();
  });
  return { agent: made, turns, end: open };
}

/** The clock of the stores; far ahead, every lease has expired. */
const clock = { ahead: 0, now: () => Date.now() + clock.ahead };

/** What another replica can take over when it takes us for dead. */
function takeOver(store: Store): Promise<readonly TurnRecord[]> {
  clock.ahead = 60_000;
  const taken = store.takeOver({ agent: 'slow', replica: 'other', limit: 10 });
  clock.ahead = 0;
  return taken;
}

test('a replica shows that it lives for as long as it drains', async () => {
  let beats = 0;
  const { mine } = replicas({
    heartbeat: (go) => {
      beats += 1;
      return go();
    },
  });
  const { agent: made, turns, end } = slow();
  const engine = await Engine.start({ agent: made, store: mine, leaseMs: 30 });
  const answer = engine.send(request, call);
  await expect.poll(() => turns.length).toBe(1);
  const drained = engine.drain({ graceMs: 60_000 });
  const before = beats;
  await expect.poll(() => beats).toBeGreaterThan(before + 2);
  end();
  await drained;
  await engine.stop();
  expect(await answer).toMatchObject({
    task: { value: { status: { state: 'TASK_STATE_COMPLETED' } } },
  });
});

test('a process that stops waits for a turn that it is taking over, and gives it back as it was', async () => {
  const { opened, open } = gate();
  let isHeld = false;
  const { mine, other } = replicas({
    takeOver: async (go) => {
      const taken = await go();
      if (taken.length > 0) {
        isHeld = true;
        await opened;
      }
      return taken;
    },
  });
  const { agent: made, turns } = slow();
  const engine = await Engine.start({ agent: made, store: mine, leaseMs: 30 });
  await leaveTurn(other);
  await expect.poll(() => isHeld).toBe(true);
  let isStopped = false;
  const stopped = engine.stop().then(() => {
    isStopped = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(isStopped).toBe(false);
  open();
  await stopped;
  expect(turns).toEqual([]);
  expect(await takeOver(other)).toMatchObject([{ taskId: 't', attempt: 1 }]);
});

test('a message admitted during shutdown is left to other replicas', async () => {
  const { opened, open } = gate();
  let isHeld = false;
  const { mine, other } = replicas({
    admit: async (go) => {
      const outcome = await go();
      isHeld = true;
      await opened;
      return outcome;
    },
  });
  const { agent: made, turns } = slow();
  const engine = await Engine.start({ agent: made, store: mine });
  const gone = new AbortController();
  const answer = engine.send(request, { ...call, signal: gone.signal });
  await expect.poll(() => isHeld).toBe(true);
  const stopped = engine.stop();
  // The grace time of 0 is over before the admission is.
  await new Promise((resolve) => setTimeout(resolve, 1));
  open();
  await stopped;
  expect(turns).toEqual([]);
  expect(await takeOver(other)).toMatchObject([{ attempt: 1 }]);
  gone.abort(new Error('gone'));
  await expect(answer).rejects.toThrow('gone');
  await expect(engine.send(request, call)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('an agent whose lease was lost is stopped when its conversation continues on this replica', async () => {
  const { mine, other } = replicas({ watch: () => () => {} });
  const { agent: made, turns, end } = slow();
  const engine = await Engine.start({ agent: made, store: mine });
  const first = engine.send(request, call);
  await expect.poll(() => turns.length).toBe(1);
  // Another replica takes us for dead and fails the task; no notice of it comes.
  const [taken] = await takeOver(other);
  if (taken === undefined) throw new Error('expected a turn');
  await failTask(other, taken);
  const second = engine.send({ message: message('again', { contextId: 'c' }) }, call);
  await expect.poll(() => turns.length).toBe(2);
  expect(turns.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  expect(turns[0]?.signal.reason).toBeInstanceOf(TurnStopped);
  end();
  await Promise.all([first, second]);
  await engine.stop();
});

async function leaveTurn(store: Store): Promise<void> {
  const outcome = await store.admit({
    agent: 'slow',
    owner: 'o',
    key: 'k',
    taskId: 't',
    contextId: 'c',
    replica: 'dead',
    now: 0,
    request: Json.of({}),
    task: Json.of({
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [message('left behind')],
    }),
    maxContexts: 0,
  });
  if (outcome.kind !== 'admitted') throw new LegateError('INTERNAL', outcome.kind);
  await store.release({ id: outcome.turn.id, replica: 'dead' });
}

async function failTask(store: Store, { id, taskId }: TurnRecord): Promise<void> {
  const status = { state: 'TASK_STATE_FAILED' } as const;
  const body = Json.of({ statusUpdate: { taskId, contextId: 'c', status } });
  const outcome = await store.append({
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
  if (outcome.kind !== 'appended') throw new LegateError('INTERNAL', outcome.kind);
}

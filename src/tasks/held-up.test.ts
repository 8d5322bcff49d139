import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent, inputRequired, textOf } from '../agents/index.ts';
import { artifact, Json, type JsonValue, message, type Task } from '../protocol/index.ts';
import { openMemoryReplicas, type Store } from '../store/index.ts';
import { type Call, Engine, type SendOutcome } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };

function two(): [Store, Store] {
  const [mine, other] = openMemoryReplicas(2);
  if (mine === undefined || other === undefined) throw new Error('expected two stores');
  return [mine, other];
}

function gate(): { open: () => void; opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
}

function taskOf(outcome: SendOutcome): Task {
  if (!('task' in outcome)) throw new Error('expected a task');
  return outcome.task.value;
}

test('a follow-up that waits for its turn makes the task working, and is noted once when it is handed over', async () => {
  const [mine, other] = two();
  const { opened, open } = gate();
  const asking = agent({ name: 'asking', onInterrupted: 'run-again' }, async function* (turn) {
    if (textOf(turn.message) === 'hold') await opened;
    if (!turn.isContinuation) yield inputRequired('?');
  });
  const engine = await Engine.start({ agent: asking, store: mine, maxRunningTurns: 1 });
  const { id } = taskOf(await engine.send({ message: message('ask', { contextId: 'a' }) }, call));
  const held = engine.send({ message: message('hold', { contextId: 'b' }) }, call);
  await expect.poll(() => engine.runningTurns).toBe(1);
  const followUp = message('more', { contextId: 'a', taskId: id });
  const configuration = { returnImmediately: true };
  const left = taskOf(await engine.send({ message: followUp, configuration }, call));
  // It has the message: to continue asking would look like the answer to it.
  expect(left.status.state).toBe('TASK_STATE_WORKING');
  const drained = engine.drain({ graceMs: 60_000 });
  open();
  await drained;
  await held;
  await engine.stop();
  const heir = await Engine.start({ agent: asking, store: other });
  await expect
    .poll(async () => (await heir.getTask({ id }, call)).value.status.state)
    .toBe('TASK_STATE_COMPLETED');
  const { history = [] } = (await heir.getTask({ id }, call)).value;
  expect(history.filter(({ messageId }) => messageId === followUp.messageId)).toHaveLength(1);
  await heir.stop();
});

test('a process that was held up does not end the questions of later turns', async () => {
  const [inner, other] = two();
  const { opened, open } = gate();
  let isHeld = false;
  const mine = intercepted(inner, {
    // It looks for questions to answer, and hears of nothing for a long time.
    list: async (go) => {
      isHeld = true;
      await opened;
      return go();
    },
    heartbeat: () => Promise.resolve(),
    watch: () => () => {},
  });
  const asking = agent(
    { name: 'asking', supersedes: true, onInterrupted: 'run-again' },
    async function* () {
      yield inputRequired('?');
    },
  );
  const slow = await Engine.start({ agent: asking, store: mine, leaseMs: 60_000 });
  const first = slow.send({ message: message('first', { contextId: 'c' }) }, call);
  await expect.poll(() => isHeld).toBe(true);
  const heir = await Engine.start({ agent: asking, store: other, leaseMs: 30 });
  const page = (): Promise<readonly Task[]> =>
    heir.listTasks({ contextId: 'c' }, call).then(({ tasks }) => tasks);
  await expect
    .poll(async () => (await page()).map(({ status }) => status.state))
    .toEqual(['TASK_STATE_INPUT_REQUIRED']);
  const later = taskOf(await heir.send({ message: message('later', { contextId: 'c' }) }, call));
  expect(later.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  open();
  await first;
  await slow.stop();
  const task = (await heir.getTask({ id: later.id }, call)).value;
  expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  await heir.stop();
});

test('the turn behind one that failed with its replica runs once, however late the store answers', async () => {
  const [inner, other] = two();
  const { opened, open } = gate();
  let isHeld = false;
  let looks = 0;
  const mine = intercepted(inner, {
    append: async (go, { state }) => {
      const outcome = await go();
      if (state === 'TASK_STATE_FAILED') {
        isHeld = true;
        await opened;
      }
      return outcome;
    },
    takeOver: async (go) => {
      const turns = await go();
      if (isHeld) looks += 1;
      return turns;
    },
  });
  for (const taskId of ['first', 'second']) await leaveTurn(other, taskId);
  const begun: string[] = [];
  const failing = agent({ name: 'failing', onInterrupted: 'fail' }, async function* (turn) {
    begun.push(turn.taskId);
    await opened;
    yield artifact('done');
  });
  const engine = await Engine.start({ agent: failing, store: mine, leaseMs: 30 });
  await expect.poll(() => looks).toBeGreaterThan(3);
  open();
  await expect
    .poll(async () => (await other.load('second'))?.state, { timeout: 5_000 })
    .toBe('TASK_STATE_COMPLETED');
  await engine.stop();
  expect(begun).toEqual(['second']);
});

/** A turn of a replica that is no more; the second of them waits behind the first. */
async function leaveTurn(store: Store, taskId: string): Promise<void> {
  const request = { caller: call.caller, acceptedOutputModes: [], extensions: [] };
  await store.admit({
    agent: 'failing',
    owner: 'o',
    key: 'k',
    taskId,
    contextId: 'c',
    replica: 'dead',
    now: 0,
    request: Json.of(request as unknown as JsonValue),
    task: Json.of({
      id: taskId,
      contextId: 'c',
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [message('left behind')],
    }),
    maxContexts: 0,
  });
}

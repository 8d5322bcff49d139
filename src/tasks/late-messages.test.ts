import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent, type Agent, inputRequired } from '../agents/index.ts';
import {
  Json,
  LegateError,
  type Message,
  message,
  type StreamResponse,
  type Task,
} from '../protocol/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../store/index.ts';
import { type Call, Engine } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof LegateError) return error.code;
    throw error;
  }
  return 'no error';
}

/** Asks first, then works until it is told to end. */
function asking(): { agent: Agent; begun: Promise<void>; end: () => void } {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const made = agent({ name: 'asking' }, async function* (turn) {
    if (!turn.isContinuation) return yield inputRequired('Which?');
    begun.resolve();
    await ended.promise;
  });
  return { agent: made, begun: begun.promise, end: () => ended.resolve() };
}

function start(declared: Agent, store: Store): Promise<Engine> {
  return Engine.start({ agent: declared, store, cancelGraceMs: 10 });
}

async function ask(engine: Engine): Promise<Task> {
  const outcome = await engine.send({ message: message('hi', { contextId: 'c' }) }, call);
  if (!('task' in outcome)) throw new Error('expected a task');
  return outcome.task.value;
}

function followUp(task: Task, messageId: string): Message {
  return message(messageId, { taskId: task.id, contextId: task.contextId, messageId });
}

test('a repeated message that came too late is refused again, not answered with the task', async () => {
  const { agent: made, begun, end } = asking();
  const engine = await start(made, openMemory());
  const task = await ask(engine);
  const first = engine.send({ message: followUp(task, 'first') }, call);
  await begun;
  const second = engine.send({ message: followUp(task, 'second') }, call);
  // The second waits behind the first, which completes the task.
  const codes = Promise.all([codeOf(first), codeOf(second)]);
  end();
  expect(await codes).toEqual(['no error', 'UNSUPPORTED_OPERATION']);
  const again = (id: string) => codeOf(engine.send({ message: followUp(task, id) }, call));
  expect(await again('first')).toBe('no error');
  expect(await again('second')).toBe('UNSUPPORTED_OPERATION');
  await engine.stop();
});

test('a message that loses to a cancel is refused, also where its sender does not wait', async () => {
  const [mine, other] = openMemoryReplicas(2);
  if (mine === undefined || other === undefined) throw new Error('expected two stores');
  const { agent: made } = asking();
  let task: Task | undefined;
  const store = intercepted(mine, {
    append: async (go, append) => {
      // The task is cancelled elsewhere before the turn has written anything.
      if (task !== undefined && append.taskId === task.id) await cancel(other, task.id);
      return go();
    },
  });
  const engine = await start(made, store);
  task = await ask(engine);
  const request = {
    message: followUp(task, 'late'),
    configuration: { returnImmediately: true },
  };
  expect(await codeOf(engine.send(request, call))).toBe('UNSUPPORTED_OPERATION');
  await engine.stop();
});

async function cancel(store: Store, taskId: string): Promise<void> {
  const record = await store.load(taskId);
  if (record === undefined || record.state === 'TASK_STATE_CANCELED') return;
  await store.append({
    taskId,
    version: record.version,
    events: [{ sequence: record.version + 1, body: Json.of(canceled(taskId)) }],
    state: 'TASK_STATE_CANCELED',
    statusTime: 0,
    replica: 'other',
    now: 0,
  });
}

function canceled(taskId: string): StreamResponse {
  return {
    statusUpdate: { taskId, contextId: 'c', status: { state: 'TASK_STATE_CANCELED' } },
  };
}

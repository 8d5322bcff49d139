import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { Json, LegateError, type Message, type Task } from '../protocol/index.ts';
import { type Append, openMemory, type Store, type TurnRecord } from '../store/index.ts';
import { Hub } from './log-reader.ts';
import { LiveTask } from './live-task.ts';
import { systemScheduler } from './scheduler.ts';
import { statusEvent } from './agent-events.ts';
import { TaskWriter, TurnLost } from './task-writer.ts';

const replica = 'r1';

/** Stands between the writer and its store: sees every append, and may get in its way. */
class Gate {
  readonly appends: Append[] = [];
  before: () => Promise<void> = async () => {};
  after: () => Promise<void> = async () => {};

  over(store: Store): Store {
    return intercepted(store, {
      append: async (go, append) => {
        this.appends.push(append);
        await this.before();
        const outcome = await go();
        await this.after();
        return outcome;
      },
    });
  }
}

interface Setting {
  readonly store: Store;
  readonly gate: Gate;
  readonly writer: TaskWriter;
  readonly turn: TurnRecord;
  readonly emit: (state: 'TASK_STATE_WORKING' | 'TASK_STATE_COMPLETED') => void;
}

async function setting(): Promise<Setting> {
  const store = openMemory();
  const task: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } };
  const admitted = await store.admit({
    agent: 'agent',
    owner: 'owner',
    key: 'k',
    taskId: 't',
    contextId: 'c',
    replica,
    now: 0,
    request: Json.of({}),
    task: Json.of(task),
    maxContexts: 0,
  });
  if (admitted.kind !== 'admitted') throw new Error(admitted.kind);
  const gate = new Gate();
  const writer = new TaskWriter({
    task: new LiveTask(task, 1),
    snapshotVersion: 1,
    store: gate.over(store),
    hub: new Hub(),
    scheduler: { ...systemScheduler, after: (_delay, run) => systemScheduler.after(0, run) },
    replica,
    turnId: admitted.turn.id,
    onCancelRequested: () => {},
    onLost: () => {},
    onDeliveries: () => {},
  });
  const emit: Setting['emit'] = (state) =>
    writer.emit(statusEvent(writer.task, state, {}, systemScheduler));
  return { store, gate, writer, turn: admitted.turn, emit };
}

const storeFailed = async (): Promise<never> => {
  throw new LegateError('STORE_FAILED', 'the answer was lost');
};

test('the end of a turn is one write with the context, even while a caller waits for earlier events', async () => {
  const { store, gate, writer, emit } = await setting();
  emit('TASK_STATE_WORKING');
  const flushed = writer.flush();
  emit('TASK_STATE_COMPLETED');
  const { written } = writer.end({
    context: { owner: 'owner', contextId: 'c', value: Json.of(1) },
  });
  await Promise.all([flushed, written]);
  expect(gate.appends.map(({ events, endsTurn }) => [events.length, endsTurn])).toEqual([
    [1, false],
    [1, true],
  ]);
  expect((await store.loadContext('owner', 'c'))?.value?.value).toBe(1);
});

test('waiting for emitted events waits for the end that is written with them', async () => {
  const { store, gate, writer, emit } = await setting();
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.before = () => promise;
  emit('TASK_STATE_COMPLETED');
  const { written } = writer.end({});
  const flushed = writer.flush().then(() => store.load('t'));
  resolve();
  expect((await flushed)?.state).toBe('TASK_STATE_COMPLETED');
  await written;
});

test('an end whose answer was lost is recognised as stored', async () => {
  const { gate, writer, emit } = await setting();
  gate.after = () => {
    gate.after = async () => {};
    return storeFailed();
  };
  emit('TASK_STATE_COMPLETED');
  const { task, written } = writer.end({});
  await written;
  expect(task.value.status.state).toBe('TASK_STATE_COMPLETED');
  expect(gate.appends).toHaveLength(2);
});

test('a plain message whose answer was lost is recognised as stored', async () => {
  const { store, gate, writer } = await setting();
  gate.after = () => {
    gate.after = async () => {};
    return storeFailed();
  };
  const reply = Json.of<Message>({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] });
  await writer.end({ reply }).written;
  expect(await store.load('t')).toBeUndefined();
});

test('an end that another replica started the same way is not taken for our own', async () => {
  const { store, gate, writer, turn, emit } = await setting();
  const chunk = { artifactId: 'a', parts: [{ text: 'the same' }] };
  const artifactUpdate = { taskId: 't', contextId: 'c', artifact: chunk };
  gate.before = async () => {
    gate.before = async () => {};
    // Our write is lost; another replica takes the turn over and is at work on it.
    await store.release({ id: turn.id, replica });
    await store.takeOver({ agent: 'agent', replica: 'r2', limit: 1 });
    await store.append({
      taskId: 't',
      version: 1,
      events: [{ sequence: 2, body: Json.of({ artifactUpdate }) }],
      state: 'TASK_STATE_SUBMITTED',
      statusTime: 0,
      turn: { id: turn.id, replica: 'r2' },
      replica: 'r2',
      now: 1,
    });
    return storeFailed();
  };
  writer.emit({ artifactUpdate });
  emit('TASK_STATE_COMPLETED');
  await expect(writer.end({}).written).rejects.toThrow(TurnLost);
});

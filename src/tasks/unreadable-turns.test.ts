import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent } from '../agents/index.ts';
import { artifact, Json, type JsonValue, message } from '../protocol/index.ts';
import { openMemoryReplicas, type Store, type TurnRecord } from '../store/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { anonymous, Engine } from './index.ts';

const caller = { ...anonymous };
const ready = { caller, acceptedOutputModes: [], extensions: [] };
/** The request of a turn as a later version of Legate might store it. */
const newer = { v: 2, from: caller };

const answering = agent({ name: 'answering', onInterrupted: 'run-again' }, async function* () {
  yield artifact('done');
});

function two(): [Store, Store] {
  const [mine, other] = openMemoryReplicas(2);
  if (mine === undefined || other === undefined) throw new Error('expected two stores');
  return [mine, other];
}

/** A turn that waits to be taken over. */
async function leaveTurn(store: Store, taskId: string, request: JsonValue): Promise<void> {
  const replica = 'left';
  const admitted = await store.admit({
    agent: answering.name,
    owner: 'o',
    key: taskId,
    taskId,
    contextId: taskId,
    replica,
    now: 0,
    request: Json.of(request),
    task: Json.of({
      id: taskId,
      contextId: taskId,
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [message('left behind')],
    }),
    maxContexts: 0,
  });
  if (admitted.kind === 'admitted') await store.release({ id: admitted.turn.id, replica });
}

test('turns of a newer version do not keep others from running, and a newer replica can run them', async () => {
  const [inner, other] = two();
  for (let index = 0; index < 250; index += 1) await leaveTurn(other, `newer-${index}`, newer);
  await leaveTurn(other, 'healthy', ready);
  let takeovers = 0;
  const mine = intercepted(inner, {
    takeOver: (go) => {
      takeovers += 1;
      return go();
    },
  });
  const engine = await Engine.start({ agent: answering, store: mine, logger: silentLogger });
  expect(takeovers).toBe(3);
  await expect.poll(async () => (await other.load('healthy'))?.state).toBe('TASK_STATE_COMPLETED');
  await engine.drain();
  const query = { agent: answering.name, replica: 'newer', limit: 1_000 };
  const found: readonly TurnRecord[] = await other.takeOver(query);
  expect(found).toHaveLength(250);
  expect(new Set(found.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  await engine.stop();
});

test('a turn of a newer version is released after each takeover', async () => {
  const [mine, other] = two();
  await leaveTurn(other, 'newer', newer);
  const options = { agent: answering, store: mine, leaseMs: 30, logger: silentLogger };
  const engine = await Engine.start(options);
  const query = { agent: answering.name, replica: 'newer', limit: 1 };
  await expect.poll(() => other.takeOver(query)).toMatchObject([{ taskId: 'newer', attempt: 1 }]);
  await engine.stop();
});

test('a command whose request is invalid ends without effect, and the queue behind it continues', async () => {
  const [mine, other] = two();
  const request = Json.of<JsonValue>({ command: 'count' });
  const command = { agent: answering.name, key: 'healthy', id: 'c', replica: 'left', request };
  await other.commands.queue(command);
  await leaveTurn(other, 'healthy', ready);
  const engine = await Engine.start({ agent: answering, store: mine, logger: silentLogger });
  await expect.poll(async () => (await other.load('healthy'))?.state).toBe('TASK_STATE_COMPLETED');
  await engine.stop();
});

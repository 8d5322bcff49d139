import { expect, test } from 'vitest';
import { intercepted } from '../../test/support/intercepted-store.ts';
import { agent, inputRequired } from '../agents/index.ts';
import { LegateError, message } from '../protocol/index.ts';
import { openMemory, openMemoryReplicas } from '../store/index.ts';
import { type Call, Engine } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };
const request = { message: message('hi', { contextId: 'c' }) };
const asking = agent({ name: 'asking' }, async function* () {
  yield inputRequired('Which?');
});

test('a cancellation that arrives while the turn ends with a question takes effect without a waiting caller', async () => {
  const inner = openMemory();
  let failures = 1;
  const store = intercepted(inner, {
    append: async (go, { taskId, state }) => {
      if (state === 'TASK_STATE_INPUT_REQUIRED') await inner.requestCancel(taskId);
      failures -= state === 'TASK_STATE_CANCELED' ? 1 : 0;
      // Not even a store that is away for a moment stands in its way.
      if (state === 'TASK_STATE_CANCELED' && failures === 0) {
        throw new LegateError('STORE_FAILED', 'away');
      }
      return go();
    },
  });
  const engine = await Engine.start({ agent: asking, store });
  const outcome = await engine.send(request, call);
  if (!('task' in outcome)) throw new Error('expected a task');
  const { id, status } = outcome.task.value;
  expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  await expect
    .poll(async () => (await engine.getTask({ id }, call)).value.status.state)
    .toBe('TASK_STATE_CANCELED');
  await engine.stop();
});

test('a caller that waits for a cancellation completes it when the replica of the turn is gone', async () => {
  const [inner] = openMemoryReplicas(1);
  if (inner === undefined) throw new Error('expected a store');
  let wishes = 0;
  const store = intercepted(inner, {
    requestCancel: async (go) => {
      const wish = await go();
      wishes += 1;
      // At first a turn runs elsewhere, which then ends with a question; its process dies.
      return wishes === 1 ? { running: true, queued: false } : wish;
    },
  });
  const engine = await Engine.start({ agent: asking, store, pollIntervalMs: 5 });
  const outcome = await engine.send(request, call);
  if (!('task' in outcome)) throw new Error('expected a task');
  const canceled = await engine.cancelTask({ id: outcome.task.value.id }, call);
  expect(canceled.value.status.state).toBe('TASK_STATE_CANCELED');
  await engine.stop();
});

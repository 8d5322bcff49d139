import { expect, test } from 'vitest';
import { Json, type StreamResponse } from '../../protocol/index.ts';
import { admit, append, ending } from '../behaviour/fixtures.contract.ts';
import { emptyDatabase, query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';

function status(taskId: string, contextId: string, text: string): Json<StreamResponse> {
  return Json.of<StreamResponse>({
    statusUpdate: {
      taskId,
      contextId,
      status: {
        state: 'TASK_STATE_COMPLETED',
        message: { messageId: 'm', role: 'ROLE_AGENT', taskId, contextId, parts: [{ text }] },
      },
    },
  });
}

test.each([
  ['plain', '01a1f05d-47c9-7510-9ab8-a0ef02ec0c54', '01a1f05d-47c9-7511-8d87-65f065f303aa'],
  ['the same for task and context', 'same', 'same'],
  ['that need escapes', 'a"b\\c', 'é\u0001\u0002\n'],
  ['of other syntax', '$&', '","taskId":"'],
  ['empty contexts', 't', ''],
])('events come back as they were written, with names %s', async (_, taskId, contextId) => {
  const url = await emptyDatabase();
  const store = await openPostgres({ url });
  try {
    const { turn } = await admit(store, { taskId, contextId });
    const foreign = status('another', 'another', `"taskId":"${taskId}" "contextId":"${contextId}"`);
    const events = [status(taskId, contextId, 'hello'), foreign].map((body, index) => ({
      sequence: index + 2,
      body,
    }));
    await append(store, ending(turn, 1, 'TASK_STATE_COMPLETED', { events }));
    const texts = events.map(({ body }) => body.text);
    const read = await store.readEvents(taskId, 1, 10);
    expect(read.map(({ body }) => body.text)).toEqual(texts);
    const tail = (await store.load(taskId))?.tail ?? [];
    expect(tail.map(({ body }) => body.text)).toEqual(texts);
    // Replicas of the version before read this view.
    const view = 'SELECT body FROM legate.events WHERE sequence > 1 ORDER BY sequence';
    expect((await query<{ body: string }>(url, view)).map(({ body }) => body)).toEqual(texts);
  } finally {
    await store.close();
  }
});

test('events after the first one are stored without the names of their task and context', async () => {
  const url = await emptyDatabase();
  const store = await openPostgres({ url });
  try {
    const taskId = 'the-name-of-the-task';
    const contextId = 'the-name-of-the-context';
    const { turn } = await admit(store, { taskId, contextId });
    const events = [{ sequence: 2, body: status(taskId, contextId, 'hello') }];
    await append(store, ending(turn, 1, 'TASK_STATE_COMPLETED', { events }));
    const stored = `SELECT body ~ 'the-name' AS named FROM legate.event_batches ORDER BY sequence`;
    expect(await query(url, stored)).toEqual([{ named: true }, { named: false }]);
  } finally {
    await store.close();
  }
});

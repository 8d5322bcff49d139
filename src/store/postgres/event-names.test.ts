import { expect, test } from 'vitest';
import { Json, type StreamResponse, type Task } from '../../protocol/index.ts';
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
    const first = await store.readEvents(taskId, 0, 1);
    const all = [...first.map(({ body }) => body.text), ...texts];
    // Replicas of former versions read these views.
    const bodies = async (view: string): Promise<string[]> => {
      const text = `SELECT body FROM legate.${view} ORDER BY sequence`;
      return (await query<{ body: string }>(url, text)).map(({ body }) => body);
    };
    expect(await bodies('events')).toEqual(all);
    const [start, ...batches] = await bodies('event_batches');
    expect(start).toBe(all[0]);
    const named = batches
      .join('\n')
      .replaceAll('\u0001', () => `"taskId":"${taskId}"`)
      .replaceAll('\u0002', () => `"contextId":"${contextId}"`);
    expect(named.split('\n')).toEqual(texts);
  } finally {
    await store.close();
  }
});

test('the names of a task and its context are stored once, and phrases not at all', async () => {
  const url = await emptyDatabase();
  const store = await openPostgres({ url });
  try {
    const taskId = 'the-name-of-the-task';
    const contextId = 'the-name-of-the-context';
    const task = Json.of<Task>({
      id: taskId,
      contextId,
      status: { state: 'TASK_STATE_SUBMITTED', timestamp: '2026-11-19T18:03:43.292Z' },
      history: [{ messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], contextId, taskId }],
    });
    const { turn } = await admit(store, { taskId, contextId, task });
    const record = await store.load(taskId);
    expect(record?.snapshot.body.text).toBe(task.text);
    const events = [{ sequence: 2, body: status(taskId, contextId, 'hello') }];
    await append(store, ending(turn, 1, 'TASK_STATE_COMPLETED', { events }));
    const stored = `SELECT (length(body) - length(replace(body, 'the-name', ''))) / 8 AS names, body ~ 'status|parts|ROLE' AS spelt
      FROM legate.event_rows ORDER BY sequence`;
    expect(await query(url, stored)).toEqual([
      { names: 2, spelt: false },
      { names: 0, spelt: false },
    ]);
    const views = 'SELECT body FROM legate.events ORDER BY sequence';
    const bodies = (await query<{ body: string }>(url, views)).map(({ body }) => body);
    expect(bodies).toEqual([`{"task":${task.text}}`, events[0]?.body.text]);
  } finally {
    await store.close();
  }
});

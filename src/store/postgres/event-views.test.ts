import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Json, type StreamResponse, type Task } from '../../protocol/index.ts';
import { admit, append, ending } from '../behaviour/fixtures.contract.ts';
import { phrases } from '../phrases.ts';
import { emptyDatabase, query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';

/** What users write: characters that stand for phrases, escaped or not, and phrases themselves. */
const text = fc
  .array(
    fc.constantFrom(
      ...phrases.keys(),
      ...phrases.values(),
      '\0',
      '\u0001',
      '\u0002',
      '\n',
      '\\',
      '"',
      '\\u0000',
      '\\u0003',
      '\ud800',
      '$&',
      'é',
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));
const id = fc.constantFrom('same', 'a"b\\c', '$1', 'é,', '{"task":{', '\\u0003');

interface Case {
  readonly contextId: string;
  readonly texts: readonly string[];
}

const cases = fc.array(
  fc.record<Case>({ contextId: id, texts: fc.array(text, { minLength: 1, maxLength: 20 }) }),
  { minLength: 40, maxLength: 40 },
);

/** Messages in both orders of names, and data that looks like a message. */
function messageOf(taskId: string, contextId: string, text: string) {
  const data = { taskId, contextId, status: { state: 'TASK_STATE_WORKING', timestamp: text } };
  const names = text.length % 2 === 0 ? { taskId, contextId } : { contextId, taskId };
  return { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ text }, { data }], ...names };
}

test('logs come back as they were written, from the store and from the views of former versions', async () => {
  const url = await emptyDatabase();
  const store = await openPostgres({ url });
  const run = async (taskId: string, { contextId, texts }: Case): Promise<void> => {
    const task = Json.of<Task>({
      id: taskId,
      contextId,
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [messageOf(taskId, contextId, texts[0] ?? '')],
    });
    const { turn } = await admit(store, { taskId, contextId, key: taskId, task });
    const events = texts.map((each, index) => ({
      sequence: index + 2,
      body: Json.of<StreamResponse>({
        statusUpdate: {
          taskId,
          contextId,
          status: {
            state: 'TASK_STATE_WORKING',
            timestamp: '2026-11-19T18:03:43.292Z',
            message: messageOf(taskId, contextId, each),
          },
        },
      }),
    }));
    await append(store, ending(turn, 1, 'TASK_STATE_COMPLETED', { events }));
    const written = [`{"task":${task.text}}`, ...events.map(({ body }) => body.text)];
    const read = await store.readEvents(taskId, 0, 100);
    expect(read.map(({ body }) => body.text)).toEqual(written);
    const bodies = async (view: string): Promise<string[]> => {
      const select = `SELECT body FROM legate.${view} JOIN legate.tasks ON number = task
        WHERE id = $1 ORDER BY sequence`;
      return (await query<{ body: string }>(url, select, [taskId])).map(({ body }) => body);
    };
    expect(await bodies('events')).toEqual(written);
    // The version that reads these rows puts the names in itself.
    const rows = (await bodies('event_batches')).flatMap((body) => body.split('\n'));
    const named = rows.map((row) =>
      row
        .replaceAll('\u0001', () => `"taskId":"${taskId}"`)
        .replaceAll('\u0002', () => `"contextId":"${contextId}"`),
    );
    expect(named).toEqual(written);
  };
  try {
    const [drawn = []] = fc.sample(cases, { numRuns: 1, seed: 1 });
    for (const [index, each] of drawn.entries()) await run(`t${index}-${each.contextId}`, each);
  } finally {
    await store.close();
  }
}, 60_000);

test('the views spell every phrase', async () => {
  const url = await emptyDatabase();
  // Here U+0001 and U+0002 stand for the name and its key, so the phrase of both is in files of SQLite only.
  const spelt = [...phrases].filter(([, phrase]) => !phrase.includes('\u0001'));
  const spell = 'SELECT legate.without_phrases($1) AS text';
  const [row] = await query<{ text: string }>(url, spell, [spelt.map(([mark]) => mark).join('\n')]);
  expect(row?.text.split('\n')).toEqual(spelt.map(([, phrase]) => phrase));
});

import { expect, test } from 'vitest';
import { postgres } from '../../../test/support/postgres.ts';
import { alice, append, carryOn, ending } from '../behaviour/fixtures.contract.ts';
import { query } from './database.contract.ts';
import { migrate, readMigrations } from './migrations.ts';
import { openPostgres } from './open-postgres.ts';

const steps = readMigrations();
/** The first version that keeps the time of contexts; those of versions before count as written at the migration. */
const contextRetention = 6;
const dayMs = 86_400_000;

const logs = [
  '{"task":{"id":"ID","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}',
  String.raw`{"statusUpdate":{"taskId":"ID","contextId":"c","text":"\u0000 \ud800"}}`,
];

/** An ended and an open task of one context; `legate.tasks` and `legate.events` are views later. */
const fill = `
  INSERT INTO legate.tasks (id, agent, owner, context_id, state, status_time, version)
  VALUES ('ended', 'agent', '${alice}', 'c', 3, 1000, 2), ('asks', 'agent', '${alice}', 'c', 6, 2000, 2);
  INSERT INTO legate.events (task, sequence, body)
  SELECT number, 1, replace('${logs[0]}', 'ID', id) FROM legate.tasks;
  INSERT INTO legate.events (task, sequence, body)
  SELECT number, 2, replace('${logs[1]}', 'ID', id) FROM legate.tasks;
  INSERT INTO legate.context_log (context, sequence, body) SELECT number, 1, '"first"' FROM legate.contexts`;

function contextOf(version: number): string {
  const values = `'${alice}', 'c', '{"n":1}', 1`;
  return version < contextRetention
    ? `INSERT INTO legate.contexts (owner, context_id, value, log_length) VALUES (${values})`
    : `INSERT INTO legate.contexts (owner, context_id, value, log_length, written_until)
       VALUES (${values}, 0)`;
}

test.each(steps.slice(0, -1))('a database of the schema $name keeps what it has', async (step) => {
  const url = await (await postgres()).database();
  await migrate(url, steps.slice(0, step.version));
  await query(url, contextOf(step.version));
  await query(url, fill);
  const store = await openPostgres({ url });
  try {
    for (const id of ['ended', 'asks']) {
      const events = await store.readEvents(id, 0, 9);
      expect(events.map(({ body }) => body.text)).toEqual(
        logs.map((text) => text.replace('ID', id)),
      );
    }
    const page = await store.list({ owner: alice, limit: 9 });
    expect(page.records.map(({ id, version }) => [id, version])).toEqual([
      ['asks', 2],
      ['ended', 2],
    ]);
    const { turn } = await carryOn(store, { taskId: 'asks' });
    await append(store, ending(turn, 2));
    expect(await store.load('asks')).toMatchObject({ state: 'TASK_STATE_COMPLETED', version: 3 });
    expect((await store.loadContext(alice, 'c'))?.value?.value).toEqual({ n: 1 });
    expect((await store.readContextLog(alice, 'c')).map(({ value }) => value)).toEqual(['first']);
    const swept = await store.sweep({ retentionMs: 1, contextRetentionMs: dayMs, limit: 9 });
    expect(swept).toMatchObject({ tasks: 2, contexts: step.version < contextRetention ? 0 : 1 });
  } finally {
    await store.close();
  }
});

/** Backup and restore as docs/deploy.md describes them. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { postgres, postgresProgram } from '../../../test/support/postgres.ts';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { admit, alice, finishedTask, log } from '../behaviour/fixtures.contract.ts';
import { openPostgres } from './open-postgres.ts';

test('a dump taken while a replica runs restores tasks and events, and the copy continues', async () => {
  await using directory = await temporaryDirectory();
  const server = await postgres();
  const url = await server.database();
  const copy = await server.database();
  const dump = join(directory.path, 'legate.dump');
  const running = await openPostgres({ url });
  try {
    await finishedTask(running);
    execFileSync(postgresProgram('pg_dump'), ['-Fc', '-n', 'legate', '-f', dump, url]);
    execFileSync(postgresProgram('pg_restore'), ['-d', copy, dump]);
    const restored = await openPostgres({ url: copy });
    try {
      expect(await log(restored)).toEqual(await log(running));
      expect(await restored.list({ owner: alice, limit: 9 })).toMatchObject({ total: 1 });
      // Sequences were restored, too: a new task gets a place of its own.
      await admit(restored, { taskId: 'later' });
      expect(await restored.list({ owner: alice, limit: 9 })).toMatchObject({ total: 2 });
    } finally {
      await restored.close();
    }
  } finally {
    await running.close();
  }
});

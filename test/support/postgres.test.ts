import { Client } from 'pg';
import { expect, test } from 'vitest';
import { postgres } from './postgres.ts';

test('a test gets a database of its own on a real server', async () => {
  const server = await postgres();
  const [one, two] = [await server.database(), await server.database()];
  expect(one).not.toBe(two);
  const client = new Client({ connectionString: one });
  await client.connect();
  expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await client.end();
});

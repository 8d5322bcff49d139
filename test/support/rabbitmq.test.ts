import { Connection } from 'rabbitmq-client';
import { expect, test } from 'vitest';
import { rabbitMq } from './rabbitmq.ts';

test('a test gets a real broker', { timeout: 300_000 }, async () => {
  const { url } = await rabbitMq();
  const connection = new Connection(url);
  await connection.onConnect(20_000);
  expect(connection.ready).toBe(true);
  await connection.close();
});

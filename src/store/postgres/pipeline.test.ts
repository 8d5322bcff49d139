import { expect, test } from 'vitest';
import { emptyDatabase } from './database.contract.ts';
import { placeOf } from './link.ts';
import { TrafficCount } from './open-postgres.ts';
import { Pipeline } from './pipeline.ts';
import { badNetwork } from './proxy.contract.ts';

test('statements take the open connections while another one is broken', async () => {
  await using network = await badNetwork(await emptyDatabase());
  const pipeline = new Pipeline(placeOf({ url: network.url }), {
    connections: 2,
    waitMs: 60_000,
    answerMs: 60_000,
    traffic: new TrafficCount(),
  });
  try {
    await pipeline.open();
    network.cutOldest();
    await expect.poll(() => pipeline.connected).toBe(1);
    const one = { name: 'one', text: 'SELECT 1 AS n' };
    const reads = Array.from({ length: 10 }, () => pipeline.read(one, []));
    for (const rows of await Promise.all(reads)) expect(rows).toEqual([{ n: 1 }]);
  } finally {
    await pipeline.close();
  }
});

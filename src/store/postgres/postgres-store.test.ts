import { describeReplicas, describeStore } from '../store.contract.ts';
import { emptyDatabase } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';

describeStore('postgres', async () => openPostgres({ url: await emptyDatabase() }));
describeReplicas('postgres', async () => {
  const url = await emptyDatabase();
  return [await openPostgres({ url }), await openPostgres({ url })];
});

import { describeReplicas, describeStore } from '../store.contract.ts';
import { emptyDatabase, setDatabaseTime } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';

describeStore('postgres', async () => {
  const url = await emptyDatabase();
  const store = await openPostgres({ url });
  return { store, setTime: (time) => setDatabaseTime(url, time) };
});
describeReplicas('postgres', async () => {
  const url = await emptyDatabase();
  return [await openPostgres({ url }), await openPostgres({ url })];
});

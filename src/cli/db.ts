import { migrateStore, storeStatus } from '../store/index.ts';
import type { DbOptions } from './commands/operations.ts';
import { storeHere } from './endpoints.ts';
import { printReport } from './print.ts';
import { Progress } from './progress.ts';
import { usage } from './usage.ts';

export async function showStatus(url: string | undefined, options: DbOptions): Promise<void> {
  const address = await addressOf(url);
  using _progress = new Progress('Reading the schema version');
  const { current, latest, pending } = await storeStatus(address);
  const lines = [
    `schema version ${current} of ${latest}`,
    ...pending.map((name) => `pending: ${name}`),
  ];
  printReport({ current, latest, pending }, lines.join('\n'), options);
}

export async function migrateDatabase(url: string | undefined, options: DbOptions): Promise<void> {
  const address = await addressOf(url);
  using _progress = new Progress('Migrating the schema');
  const { pending } = await storeStatus(address);
  const { latest } = await migrateStore(address);
  const lines = [
    ...pending.map((name) => `applied: ${name}`),
    `schema version ${latest}: up to date`,
  ];
  printReport({ current: latest, latest, applied: pending }, lines.join('\n'), options);
}

async function addressOf(given: string | undefined): Promise<string> {
  const url = given ?? process.env['DATABASE_URL'];
  if (url !== undefined && url !== '') return url;
  const store = await storeHere();
  // Migrations need a dedicated session, which a pooler does not provide.
  if (store.type === 'postgres') return store.listenUrl ?? store.url;
  throw usage(
    'which database? Set DATABASE_URL, store: of endpoints.yml, or name it: legate db status postgres://host/name',
  );
}

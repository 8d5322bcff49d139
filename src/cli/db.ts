import { migrateStore, storeStatus } from '../store/index.ts';
import type { DbOptions } from './commands/operations.ts';
import { printReport } from './print.ts';
import { Progress } from './progress.ts';
import { usage } from './usage.ts';

export async function showStatus(url: string | undefined, options: DbOptions): Promise<void> {
  const address = addressOf(url);
  using progress = new Progress('Reading the schema version');
  const { current, latest, pending } = await storeStatus(address);
  progress.clear();
  const lines = [
    `schema version ${current} of ${latest}`,
    ...pending.map((name) => `pending: ${name}`),
  ];
  printReport({ current, latest, pending }, lines.join('\n'), options);
}

export async function migrateDatabase(url: string | undefined, options: DbOptions): Promise<void> {
  const address = addressOf(url);
  using progress = new Progress('Migrating the schema');
  const { pending } = await storeStatus(address);
  const { latest } = await migrateStore(address);
  progress.clear();
  const lines = [
    ...pending.map((name) => `applied: ${name}`),
    `schema version ${latest}: up to date`,
  ];
  printReport({ current: latest, latest, applied: pending }, lines.join('\n'), options);
}

function addressOf(url: string | undefined): string {
  const address = url ?? process.env['DATABASE_URL'];
  if (address !== undefined && address !== '') return address;
  throw usage(
    'which database? Set DATABASE_URL, or name it: legate db status postgres://host/name',
  );
}

import { migrateStore, storeStatus } from '../store/index.ts';
import type { DbOptions } from './commands/operations.ts';
import { Progress } from './progress.ts';
import { usage } from './usage.ts';

export async function showStatus(
  url: string | undefined,
  { json = false }: DbOptions,
): Promise<void> {
  const address = addressOf(url);
  using progress = new Progress('Reading the schema version');
  const { current, latest, pending } = await storeStatus(address);
  progress.clear();
  if (json) return console.log(JSON.stringify({ current, latest, pending }, undefined, 2));
  console.log(`schema version ${current} of ${latest}`);
  for (const name of pending) console.log(`pending: ${name}`);
}

export async function migrateDatabase(
  url: string | undefined,
  { json = false }: DbOptions,
): Promise<void> {
  const address = addressOf(url);
  using progress = new Progress('Migrating the schema');
  const { pending } = await storeStatus(address);
  const { latest } = await migrateStore(address);
  progress.clear();
  if (json)
    return console.log(JSON.stringify({ current: latest, latest, applied: pending }, undefined, 2));
  for (const name of pending) console.log(`applied: ${name}`);
  console.log(`schema version ${latest}: up to date`);
}

function addressOf(url: string | undefined): string {
  const address = url ?? process.env['DATABASE_URL'];
  if (address !== undefined && address !== '') return address;
  throw usage(
    'which database? Set DATABASE_URL, or name it: legate db status postgres://host/name',
  );
}

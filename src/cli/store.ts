import { resolve } from 'node:path';
import { LegateError } from '../protocol/index.ts';
import { maintainSqlite, type SqliteReport } from '../store/index.ts';
import type {
  StoreMigrateOptions,
  StoreOptions,
  StoreRestoreOptions,
} from './commands/operations.ts';
import { storeHere } from './endpoints.ts';
import { printReport } from './print.ts';
import { Progress } from './progress.ts';
import { usage } from './usage.ts';

/** Bytes per second that a migration rewrites on a slow disk, for the estimate. */
const migratedPerSecond = 20 * 1024 * 1024;

export async function backupStore(file: string, { store, json }: StoreOptions): Promise<void> {
  using _progress = new Progress('Copying');
  const { backupSqlite } = await maintainSqlite();
  const report = await backupSqlite(await sqlitePath(store), resolve(file));
  print(file, report, json);
}

export async function restoreStore(file: string, options: StoreRestoreOptions): Promise<void> {
  const { restoreSqlite } = await maintainSqlite();
  const path = await sqlitePath(options.store);
  const report = await restoreSqlite(resolve(file), path, { replaces: options.replace === true });
  print(path, report, options.json);
}

export async function checkStore({ store, json }: StoreOptions): Promise<void> {
  using _progress = new Progress('Checking');
  const { checkSqlite } = await maintainSqlite();
  const path = await sqlitePath(store);
  const report = checkSqlite(path);
  print(path, report, json);
  if (report.problems.length > 0) process.exitCode = 1;
}

export async function migrateStoreFile(options: StoreMigrateOptions): Promise<void> {
  const { checkSqlite, migrateSqlite } = await maintainSqlite();
  const path = await sqlitePath(options.store);
  const { version, latest, bytes, shrinks, problems } = checkSqlite(path);
  const [problem] = problems;
  if (problem !== undefined) {
    throw new LegateError(
      'STORE_FAILED',
      `store ${path} is damaged: ${problem}; restore a backup, it can't be migrated`,
    );
  }
  const say = (isMigrated: boolean, text: string, seconds = 0): void => {
    const facts = { store: path, version, latest, migrated: isMigrated, seconds };
    printReport(facts, text, options);
  };
  if (version >= latest && shrinks) return say(false, `schema version ${version}: up to date`);
  if (options.dryRun === true) {
    const seconds = Math.max(1, Math.ceil(bytes / migratedPerSecond));
    const text = `schema version ${version} of ${latest}; migrating takes up to about ${seconds} s`;
    return say(false, text, seconds);
  }
  migrateSqlite(path);
  say(true, `schema version ${latest}: migrated from ${version}`);
}

/** Prints a summary of a store file, and its problems. */
function print(file: string, report: SqliteReport, json = false): void {
  const { bytes, version, latest, tasks, contexts, problems } = report;
  const facts = { file, bytes, version, latest, tasks, contexts, problems };
  const damage = problems.map((problem) => `damaged: ${problem}`);
  printReport(facts, [`${file}: ${describe(report)}`, ...damage].join('\n'), { json });
}

async function sqlitePath(given: string | undefined): Promise<string> {
  const store = await storeHere(given);
  if (store.type === 'sqlite') return resolve(store.path);
  throw usage(
    'this command is for SQLite files; for PostgreSQL use pg_dump, pg_restore and "legate db", see docs/deploy.md',
  );
}

function describe({ bytes, version, latest, tasks, contexts, problems }: SqliteReport): string {
  const size =
    bytes < 1024 * 1024
      ? `${Math.ceil(bytes / 1024)} KiB`
      : `${Math.round(bytes / 1024 / 1024)} MiB`;
  const state = problems.length === 0 ? 'whole' : 'damaged';
  return `${size}, schema version ${version} of ${latest}, ${tasks} tasks, ${contexts} contexts, ${state}`;
}

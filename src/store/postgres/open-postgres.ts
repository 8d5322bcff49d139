import { LegateError } from '../../protocol/index.ts';
import { Connections } from './connections.ts';
import { migrate, migrationStatus } from './migrations.ts';
import { Notices } from './notices.ts';
import { placeOf, type PlaceOptions } from './place.ts';
import { PostgresStore } from './postgres-store.ts';

export interface PostgresOptions extends PlaceOptions {
  /** The most connections of this process: one each writes, listens and does the upkeep, the others read; at least 4. @default 5 */
  readonly maxConnections?: number;
  /** The longest a statement may take, in milliseconds. @default 15_000 */
  readonly statementTimeoutMs?: number;
  /** How long callers wait for a database that is away before they are refused, in milliseconds. @default 5_000 */
  readonly waitMs?: number;
  /** Brings the schema up to date; else one that is behind is refused. @default true */
  readonly migrates?: boolean;
}

/**
 * Opens the store in a PostgreSQL database, for any number of replicas at once. Every write that
 * resolved is as durable as the server's `synchronous_commit` says.
 *
 * Needs PostgreSQL 13 or newer, and connections of its own: a pooler must keep sessions apart.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const { maxConnections = 5, statementTimeoutMs = 15_000, waitMs = 5_000 } = options;
  if (!Number.isInteger(maxConnections) || maxConnections < 4) {
    throw new LegateError('CONFIGURATION_INVALID', 'store.maxConnections: must be 4 or more');
  }
  const place = placeOf(options, { statement_timeout: statementTimeoutMs });
  if (options.migrates === false) await checkSchema(options, place.name);
  else await migrate(options);
  const readConnections = maxConnections - 3;
  const connections = new Connections(place, { readConnections, waitMs, statementTimeoutMs });
  const notices = new Notices(place, connections.traffic);
  const store = new PostgresStore(connections, notices);
  try {
    await Promise.all([connections.open(), notices.open()]);
    await store.clock.measure();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

async function checkSchema(options: PlaceOptions, name: string): Promise<void> {
  const { current, latest, pending } = await migrationStatus(options);
  if (pending.length === 0) return;
  throw new LegateError(
    'STORE_VERSION',
    `store ${name}: its schema has version ${current}, and this program needs ${latest}; ` +
      'run the migrations: legate db migrate',
  );
}

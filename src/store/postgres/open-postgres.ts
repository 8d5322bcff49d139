import { LegateError } from '../../protocol/index.ts';
import { GroupCommit } from './group-commit.ts';
import { type Place, placeOf, type PlaceOptions } from './link.ts';
import { migrate, migrationStatus } from './migrations.ts';
import { Notices } from './notices.ts';
import { Pipeline } from './pipeline.ts';
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

/** The most milliseconds beyond the limit of a statement before its connection counts as dead. */
const answerMargin = 5_000;

/** The connections of one store, each kind for its own work, so that none holds up another. */
export class Connections {
  readonly traffic = new TrafficCount();
  /** Told of every write that failed. */
  onFailure: (failure: unknown) => void = () => {};
  /** Changes made for callers: one connection, all of its writes in order and grouped. */
  readonly writes: GroupCommit;
  readonly reads: Pipeline;
  /** What goes on beside the requests: heartbeats, take-overs, webhooks, sweeping. */
  readonly upkeep: Pipeline;

  constructor(
    place: Place,
    options: {
      readonly readConnections: number;
      readonly waitMs: number;
      readonly statementTimeoutMs: number;
    },
  ) {
    const common = {
      onFailure: (failure: unknown) => this.onFailure(failure),
      waitMs: options.waitMs,
      answerMs: options.statementTimeoutMs + Math.min(options.statementTimeoutMs, answerMargin),
      traffic: this.traffic,
    };
    this.writes = new GroupCommit(place, common);
    this.reads = new Pipeline(place, { ...common, connections: options.readConnections });
    this.upkeep = new Pipeline(place, { ...common, connections: 1 });
  }

  /** Resolves once changes can be made. */
  async open(): Promise<void> {
    await this.writes.open();
  }

  async close(): Promise<void> {
    await Promise.all([this.writes.close(), this.reads.close(), this.upkeep.close()]);
  }
}

/** What went over the wire so far, for measurements. */
export interface Traffic {
  /** Times the store waited for an answer; statements that were sent together count once. */
  readonly roundTrips: number;
  readonly statements: number;
  /** Transactions that wrote. */
  readonly transactions: number;
}

export class TrafficCount implements Traffic {
  roundTrips = 0;
  statements = 0;
  transactions = 0;
}

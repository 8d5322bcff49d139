import type { Client } from 'pg';
import { invalidConfiguration, LegateError } from '../../protocol/index.ts';
import { observeGauge } from '../../telemetry/index.ts';
import { GroupCommit } from './group-commit.ts';
import { type Place, placeOf, type PlaceOptions } from './link.ts';
import { migrate, migrationStatus } from './migrations.ts';
import { Notices, notifyStatement } from './notices.ts';
import { Pipeline } from './pipeline.ts';
import { PostgresStore } from './postgres-store.ts';

export interface PostgresOptions extends PlaceOptions {
  /**
   * The address of the server itself, if `url` is that of a pooler in transaction mode (PgBouncer). One
   * connection of this process listens there. Statements to `url` are then not prepared.
   */
  readonly listenUrl?: string;
  /**
   * Maximum connections of this process: one for writes, one for notifications and maintenance, the
   * others for reads; at least 3. @default 3
   */
  readonly maxConnections?: number;
  /** Timeout of a statement, in milliseconds. @default 15_000 */
  readonly statementTimeoutMs?: number;
  /** Milliseconds that operations wait for an unavailable database before they fail. @default 5_000 */
  readonly waitMs?: number;
  /** Migrates an outdated schema. If false, refuses to open it. @default true */
  readonly migrates?: boolean;
}

/**
 * Opens the store in a PostgreSQL database, for any number of replicas at once. The server's
 * `synchronous_commit` decides how durable a resolved write is.
 *
 * Needs PostgreSQL 13 or newer. A pooler in transaction mode needs `listenUrl`.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const { maxConnections = 3, statementTimeoutMs = 15_000, waitMs = 5_000 } = options;
  if (!Number.isInteger(maxConnections) || maxConnections < 3) {
    throw invalidConfiguration('store.maxConnections: must be 3 or more');
  }
  const { listenUrl = options.url, ...common } = options;
  const direct = { ...common, url: listenUrl };
  const settings = { statement_timeout: statementTimeoutMs };
  // A separate name in `pg_stat_activity`.
  const listen = placeOf(direct, { ...settings, fallback_application_name: 'legate-listen' });
  const place =
    listenUrl === options.url
      ? placeOf(options, settings)
      : { ...placeOf(options), isPooled: true };
  if (options.migrates === false) await checkSchema(direct, place.name);
  else await migrate(direct);
  const notices = new Notices((payload) => connections.upkeep.read(notifyStatement, [payload]));
  const connections = new Connections(place, {
    listen,
    onListen: (client) => notices.listen(client),
    readConnections: maxConnections - 2,
    waitMs,
    statementTimeoutMs,
  });
  const store = new PostgresStore(connections, notices);
  try {
    await connections.open();
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

/** Maximum milliseconds beyond the timeout of a statement before its connection counts as dead. */
const answerMargin = 5_000;

/** The connections of one store, separated by purpose, so that no kind of work blocks another. */
export class Connections {
  readonly traffic = new TrafficCount();
  /** Called with every write that failed. */
  onFailure: (failure: unknown) => void = () => {};
  /** Writes for callers, over one connection, in order and grouped. */
  readonly writes: GroupCommit;
  readonly reads: Pipeline;
  /** Background work: notices, heartbeats, takeovers, webhooks, sweeps. */
  readonly upkeep: Pipeline;
  readonly #unobserve: readonly (() => void)[];

  constructor(
    place: Place,
    options: {
      /** The server itself, which sends notifications. */
      readonly listen: Place;
      readonly onListen: (client: Client) => Promise<void>;
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
    const { listen, onListen } = options;
    this.upkeep = new Pipeline(listen, { ...common, connections: 1, prepare: onListen });
    this.#unobserve = [
      observeGauge('legate.store.connections', (result) => {
        result.observe(this.writes.isConnected ? 1 : 0, { use: 'write' });
        result.observe(this.reads.connected, { use: 'read' });
        result.observe(this.upkeep.connected, { use: 'upkeep' });
      }),
      observeGauge('legate.store.pending', (result) => {
        result.observe(this.writes.pending, { use: 'write' });
        result.observe(this.reads.pending, { use: 'read' });
        result.observe(this.upkeep.pending, { use: 'upkeep' });
      }),
    ];
  }

  /** Resolves once the store can write and receives notices. */
  async open(): Promise<void> {
    await Promise.all([this.writes.open(), this.upkeep.open()]);
  }

  async close(): Promise<void> {
    for (const unobserve of this.#unobserve) unobserve();
    await Promise.all([this.writes.close(), this.reads.close(), this.upkeep.close()]);
  }
}

/** Network traffic since the start, for measurements. */
export interface Traffic {
  /** Round trips to the database. Statements that were sent together count once. */
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

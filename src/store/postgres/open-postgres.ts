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
   * The address of the server itself, where `url` is that of a pooler in transaction mode (PgBouncer):
   * one connection of this process listens there. Statements to `url` are then not prepared.
   */
  readonly listenUrl?: string;
  /** The most connections of this process: one writes, one listens and does the upkeep, the others read; at least 3. @default 3 */
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
  // A name of its own in `pg_stat_activity`.
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

/** The most milliseconds beyond the limit of a statement before its connection counts as dead. */
const answerMargin = 5_000;

/** The connections of one store, each kind for its own work, so that none holds up another. */
export class Connections {
  readonly traffic = new TrafficCount();
  /** Called with every write that failed. */
  onFailure: (failure: unknown) => void = () => {};
  /** Changes made for callers: one connection, all of its writes in order and grouped. */
  readonly writes: GroupCommit;
  readonly reads: Pipeline;
  /** Work beside the requests: notices, heartbeats, take-overs, webhooks, sweeping. */
  readonly upkeep: Pipeline;
  readonly #unobserve: readonly (() => void)[];

  constructor(
    place: Place,
    options: {
      /** The server itself, which sends notices. */
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

  /** Resolves once changes can be made, and notices arrive. */
  async open(): Promise<void> {
    await Promise.all([this.writes.open(), this.upkeep.open()]);
  }

  async close(): Promise<void> {
    for (const unobserve of this.#unobserve) unobserve();
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

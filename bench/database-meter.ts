import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'pg';

/** The resources that a PostgreSQL server on this machine has used so far. */
export interface DatabaseUsage {
  /** Processor time of all its processes, in microseconds. */
  readonly cpuMicros: number;
  /** Bytes written to the write-ahead log. */
  readonly walBytes: number;
  /** Updates of store rows that changed no index, and all updates. */
  readonly hotUpdates: number;
  readonly updates: number;
}

/** Measures the server behind a database of the store; it must run on this machine. */
export class DatabaseMeter implements AsyncDisposable {
  readonly #client: Client;
  readonly #postmaster: number;

  private constructor(client: Client, postmaster: number) {
    this.#client = client;
    this.#postmaster = postmaster;
  }

  static async open(url: string): Promise<DatabaseMeter> {
    const client = new Client({ connectionString: url });
    await client.connect();
    const found = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new DatabaseMeter(client, statOf(found.rows[0]?.pid ?? 0).parent);
  }

  async usage(): Promise<DatabaseUsage> {
    const found = await this.#client.query<Record<'wal' | 'hot' | 'updates', string>>(
      `SELECT pg_current_wal_insert_lsn() - '0/0' AS wal, sum(n_tup_hot_upd) AS hot,
         sum(n_tup_upd) AS updates
       FROM pg_stat_user_tables WHERE schemaname = 'legate'`,
    );
    const row = found.rows[0];
    return {
      cpuMicros: cpuMicros(this.#postmaster),
      walBytes: Number(row?.wal),
      hotUpdates: Number(row?.hot),
      updates: Number(row?.updates),
    };
  }

  /** Bytes that remain for each task, without tables whose rows are deleted after the turn. */
  async storedBytesOfTask(): Promise<number> {
    const found = await this.#client.query<{ bytes: string }>(
      `SELECT sum(pg_total_relation_size(oid)) / (SELECT count(*) FROM legate.ended_tasks) AS bytes
       FROM pg_class WHERE relnamespace = 'legate'::regnamespace AND relkind = 'r'
         AND relname NOT IN ('open_tasks', 'turns')`,
    );
    return Number(found.rows[0]?.bytes);
  }

  /** Keeps one snapshot open until disposed, like a dump or an analytical query. */
  async openSnapshot(url: string): Promise<AsyncDisposable> {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('SELECT 1');
    return { [Symbol.asyncDispose]: () => client.end() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}

const microsPerTick = 10_000;

interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly withChildren: number;
}

/** CPU of the running processes and of those that have ended. */
function cpuMicros(postmaster: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [statOf(Number(name))];
      } catch {
        // The process ended in the meantime.
        return [];
      }
    })
    .filter(({ parent }) => parent === postmaster);
  const ticks = children.reduce((sum, { own }) => sum + own, statOf(postmaster).withChildren);
  return ticks * microsPerTick;
}

function statOf(pid: number): Stat {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before the last parenthesis can contain spaces.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent = 0] = fields;
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  const own = user + system;
  return { parent, own, withChildren: own + endedUser + endedSystem };
}

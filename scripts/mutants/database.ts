import { Client } from 'pg';
import { startPostgres } from '../../test/support/postgres.ts';

/** A PostgreSQL server that the test runs of all mutants share. */
export interface TestDatabase {
  readonly url: string;
  /** Drops the databases of a test run. */
  empty(): Promise<void>;
}

export async function startDatabase(): Promise<TestDatabase> {
  const server = await startPostgres();
  const url = new URL(await server.database());
  url.pathname = '/postgres';
  const query = async (...statements: readonly string[]): Promise<readonly { name: string }[]> => {
    const client = new Client({ connectionString: url.href });
    await client.connect();
    try {
      let rows: readonly { name: string }[] = [];
      for (const statement of statements) rows = (await client.query(statement)).rows;
      return rows;
    } finally {
      await client.end();
    }
  };
  // The data need not survive a crash of the machine.
  await query('ALTER SYSTEM SET fsync = off', 'SELECT pg_reload_conf()');
  return {
    url: url.href,
    async empty() {
      const left = await query(
        "SELECT datname AS name FROM pg_database WHERE datname LIKE 'legate\\_%'",
      );
      await query(...left.map(({ name }) => `DROP DATABASE "${name}" WITH (FORCE)`));
    },
  };
}

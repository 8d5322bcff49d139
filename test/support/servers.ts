/**
 * Real servers for tests: found on the machine, or installed from Debian's packages when root, and run
 * on private ports and directories. They outlive a test file and end with the test run: every server
 * notes its process id in a folder that the run's teardown looks through.
 */
import {
  type ChildProcess,
  execFileSync,
  spawn,
  spawnSync,
  type StdioOptions,
} from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const notes = process.env.LEGATE_TEST_SERVERS;
/** Processes to end with this one, and their directories, where no run keeps notes. */
const own = new Map<number, string>();

/** A private directory, owned by `owner` when we are root and it is not. */
export function serverDirectory(name: string, owner?: { uid: number; gid: number }): string {
  const directory = mkdtempSync(join(tmpdir(), `legate-${name}-`));
  if (owner !== undefined) {
    execFileSync('chown', [`${owner.uid}:${owner.gid}`, directory]);
    execFileSync('chmod', ['755', directory]);
  }
  return directory;
}

/** Remembers a process so that it is ended with the test run, whatever happens. */
export function note(child: ChildProcess, directory: string): void {
  if (child.pid === undefined) return;
  if (notes !== undefined) {
    writeFileSync(join(notes, String(child.pid)), directory);
    return;
  }
  if (own.size === 0) process.once('exit', () => own.forEach((place, pid) => end(pid, place)));
  own.set(child.pid, directory);
}

/** Ends the servers that this process started; for programs that are not test runs. */
export function endServers(): void {
  own.forEach((place, pid) => end(pid, place));
  own.clear();
}

/** Starts the notes of a run; returns what ends every server that was noted. */
export function keepNotes(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'legate-servers-'));
  process.env.LEGATE_TEST_SERVERS = folder;
  return () => {
    for (const pid of readdirSync(folder))
      end(Number(pid), readFileSync(join(folder, pid), 'utf8'));
    rmSync(folder, { recursive: true, force: true });
  };
}

/** A server that leaves its process group leaves a script `stop` in its directory, too. */
function end(pid: number, directory: string): void {
  const script = join(directory, 'stop');
  if (existsSync(script)) spawnSync('sh', [script], { cwd: directory, stdio: 'ignore' });
  kill(pid);
  rmSync(directory, { recursive: true, force: true });
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

export function startProcess(
  command: string,
  args: readonly string[],
  options: { directory: string; env?: NodeJS.ProcessEnv; user?: { uid: number; gid: number } },
): ChildProcess {
  mkdirSync(options.directory, { recursive: true });
  const child = spawn(command, args, {
    cwd: options.directory,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: options.env ?? process.env,
    ...options.user,
  });
  // A server's chatter must not fill the pipe.
  child.stderr?.resume();
  child.unref();
  return child;
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/** Debian's packages of the programs that tests start. Continuous integration installs them before. */
export const packages = [
  'postgresql',
  'rabbitmq-server',
  'pgbouncer',
  'chromium',
  'nginx',
  'haproxy',
  'bash',
  'fish',
  'zsh',
] as const;

/** Of those that `npm run ci:full` starts besides. */
export const fullPackages = ['prometheus'] as const;

/** Installs a Debian package, when that is possible; says what to install when it is not. */
export function installPackage(
  name: (typeof packages | typeof fullPackages)[number],
  hint: string,
): void {
  if (process.getuid?.() !== 0) throw new Error(hint);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  try {
    // Two test files may find at once that something is missing, and others install packages, too.
    const lock = join(tmpdir(), 'legate-install.lock');
    const patient = ['-qq', '-o', 'DPkg::Lock::Timeout=300'];
    for (const command of [['update'], ['install', '-y', '--no-install-recommends', name]]) {
      const stdio: StdioOptions = ['ignore', 'ignore', 'pipe'];
      execFileSync('flock', [lock, 'apt-get', ...patient, ...command], { env, stdio });
    }
  } catch (cause) {
    throw new Error(hint, { cause });
  }
}

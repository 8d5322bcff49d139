import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import type { Environment } from '../../config/index.ts';
import { errorCode, errorMessage } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { backoff, sleep, until, waitAtMost, within } from '../../time/index.ts';
import type { Python } from './python.ts';
import type { ActionCall, ActionResult, ActionRunner } from './runner.ts';

/** The Python process to start, and how to call its actions. */
export interface ActionServerOptions {
  readonly python: Python;
  /** The module or package of the actions, in dot notation. */
  readonly module: string;
  /** The working directory of the server: the project folder. */
  readonly directory: string;
  readonly environment: Environment;
  /** Creates a runner that calls the server at a URL. */
  readonly connect: (url: string) => ActionRunner;
  /** Actions of the domain that this server must have. Missing ones are logged as a warning. */
  readonly expected: readonly string[];
  readonly logger: Logger;
}

const isPosix = process.platform !== 'win32';
/** Milliseconds until a started server must answer. */
const startMs = 60_000;
/** Delays before restarts, in milliseconds. */
const restarts = { initialMs: 1_000, maximumMs: 30_000 };
/** Milliseconds from SIGTERM to SIGKILL. */
const stopGraceMs = 3_000;
const pollMs = 100;
const reachMs = 2_000;
/** A server that ran for this many milliseconds restarts with the initial delay. */
const stableMs = 60_000;

/** Ends the process group `$1` when standard input is closed, that is when this process ends. */
const guard = 'cat >/dev/null; kill -s TERM -- "-$1"; sleep 3; kill -s KILL -- "-$1"';

/**
 * A Python action server (`python -m rasa_sdk`) as a child process on a free port of 127.0.0.1.
 *
 * - **starting**: the process runs but does not answer yet; calls wait.
 * - **ready**: the server answers calls.
 * - **down**: the process ended and is restarted after a delay. Calls wait if the ended process was ready;
 *   otherwise they fail with the reason.
 * - **closed**: the process has ended and is not restarted.
 */
export class ActionServer implements ActionRunner, AsyncDisposable {
  readonly #options: ActionServerOptions;
  readonly #closing = new AbortController();
  #supervision: Promise<void> | undefined;
  #available = Promise.withResolvers<ActionRunner>();
  /** Settles when the first start has succeeded or failed. */
  readonly #started = Promise.withResolvers<void>();
  /** Why the last start failed. */
  #failure: string | undefined;
  #missing: readonly string[] = [];
  #child: ChildProcess | undefined;
  readonly #killChild = (): void => signalGroup(this.#child, 'SIGKILL');

  constructor(options: ActionServerOptions) {
    this.#options = options;
  }

  /** Starts the server and waits until it is ready or its first start has failed. */
  async start(signal?: AbortSignal): Promise<void> {
    process.once('exit', this.#killChild);
    this.#supervision ??= this.#supervise();
    await until(this.#started.promise, signal);
  }

  /** The module of the actions. */
  get module(): string {
    return this.#options.module;
  }

  /** Actions of the domain that the server does not have. */
  get missing(): readonly string[] {
    return this.#missing;
  }

  /** Why the server is not running; undefined while it is. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Always true: only the server can tell which actions it has. */
  has(): boolean {
    return true;
  }

  async run(call: ActionCall): Promise<ActionResult> {
    if (this.#failure !== undefined) throw new Error(this.#failure);
    const reason = (): Error => new Error('the Python action server is not ready');
    const runner = await within(
      { signal: call.signal, milliseconds: startMs, reason },
      () => this.#available.promise,
    );
    return runner.run(call);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#supervision;
    process.off('exit', this.#killChild);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #supervise(): Promise<void> {
    const { logger, module } = this.#options;
    const { signal } = this.#closing;
    for (let failures = 1; !signal.aborted; failures += 1) {
      const startedAt = Date.now();
      const ended = await this.#serveOnce().catch(notStarted);
      if (signal.aborted) break;
      if (Date.now() - startedAt > stableMs) failures = 1;
      const delayMs = backoff(failures, restarts);
      if (!ended.wasReady) this.#failure = notRunning(module, ended);
      const { code, reason } = ended;
      logger.error({ server: module, code, reason, retryInMs: delayMs }, 'action.server.exited');
      this.#started.resolve();
      // The sleep rejects when the server is closed, and the loop ends.
      await sleep(delayMs, signal).catch(() => undefined);
    }
    this.#started.resolve();
  }

  /** Runs one process until it ends. */
  async #serveOnce(): Promise<Ended> {
    const { python, module, directory, environment } = this.#options;
    const port = await freePort();
    const args = ['-m', 'rasa_sdk', '--actions', module, '-p', String(port)];
    const child = spawn(python.command, [...python.args, ...args], {
      cwd: directory,
      // A separate process group: Ctrl+C must not end the server before the turns in flight, and stopping
      // the group also ends its child processes. The server listens on loopback only.
      detached: isPosix,
      env: {
        ...environment,
        ...(!python.hasRasa && { PYTHONPATH: withHelpers(environment['PYTHONPATH']) }),
        SANIC_HOST: '127.0.0.1',
        PYTHONUNBUFFERED: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    const watcher = guardOf(child);
    const exited = exitOf(child);
    const output = this.#follow(child);
    let wasReady = false;
    const isOver = new AbortController();
    const readiness = this.#whenReady(`http://127.0.0.1:${port}`, isOver.signal).then(
      () => (wasReady = true),
      // The output of the process has the reason, unless the start timed out.
      () => this.#stop(child, exited),
    );
    const stop = (): void => void this.#stop(child, exited);
    this.#closing.signal.addEventListener('abort', stop, { once: true });
    const code = await exited;
    isOver.abort();
    await readiness;
    this.#closing.signal.removeEventListener('abort', stop);
    signalGroup(watcher, 'SIGKILL');
    this.#child = undefined;
    if (wasReady) this.#available = Promise.withResolvers<ActionRunner>();
    return { code, wasReady, reason: output.reason() };
  }

  async #whenReady(origin: string, isOver: AbortSignal): Promise<void> {
    const { connect, logger, module } = this.#options;
    const reason = (): Error => new Error(`did not answer within ${startMs} ms`);
    await within({ signal: isOver, milliseconds: startMs, reason }, async (signal) => {
      while (!(await isHealthy(origin, signal))) await sleep(pollMs, signal);
    });
    this.#failure = undefined;
    this.#available.resolve(connect(`${origin}/webhook`));
    logger.info({ server: module, url: origin }, 'action.server.ready');
    await this.#warnOfMissing(origin, isOver);
    this.#started.resolve();
  }

  async #warnOfMissing(origin: string, signal: AbortSignal): Promise<void> {
    const { expected, logger, module, directory } = this.#options;
    const names = await actionsAt(origin, signal);
    this.#missing = expected.filter((name) => names?.includes(name) === false);
    if (this.#missing.length === 0) return;
    const folders = unseenFolders(join(directory, module.replaceAll('.', '/')));
    const hint = `rasa_sdk passes over folders without __init__.py: ${folders.join(', ')}`;
    logger.warn(
      { server: module, actions: this.#missing, ...(folders.length > 0 && { hint }) },
      'action.server.actions_missing',
    );
  }

  async #stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
    signalGroup(child, 'SIGTERM');
    await waitAtMost(stopGraceMs, exited);
    signalGroup(child, 'SIGKILL');
  }

  /** Logs the output of the process and keeps its last error as the reason for its exit. */
  #follow(child: ChildProcess): { reason(): string | undefined } {
    const { logger, module: server } = this.#options;
    let last: string | undefined;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      let isTraceback = false;
      createInterface({ input: stream }).on('line', (written) => {
        const line = stripVTControlCharacters(written);
        if (line.trim() === '') return;
        const isPart = isTraceback && /^\s/.test(line);
        const level = isTraceback || line.startsWith('Traceback') ? 'error' : levelOf(line);
        isTraceback = isPart || line.startsWith('Traceback');
        if (level === 'error' && !isTraceback) last = line;
        // Python logs errors while it is stopped.
        if (this.#closing.signal.aborted) logger.debug({ server, line }, 'action.server.log');
        else if (level === 'error') logger.error({ server, line }, 'action.server.log');
        else if (level === 'warn') logger.warn({ server, line }, 'action.server.log');
        else logger.info({ server, line }, 'action.server.log');
      });
    }
    return { reason: () => last };
  }
}

/** Adds substitutes for helpers of the package rasa that actions import. */
function withHelpers(path = ''): string {
  const helpers = join(import.meta.dirname, 'rasa-helpers');
  return path === '' ? helpers : path + delimiter + helpers;
}

/** Folders with modules that rasa_sdk does not find, because they have no `__init__.py`. */
function unseenFolders(folder: string): readonly string[] {
  const files = globSync('*/**/*.py', { cwd: folder });
  return [...new Set(files.map((file) => dirname(file)))].filter(
    (each) => !existsSync(join(folder, each, '__init__.py')),
  );
}

interface Ended {
  readonly code: number | string | null;
  readonly wasReady: boolean;
  /** The last error that the process printed. */
  readonly reason: string | undefined;
}

/** pip's names of packages whose module has another name. */
const packages = new Map(
  Object.entries({
    bs4: 'beautifulsoup4',
    cv2: 'opencv-python',
    dateutil: 'python-dateutil',
    dotenv: 'python-dotenv',
    fitz: 'pymupdf',
    jwt: 'pyjwt',
    MySQLdb: 'mysqlclient',
    mysql: 'mysql-connector-python',
    PIL: 'pillow',
    psycopg2: 'psycopg2-binary',
    sklearn: 'scikit-learn',
    yaml: 'pyyaml',
  }),
);

/** pip's name for the package of a module. */
function packageOf(module: string): string {
  return packages.get(module) ?? module.replaceAll('.', '-');
}

/** The process could not be started: there is no free port, or the command is invalid. */
function notStarted(error: unknown): Ended {
  return { code: errorCode(error) ?? null, wasReady: false, reason: errorMessage(error) };
}

function notRunning(module: string, { code, reason }: Ended): string {
  const missing = /No module named '(google\.[\w.]+|[^'.]+)/.exec(reason ?? '')?.[1];
  const hint =
    missing === undefined
      ? ''
      : `; install it with pip, for example "pip install ${packageOf(missing)}"`;
  const why = reason ?? `it ended with ${code ?? 'no exit code'}`;
  return `the Python action server of "${module}" does not run: ${why}${hint}`;
}

/** The log level of a line in the format of Python's logging. */
function levelOf(line: string): 'info' | 'warn' | 'error' {
  if (/\b(?:ERROR|CRITICAL)\b|^\w*(?:Error|Exception): |: error: /.test(line)) return 'error';
  return /\bWARNING\b/.test(line) ? 'warn' : 'info';
}

/** Starts a shell that ends the server if this process is killed. Undefined on Windows. */
function guardOf({ pid }: ChildProcess): ChildProcess | undefined {
  if (!isPosix || pid === undefined) return undefined;
  const watcher = spawn('sh', ['-c', guard, 'guard', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.on('error', () => watcher.stdin?.destroy());
  watcher.unref();
  return watcher;
}

function signalGroup(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  try {
    if (isPosix) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch (error) {
    // The process has already ended.
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** The exit code, the signal that ended the process, or the error that prevented its start. */
function exitOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    // `close` comes after all output was read, unlike `exit`.
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
}

/** Whether an action server is healthy. */
export async function isHealthy(
  origin: string,
  signal: AbortSignal,
  fetching: typeof fetch = fetch,
): Promise<boolean> {
  try {
    const response = await fetching(`${origin}/health`, { signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    // Not healthy yet; the signal ends the caller's wait.
    return false;
  }
}

/** Whether any server answers at the address of an action server. */
export async function isReachable(
  origin: string,
  fetching: typeof fetch = fetch,
): Promise<boolean> {
  const reason = (): Error => new Error(`no answer within ${reachMs} ms`);
  try {
    const response = await within({ milliseconds: reachMs, reason }, (signal) =>
      fetching(`${origin}/health`, { signal }),
    );
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
}

const actionList = z.array(z.object({ name: z.string() }));

/** The names of a server's actions; undefined if it does not list them. */
export async function actionsAt(
  origin: string,
  signal: AbortSignal,
  fetching: typeof fetch = fetch,
): Promise<readonly string[] | undefined> {
  try {
    const response = await fetching(`${origin}/actions`, { signal });
    const { data } = actionList.safeParse(await response.json());
    return data?.map(({ name }) => name);
  } catch {
    // Servers in other languages have no such list.
    return undefined;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

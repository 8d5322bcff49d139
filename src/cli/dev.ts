import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { extname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isJsonObject } from '../protocol/index.ts';
import { backoff } from '../time/index.ts';
import type { DevCommandOptions } from './commands/assistants.ts';
import { configurationBeside, FileWatch, watchFolder } from './dev-watch.ts';
import { moduleTarget } from './module-target.ts';
import { openPage } from './open-page.ts';
import { untilSignal } from './signals.ts';
import { usage } from './usage.ts';

const command = join(import.meta.dirname, '..', '..', 'bin', 'legate.cjs');
const moduleReporter = join(import.meta.dirname, `dev-modules${extname(import.meta.filename)}`);
/** Editors write a file in several steps, in milliseconds. */
const settleMs = 150;
/** The server itself can cause a change this soon after a start, in milliseconds. */
const quickMs = 2_000;
const longestDelayMs = 30_000;

/**
 * Serves an agent or an assistant with the inspector, and restarts it when one of its modules or
 * configuration files changes. Files that the server writes (stores, logs, data) cause no restart. The
 * port, the token of the inspector and the store stay the same, so that an open page keeps its conversation.
 */
export async function dev(target: string, options: DevCommandOptions): Promise<void> {
  const module = moduleTarget(target)?.file;
  if (module === undefined && !existsSync(target)) {
    throw usage(
      `no such file or folder: ${target}; name a module that exports an agent, or the folder of an assistant`,
    );
  }
  const files = new FileWatch((file) => server.restart(relative('.', file)));
  const folder =
    module === undefined ? watchFolder(target, (file) => server.restart(file)) : undefined;
  const own = module === undefined ? [] : [resolve(module), resolve(configurationBeside(module))];
  const server = new DevServer(target, options, files, own);
  server.start();
  await untilSignal();
  files.close();
  folder?.close();
  await server.stop();
}

/**
 * The server in a child process: **running**, **stopping** for a restart, or **ended** by itself, for
 * instance because of an error in the code. The next change then starts it again.
 */
class DevServer {
  readonly #args: readonly string[];
  readonly #token: string;
  readonly #files: FileWatch;
  /** Files that are always watched. */
  readonly #own: readonly string[];
  /** The modules that the current child process has loaded. */
  #loaded: Set<string> = new Set();
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #due: NodeJS.Timeout | undefined;
  #startedAt = 0;
  /** Number of consecutive starts with a change within `quickMs`. */
  #quickStarts = 0;
  #isOpened: boolean;
  #isStopping = false;
  #isRestarting = false;
  /** Whether the command ends: a restart that is under way then starts nothing. */
  #isClosed = false;

  constructor(
    target: string,
    options: DevCommandOptions,
    files: FileWatch,
    own: readonly string[],
  ) {
    const { port, inspectToken, logLevel, open } = options;
    this.#files = files;
    this.#own = own;
    this.#token = inspectToken ?? randomBytes(32).toString('base64url');
    const isProduction = process.env['NODE_ENV'] === 'production';
    const args = ['run', target, '--inspect', '--notice', '0', '--drain', '1'];
    args.push('--port', String(port), '--log-level', logLevel);
    this.#args = isProduction ? args : [...args, '--show-errors'];
    this.#isOpened = !open;
  }

  start(): void {
    this.#startedAt = performance.now();
    this.#loaded = new Set(this.#own);
    for (const file of this.#own) this.#files.add(file);
    const reporter = ['--import', pathToFileURL(moduleReporter).href];
    const child = spawn(process.execPath, [...reporter, command, ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, INSPECT_TOKEN: this.#token },
    });
    this.#child = child;
    child.on('message', (message: unknown) => this.#note(message));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      const url = /^Inspector: +(\S+)$/m.exec(text)?.[1];
      if (url === undefined) return;
      // Drops old files only after a complete start: a process that failed early has not loaded all modules.
      this.#files.keep(this.#loaded);
      if (!this.#isOpened) openPage(url);
      this.#isOpened = true;
    });
    this.#ended = new Promise((ended) => {
      child.once('close', (code) => {
        this.#child = undefined;
        ended();
        if (!this.#isStopping && code !== 0) console.error('Waiting for a change to start again.');
      });
    });
  }

  /** Restarts once after a burst of changes, with growing delays while each start causes a change. */
  restart(file: string): void {
    // The next process reads the changed file anyway.
    if (this.#isRestarting) return;
    if (this.#due === undefined) {
      const isQuick = performance.now() - this.#startedAt < quickMs;
      this.#quickStarts = isQuick ? this.#quickStarts + 1 : 0;
    }
    clearTimeout(this.#due);
    const policy = { initialMs: settleMs, maximumMs: longestDelayMs };
    this.#due = setTimeout(
      () => void this.#restart(file),
      backoff(Math.max(1, this.#quickStarts), policy),
    );
  }

  async #restart(file: string): Promise<void> {
    this.#due = undefined;
    this.#isRestarting = true;
    console.error(`${file} changed: starting again.`);
    await this.#end();
    if (this.#isClosed) return;
    this.#isStopping = false;
    this.#isRestarting = false;
    this.start();
  }

  async stop(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#due);
    await this.#end();
  }

  #note(message: unknown): void {
    if (!isJsonObject(message) || typeof message['module'] !== 'string') return;
    this.#loaded.add(message['module']);
    this.#files.add(message['module']);
  }

  async #end(): Promise<void> {
    this.#isStopping = true;
    this.#child?.kill('SIGTERM');
    await this.#ended;
  }
}

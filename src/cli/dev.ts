import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync, watch } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { DevCommandOptions } from './commands/assistants.ts';
import { openPage } from './open-page.ts';
import { untilSignal } from './signals.ts';
import { usage } from './usage.ts';

const command = join(import.meta.dirname, '..', '..', 'bin', 'legate.cjs');
/** Folders whose files change without anybody editing them. */
const ignored = new Set(['node_modules', '.git', '.legate', 'models']);
/** Editors write a file in several steps, in milliseconds. */
const settleMs = 150;

/**
 * Serves an agent or an assistant with the inspector, and starts it again whenever a file beside it
 * changes. The port, the token of the inspector and the store stay the same, so that an open page goes
 * on with its conversation.
 */
export async function dev(target: string, options: DevCommandOptions): Promise<void> {
  if (!existsSync(target)) {
    throw usage(
      `no such file or folder: ${target}; name a module that exports an agent, or the folder of an assistant`,
    );
  }
  const server = new DevServer(target, options);
  server.start();
  const folder = statSync(target).isDirectory() ? target : dirname(target);
  const watcher = watch(folder, { recursive: true }, (_event, file) => {
    if (file !== null && !file.split(sep).some((name) => ignored.has(name))) server.restart(file);
  });
  await untilSignal();
  watcher.close();
  await server.stop();
}

/**
 * The server in a process of its own: **running**, **stopping** to start again, or **ended** by itself,
 * for instance by a mistake in the code; then the next change starts it again.
 */
class DevServer {
  readonly #args: readonly string[];
  readonly #token: string;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #due: NodeJS.Timeout | undefined;
  #isOpened: boolean;
  #isStopping = false;

  constructor(target: string, options: DevCommandOptions) {
    const { port, inspectToken, logLevel, open } = options;
    this.#token = inspectToken ?? randomBytes(32).toString('base64url');
    const isProduction = process.env['NODE_ENV'] === 'production';
    const args = ['run', target, '--inspect', '--notice', '0', '--drain', '1'];
    args.push('--port', String(port), '--log-level', logLevel);
    this.#args = isProduction ? args : [...args, '--show-errors'];
    this.#isOpened = !open;
  }

  start(): void {
    const child = spawn(process.execPath, [command, ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, INSPECT_TOKEN: this.#token },
    });
    this.#child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      const url = this.#isOpened ? undefined : /^Inspector: +(\S+)$/m.exec(text)?.[1];
      if (url === undefined) return;
      this.#isOpened = true;
      openPage(url);
    });
    this.#ended = new Promise((resolve) => {
      child.once('close', (code) => {
        this.#child = undefined;
        resolve();
        if (!this.#isStopping && code !== 0) console.error('Waiting for a change to start again.');
      });
    });
  }

  /** Starts again, once, after a burst of changes. */
  restart(file: string): void {
    clearTimeout(this.#due);
    this.#due = setTimeout(() => void this.#restart(file), settleMs);
  }

  async #restart(file: string): Promise<void> {
    console.error(`${file} changed: starting again.`);
    await this.#end();
    this.#isStopping = false;
    this.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#due);
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#isStopping = true;
    this.#child?.kill('SIGTERM');
    await this.#ended;
  }
}

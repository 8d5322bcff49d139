import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

/** The configuration of a program of the company. */
export interface ServiceOptions {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** The file for its output. */
  readonly log: string;
  /** A URL that responds with 200 when the program is ready. */
  readonly probe: string;
  /** The certificate authority of an https URL. */
  readonly ca?: string;
}

/** One program of the company, which can be killed and restarted. */
export class Service {
  readonly #options: ServiceOptions;
  #child: ChildProcess | undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get output(): string {
    return readFileSync(this.#options.log, 'utf8');
  }

  /** Starts the program, and waits until it is ready. */
  async start(): Promise<void> {
    const { command, env, log, probe, ca } = this.#options;
    const [program, ...args] = command;
    const file = openSync(log, 'a');
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', file, file],
    });
    closeSync(file);
    this.#child = child;
    for (let attempt = 0; attempt < 1200; attempt += 1) {
      if (child.exitCode !== null || child.signalCode !== null) break;
      const status = await fetchStatus(probe, { ca });
      if (status === 200) return;
      await delay(100);
    }
    throw new Error(`${this.name} did not start:\n${this.output.slice(-2000)}`);
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Kills the program, like a crash. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Shuts it down, and checks its exit code. */
  async stop(): Promise<void> {
    const [code, signal] = await this.#end('SIGTERM');
    const isGraceful = code === 0 || signal === 'SIGTERM';
    assert(isGraceful, `${this.name} ended with ${code}:\n${this.output.slice(-2000)}`);
  }

  async #end(signal: NodeJS.Signals): Promise<readonly [number | null, NodeJS.Signals | null]> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return [0, null];
    if (child.exitCode !== null || child.signalCode !== null) {
      return [child.exitCode, child.signalCode];
    }
    const exited = once(child, 'exit');
    child.kill(signal);
    return (await exited) as [number | null, NodeJS.Signals | null];
  }
}

interface GetOptions {
  readonly ca?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a GET request, with the certificate authority of the company. */
export function fetchText(
  url: string,
  { ca, headers = {} }: GetOptions = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const get = url.startsWith('https:') ? getSecure : getPlain;
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: false, ...(ca !== undefined && { ca }) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    }).once('error', reject);
  });
}

/** Undefined if nothing listens at the URL. */
async function fetchStatus(url: string, options: GetOptions): Promise<number | undefined> {
  try {
    return (await fetchText(url, options)).status;
  } catch {
    return undefined;
  }
}

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { freePort } from '../support/servers.ts';

const run = promisify(execFile);
const cache = join(import.meta.dirname, '../../node_modules/.cache/interop');

/** A peer made with a2a-sdk for Python, in a virtual environment of its own. */
export interface PythonPeer {
  /** Calls an agent over a binding; resolves with what the script prints. */
  client(url: string, binding: string): Promise<unknown>;
  /** Serves an agent that returns what it gets. */
  server(): Promise<AsyncDisposable & { readonly url: string }>;
}

/** The peer, or why there is none on this machine. */
export async function pythonPeer(sdk: string, script: string): Promise<PythonPeer | string> {
  const folder = join(cache, `a2a-sdk-${sdk}`);
  const python = join(folder, 'bin/python');
  try {
    if (!existsSync(join(folder, 'ready'))) await install(folder, sdk);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return `a2a-sdk ${sdk} for Python cannot be installed: ${reasonOf(error)}`;
  }
  const file = join(import.meta.dirname, 'python', script);
  return {
    async client(url, binding) {
      const { stdout } = await run(python, [file, 'client', url, binding], { timeout: 60_000 });
      return JSON.parse(stdout) as unknown;
    },
    async server() {
      const [port, grpcPort] = [await freePort(), await freePort()];
      const child = spawn(python, [file, 'server', String(port), String(grpcPort)]);
      const exited = new Promise((resolve) => child.once('exit', resolve));
      const url = `http://127.0.0.1:${port}`;
      await expect
        .poll(
          () =>
            fetch(`${url}/.well-known/agent-card.json`).then(
              ({ ok }) => ok,
              () => false,
            ),
          { timeout: 60_000 },
        )
        .toBe(true);
      return {
        url,
        async [Symbol.asyncDispose]() {
          child.kill('SIGKILL');
          await exited;
        },
      };
    },
  };
}

async function install(folder: string, sdk: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  await run('python3', ['-m', 'venv', folder]);
  const packages = [`a2a-sdk[grpc,http-server]==${sdk}`, 'uvicorn'];
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  await run(join(folder, 'bin/python'), pip, { timeout: 600_000 });
  mkdirSync(join(folder, 'ready'));
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n').findLast((line) => line.trim() !== '') ?? text;
}

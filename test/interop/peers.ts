import { execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { freePort } from '../support/servers.ts';

const run = promisify(execFile);
const cache = join(import.meta.dirname, '../../node_modules/.cache/interop');

/** A client and a server of an official SDK. */
export interface Peer {
  /** Calls an agent over a binding; resolves with what the program prints. */
  client(url: string, binding: string): Promise<unknown>;
  /** Serves an agent that returns what it gets. */
  server(): Promise<AsyncDisposable & { readonly url: string }>;
}

/** a2a-sdk for Python in a virtual environment of its own, or why there is none on this machine. */
export async function pythonPeer(sdk: string, script: string): Promise<Peer | string> {
  const name = `a2a-sdk-${sdk}`;
  return installed(name, (folder) =>
    virtualEnvironment(folder, [`a2a-sdk[grpc,http-server]==${sdk}`, 'uvicorn']),
  ).then((folder) =>
    typeof folder === 'string'
      ? folder
      : peerOf(join(folder.path, 'bin/python'), [join(import.meta.dirname, 'python', script)]),
  );
}

/** A virtual environment with rasa-sdk, or why there is none on this machine. */
export function rasaSdk(version: string): Promise<{ readonly path: string } | string> {
  return installed(`rasa-sdk-${version}`, (folder) =>
    virtualEnvironment(folder, [`rasa-sdk==${version}`]),
  );
}

async function virtualEnvironment(folder: string, packages: readonly string[]): Promise<void> {
  await run('python3', ['-m', 'venv', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  await run(join(folder, 'bin/python'), pip, { timeout: 600_000 });
}

/** a2a-go, built as a program, or why there is none on this machine. */
export async function goPeer(sdk: string): Promise<Peer | string> {
  const go = (cwd: string, ...args: string[]) => run('go', args, { cwd, timeout: 600_000 });
  const build = (folder: string) => {
    copyFileSync(join(import.meta.dirname, 'go/main.go'), join(folder, 'main.go'));
    return go(folder, 'build', '-mod=mod', '-o', 'peer', '.');
  };
  const found = await go(import.meta.dirname, 'version').catch(() => undefined);
  if (found === undefined) return 'Go is not installed';
  const folder = await installed(`a2a-go-${sdk}`, async (path) => {
    mkdirSync(path, { recursive: true });
    await go(path, 'mod', 'init', 'interop');
    await go(path, 'get', `github.com/a2aproject/a2a-go/v2@v${sdk}`);
    await build(path);
  });
  if (typeof folder === 'string') return folder;
  // The program may have changed since.
  await build(folder.path);
  return peerOf(join(folder.path, 'peer'), []);
}

/** Our agent on another runtime (`runtime-server.ts`), or why there is none on this machine. */
export async function runtimePeer(
  runtime: 'bun' | 'deno',
  version: string,
): Promise<Peer | string> {
  const name = `${runtime}-${version}`;
  const folder = await installed(name, async (path) => {
    const npm = ['install', '--prefix', path, '--no-audit', '--no-fund', `${runtime}@${version}`];
    await run('npm', npm, { timeout: 600_000 });
    await run(join(path, 'node_modules/.bin', runtime), ['--version']);
  });
  if (typeof folder === 'string') return folder;
  const args = runtime === 'deno' ? ['run', '-A', '--node-modules-dir=manual', '--no-check'] : [];
  const program = join(folder.path, 'node_modules/.bin', runtime);
  return peerOf(program, [...args, join(import.meta.dirname, 'runtime-server.ts')]);
}

/** The folder of an SDK, installed once; or the reason why it cannot be. */
async function installed(
  name: string,
  install: (folder: string) => Promise<void>,
): Promise<{ readonly path: string } | string> {
  const path = join(cache, name);
  if (existsSync(join(path, 'ready'))) return { path };
  try {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(cache, { recursive: true });
    await install(path);
    mkdirSync(join(path, 'ready'));
    return { path };
  } catch (error) {
    return `${name} cannot be installed: ${reasonOf(error)}`;
  }
}

function peerOf(program: string, args: readonly string[]): Peer {
  return {
    async client(url, binding) {
      const { stdout } = await run(program, [...args, 'client', url, binding], { timeout: 60_000 });
      return JSON.parse(stdout) as unknown;
    },
    async server() {
      const [port, grpcPort] = [await freePort(), await freePort()];
      const child = spawn(program, [...args, 'server', String(port), String(grpcPort)]);
      const exited = new Promise((resolve) => child.once('exit', resolve));
      const url = `http://127.0.0.1:${port}`;
      const isReady = () =>
        fetch(`${url}/.well-known/agent-card.json`).then(
          ({ ok }) => ok,
          () => false,
        );
      await expect.poll(isReady, { timeout: 60_000 }).toBe(true);
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

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n').findLast((line) => line.trim() !== '') ?? text;
}

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BindingName } from '../../client/index.ts';
import { usage } from '../usage.ts';

/** How to run the Technology Compatibility Kit of the A2A project against an agent. */
export interface TckRun {
  /** A checkout of a2aproject/a2a-tck. */
  readonly folder: string;
  /** The URL of the agent. */
  readonly url: string;
  /** Limits the run to these bindings. @default all */
  readonly transports: readonly BindingName[];
  readonly signal: AbortSignal;
  /** Sends the output of the kit to standard error, because standard output carries JSON. */
  readonly isAside: boolean;
}

/** The exit code of the kit, which prints its own findings. */
export interface TckResult {
  readonly suite: '1.0' | '0.3';
  readonly exit: number;
}

/** Runs the mandatory tests of the kit, and the tests of the capabilities that the card declares. */
export async function runTck(run: TckRun): Promise<TckResult> {
  const folder = resolve(run.folder);
  const script = join(folder, 'run_tck.py');
  if (!existsSync(script)) {
    throw usage(
      `--tck: there is no run_tck.py in ${run.folder}; check the kit out with "git clone https://github.com/a2aproject/a2a-tck"`,
    );
  }
  const suite = readFileSync(script, 'utf8').includes('--sut-host') ? '1.0' : '0.3';
  const [command, ...before] = pythonOf(folder);
  const args = [...before, 'run_tck.py', ...argumentsFor(suite, run)];
  const child = spawn(command, args, {
    cwd: folder,
    signal: run.signal,
    stdio: ['ignore', run.isAside ? 2 : 1, 2],
  });
  const exit = await new Promise<number>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ENOENT'
          ? usage(`--tck: ${command} was not found; install Python 3.11 or uv`)
          : error,
      ),
    );
    child.once('close', (code) => resolve(code ?? 1));
  });
  return { suite, exit };
}

/** The virtual environment of the checkout if there is one, else a tool that can create one. */
function pythonOf(folder: string): readonly [string, ...string[]] {
  const own = join(folder, '.venv/bin/python');
  if (existsSync(own)) return [own];
  const hasUv = (process.env['PATH'] ?? '')
    .split(':')
    .some((place) => place !== '' && existsSync(join(place, 'uv')));
  return hasUv ? ['uv', 'run', 'python'] : ['python3'];
}

const transportNames = {
  '1.0': { JSONRPC: 'jsonrpc', 'HTTP+JSON': 'http_json', GRPC: 'grpc' },
  '0.3': { JSONRPC: 'jsonrpc', 'HTTP+JSON': 'rest', GRPC: 'grpc' },
} as const;

function argumentsFor(suite: '1.0' | '0.3', { url, transports }: TckRun): readonly string[] {
  const names = transports.map((binding) => transportNames[suite][binding]).join(',');
  if (suite === '0.3') {
    const only = names === '' ? [] : ['--transports', names];
    return ['--sut-url', url, '--category', 'mandatory', ...only];
  }
  const only = names === '' ? [] : ['--transport', names];
  return ['--sut-host', url, '--level', 'must', ...only];
}

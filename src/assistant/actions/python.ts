import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../config/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';

/** A command that starts Python, with the arguments that precede those of Python. */
export interface Python {
  readonly command: string;
  readonly args: readonly string[];
  /** The command that installs rasa_sdk for this interpreter. */
  readonly install: string;
  /** Whether the package rasa is installed, whose helpers some actions import. */
  readonly hasRasa: boolean;
}

/** Where and how to look for an interpreter. */
export interface PythonPlaces {
  /** The project folder, which can have a `.venv`. */
  readonly directory: string;
  readonly environment: Environment;
  /** Whether `uv run` may create an environment and install the packages of the project. */
  readonly canInstall: boolean;
}

const isWindows = process.platform === 'win32';
/** Milliseconds. `uv run` can first install the packages of the project's lock file. */
const probeMs = 30_000;
const uvProbeMs = 300_000;

/** Exits with 3 without rasa_sdk, with 4 without rasa, and with 0 if both are installed. */
const probe =
  'import importlib.util as util, sys; rasa = util.find_spec("rasa"); ' +
  // A project folder with the name `rasa` has no origin: it is not the package.
  'sys.exit(3 if not util.find_spec("rasa_sdk") else 0 if rasa and rasa.origin else 4)';

/** The packages of an interpreter by the exit code of the probe. */
const states = { 0: 'rasa', 3: 'no rasa_sdk', 4: 'rasa_sdk' } as const;
type State = (typeof states)[keyof typeof states];

/**
 * Finds the interpreter for a project's actions: the first of `.venv`, `VIRTUAL_ENV`, `uv` and the `PATH`
 * that has rasa_sdk.
 * @throws {LegateError} CONFIGURATION_INVALID with the command that installs the missing package
 */
export async function findPython(places: PythonPlaces, signal?: AbortSignal): Promise<Python> {
  const found: Interpreter[] = [];
  for (const python of candidates(places)) {
    const state = await examine(python, places, signal);
    const isInstalledLater = python.command === 'uv' && !places.canInstall && needsSdk(places);
    if (state === 'no rasa_sdk' && !isInstalledLater) found.push(python);
    else if (state !== undefined) return { ...python, hasRasa: state === 'rasa' };
  }
  const [first] = found;
  const remedy =
    first === undefined
      ? 'there is no Python; install Python 3.10 or newer, then run "python3 -m venv .venv" and ' +
        `"${venvPython('.venv')} -m pip install rasa-sdk" in the project folder`
      : `${first.command} has no rasa_sdk; run "${first.install}"`;
  throw invalidConfiguration(`the actions of this project are written in Python, and ${remedy}`);
}

type Interpreter = Omit<Python, 'hasRasa'>;

function candidates({ directory, environment, canInstall }: PythonPlaces): readonly Interpreter[] {
  const environments = [join(directory, '.venv'), environment['VIRTUAL_ENV'] ?? ''];
  const inEnvironment = environments
    .filter((folder) => folder !== '')
    .map((folder) => venvPython(folder))
    .filter((path) => existsSync(path))
    .map((command) => plain(command));
  // `--no-sync` would still create an environment.
  const sync = canInstall ? [] : ['--no-project', '--offline'];
  const uv = {
    command: 'uv',
    args: ['run', ...sync, 'python'],
    install: 'uv pip install rasa-sdk',
  };
  return [...inEnvironment, uv, plain('python3'), plain('python')];
}

function plain(command: string): Interpreter {
  return { command, args: [], install: `${command} -m pip install rasa-sdk` };
}

function venvPython(folder: string): string {
  return isWindows ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python');
}

/** Whether `uv run` will install rasa_sdk: the project depends on it. */
function needsSdk({ directory }: PythonPlaces): boolean {
  return ['uv.lock', 'pyproject.toml']
    .map((name) => join(directory, name))
    .some((path) => existsSync(path) && /\brasa[-_]sdk\b/i.test(readFileSync(path, 'utf8')));
}

/** Probes an interpreter. Undefined if it can't be started. */
function examine(
  { command, args }: Interpreter,
  { directory, environment }: PythonPlaces,
  signal?: AbortSignal,
): Promise<State | undefined> {
  return new Promise((resolve) => {
    const timeout = command === 'uv' ? uvProbeMs : probeMs;
    execFile(
      command,
      [...args, '-c', probe],
      { cwd: directory, env: environment, timeout, ...(signal !== undefined && { signal }) },
      (error) => {
        const code = error === null ? 0 : error.code;
        resolve(code === 0 || code === 3 || code === 4 ? states[code] : undefined);
      },
    );
  });
}

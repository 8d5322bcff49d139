import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../config/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';

/** A command that starts Python, with the arguments that come before Python's own. */
export interface Python {
  readonly command: string;
  readonly args: readonly string[];
  /** Installs rasa_sdk for this interpreter. */
  readonly install: string;
}

/** Where to look for an interpreter. */
export interface PythonPlaces {
  /** The project folder, which may have a `.venv`. */
  readonly directory: string;
  readonly environment: Environment;
}

const isWindows = process.platform === 'win32';
/** Milliseconds. `uv run` may first install what the project's lock file names. */
const probeMs = 30_000;
const uvProbeMs = 300_000;

/** Exits with 3 where there is no rasa_sdk. */
const probe =
  'import importlib.util, sys; sys.exit(0 if importlib.util.find_spec("rasa_sdk") else 3)';

/**
 * The interpreter for a project's actions: the first of `.venv`, `VIRTUAL_ENV`, `uv` and the `PATH`
 * that has rasa_sdk.
 * @throws {LegateError} CONFIGURATION_INVALID with the command that installs what is missing
 */
export async function findPython(places: PythonPlaces, signal?: AbortSignal): Promise<Python> {
  const found: Python[] = [];
  for (const python of candidates(places)) {
    const state = await examine(python, places, signal);
    if (state === 'ready') return python;
    if (state === 'no rasa_sdk') found.push(python);
  }
  const [first] = found;
  const remedy =
    first === undefined
      ? 'there is no Python; install Python 3.10 or newer, then run "python3 -m venv .venv" and ' +
        `"${venvPython('.venv')} -m pip install rasa-sdk" in the project folder`
      : `${first.command} has no rasa_sdk; run "${first.install}"`;
  throw invalidConfiguration(`the actions of this project are written in Python, and ${remedy}`);
}

function candidates({ directory, environment }: PythonPlaces): readonly Python[] {
  const environments = [join(directory, '.venv'), environment['VIRTUAL_ENV'] ?? ''];
  const inEnvironment = environments
    .filter((folder) => folder !== '')
    .map((folder) => venvPython(folder))
    .filter((path) => existsSync(path))
    .map((command) => plain(command));
  const uv = { command: 'uv', args: ['run', 'python'], install: 'uv pip install rasa-sdk' };
  return [...inEnvironment, uv, plain('python3'), plain('python')];
}

function plain(command: string): Python {
  return { command, args: [], install: `${command} -m pip install rasa-sdk` };
}

function venvPython(folder: string): string {
  return isWindows ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python');
}

function examine(
  { command, args }: Python,
  { directory, environment }: PythonPlaces,
  signal?: AbortSignal,
): Promise<'ready' | 'no rasa_sdk' | 'absent'> {
  return new Promise((resolve) => {
    const timeout = command === 'uv' ? uvProbeMs : probeMs;
    execFile(
      command,
      [...args, '-c', probe],
      { cwd: directory, env: environment, timeout, ...(signal !== undefined && { signal }) },
      (error) => {
        if (error === null) resolve('ready');
        else resolve(error.code === 3 ? 'no rasa_sdk' : 'absent');
      },
    );
  });
}

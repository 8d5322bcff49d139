import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { settingsFolder } from './token-file.ts';
import { usage } from '../usage.ts';

/** Settings by flag, environment and file; named like the flags. */
export const settingNames = [
  'agent-card',
  'transport',
  'a2a-version',
  'bearer',
  'api-key',
  'cert',
  'key',
  'ca',
  'svc-param',
  'extension',
  'timeout',
  'insecure',
  'output',
  'verbose',
  'debug',
  'async',
  'wait',
  'await-auth',
  'poll-interval',
  'context-id',
  'task-id',
  'metadata',
  'history',
] as const;
export type SettingName = (typeof settingNames)[number];

export interface Setting {
  readonly value: string;
  /** For people: `the flag`, `the environment`, or the path of a file. */
  readonly source: string;
  /** Whether it is from a file that was found, not named: the author of the folder wrote it. */
  readonly isFound: boolean;
}

interface SettingsFile {
  readonly path: string;
  readonly isFound?: boolean;
  readonly values: NodeJS.Dict<string>;
}

const largestFile = 64 * 1024;

/** `agent-card` is `A2ACLI_AGENT_CARD` in the environment and in files. */
export function variableOf(name: SettingName): string {
  return `A2ACLI_${name.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * Settings without flags: the environment, then the nearest `.env` file upwards (or the given one),
 * then the file of the user (A2A CLI specification 8.3).
 */
export class Settings {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #files: readonly SettingsFile[];

  constructor(
    environment: NodeJS.ProcessEnv,
    places: { readonly config?: string; readonly directory: string },
  ) {
    this.#environment = environment;
    const named = places.config === undefined ? nearest(places.directory) : required(places.config);
    const own = read(join(settingsFolder(environment), '.env'));
    this.#files = [named, own].filter((file) => file !== undefined);
  }

  get(name: SettingName): Setting | undefined {
    const variable = variableOf(name);
    const set = this.#environment[variable];
    if (set !== undefined && set !== '')
      return { value: set, source: 'the environment', isFound: false };
    for (const { path, values, isFound = false } of this.#files) {
      const value = values[variable];
      if (value !== undefined && value !== '') return { value, source: path, isFound };
    }
    return undefined;
  }

  /** Files that contain a credential and are readable by other users. */
  get exposed(): readonly string[] {
    const holding = this.#files.filter(({ values }) =>
      (['bearer', 'api-key'] as const).some((name) => values[variableOf(name)] !== undefined),
    );
    return holding.map(({ path }) => path).filter((path) => (statSync(path).mode & 0o077) !== 0);
  }
}

function required(path: string): SettingsFile {
  const file = read(resolve(path));
  if (file !== undefined) return file;
  throw usage(`--config: there is no file ${path}`);
}

function nearest(directory: string): SettingsFile | undefined {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const file = read(join(folder, '.env'));
    if (file !== undefined) return { ...file, isFound: true };
    if (dirname(folder) === folder) return undefined;
  }
}

/** Undefined when there is none, or when it belongs to another user. */
function read(path: string): SettingsFile | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.size > largestFile) return undefined;
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user && found.uid !== 0) return undefined;
  return { path, values: parseEnv(readFileSync(path, 'utf8')) };
}

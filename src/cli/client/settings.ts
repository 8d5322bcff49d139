import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { ConfigCommandOptions } from '../commands/agents.ts';
import { usage } from '../usage.ts';
import { plain } from './text.ts';

/** Settings by flag, environment and file, named like the flags, with their defaults as shown to users. */
const defaults = {
  'agent-card': null,
  transport: "the card's order",
  'a2a-version': 'the newest that the card offers',
  bearer: null,
  'api-key': null,
  cert: null,
  key: 'in the file of the certificate',
  ca: 'those of Node',
  'svc-param': null,
  extension: null,
  timeout: 'none',
  insecure: 'false',
  output: 'text',
  verbose: 'false',
  debug: 'false',
  async: 'false',
  wait: null,
  'await-auth': 'false',
  'poll-interval': '2s',
  'context-id': null,
  'task-id': null,
  metadata: null,
  history: null,
} as const;
export type SettingName = keyof typeof defaults;

const secretSettings: ReadonlySet<string> = new Set(['bearer', 'api-key', 'svc-param']);

interface Setting {
  readonly value: string;
  /** The source as shown to users: `the environment`, or the path of a file. */
  readonly source: string;
  /** Whether the file was found and not named by the user: the author of the folder wrote it. */
  readonly isFound: boolean;
}

interface SettingsFile {
  readonly path: string;
  readonly isFound?: boolean;
  readonly values: NodeJS.Dict<string>;
}

const maxFileBytes = 64 * 1024;

/** `agent-card` is `A2ACLI_AGENT_CARD` in the environment and in files. */
function variableOf(name: string): string {
  return `A2ACLI_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The folder of the user's settings. */
export function settingsFolder(): string {
  const { XDG_CONFIG_HOME: base, HOME: home = homedir() } = process.env;
  return join(base ?? join(home, '.config'), 'a2a-cli');
}

/**
 * Settings without flags: the environment, then the nearest `.env` file upwards (or the given one),
 * then the file of the user (A2A CLI specification 8.3).
 */
export class Settings {
  readonly #files: readonly SettingsFile[];

  constructor(config: string | undefined) {
    const named = config === undefined ? nearest(process.cwd()) : read(resolve(config));
    if (named === undefined && config !== undefined) {
      throw usage(`--config: there is no file ${config}`);
    }
    const own = read(join(settingsFolder(), '.env'));
    this.#files = [named, own].filter((file) => file !== undefined);
  }

  get(name: string): Setting | undefined {
    const variable = variableOf(name);
    const environment = { path: 'the environment', values: process.env, isFound: false };
    for (const { path, values, isFound = false } of [environment, ...this.#files]) {
      const value = values[variable];
      if (value !== undefined && value !== '') return { value, source: path, isFound };
    }
    return undefined;
  }

  /** Files that contain a credential and are readable by other users. */
  get exposed(): readonly string[] {
    const holding = this.#files.filter(({ values }) =>
      Array.from(secretSettings).some((name) => values[variableOf(name)] !== undefined),
    );
    return holding.map(({ path }) => path).filter((path) => (statSync(path).mode & 0o077) !== 0);
  }
}

function nearest(directory: string): SettingsFile | undefined {
  for (let folder = directory; ; folder = dirname(folder)) {
    const file = read(join(folder, '.env'));
    if (file !== undefined) return { ...file, isFound: true };
    if (dirname(folder) === folder) return undefined;
  }
}

/** Undefined if there is no such file, it is too large, or another user owns it. */
function read(path: string): SettingsFile | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.size > maxFileBytes) return undefined;
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user && found.uid !== 0) return undefined;
  return { path, values: parseEnv(readFileSync(path, 'utf8')) };
}

/** Prints the effective value and the source of every setting. */
export function showConfig(options: ConfigCommandOptions): void {
  const settings = new Settings(options.config);
  const shown = Object.entries(defaults).map(([setting, standard]) => {
    const found = settings.get(setting);
    const value = found !== undefined && secretSettings.has(setting) ? '[redacted]' : found?.value;
    return {
      setting,
      variable: variableOf(setting),
      value: value ?? standard,
      source: found?.source ?? 'the default',
    };
  });
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
    return;
  }
  for (const { setting, value, source } of shown) {
    process.stdout.write(`${setting}: ${plain(value ?? '(not set)')} (${source})\n`);
  }
}

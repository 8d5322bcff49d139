import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The Node installed on this machine. */
export interface SystemNode {
  readonly path: string;
  /** For example `v20.20.2`. */
  readonly version: string;
}

/**
 * The Node that programs on this machine use by default, as the official SDK does (Legate installs its
 * own): the first on the path that no package installed. Undefined if it is as new as the one of this
 * checkout.
 */
export function findSystemNode(): SystemNode | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const path = directories
    .filter((directory) => !directory.includes('node_modules'))
    .map((directory) => join(directory, 'node'))
    .find((file) => existsSync(file));
  if (path === undefined) return undefined;
  const version = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim();
  return majorOf(version) < majorOf(process.version) ? { path, version } : undefined;
}

/**
 * Compiles the SDK's server to JavaScript, because older Nodes can't run TypeScript; returns its file.
 */
export function buildSdkServer(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const compiler = fileURLToPath(import.meta.resolve('typescript/package.json'));
  execFileSync(process.execPath, [
    join(compiler, '..', 'bin', 'tsc'),
    '--project',
    join(here, 'servers', 'tsconfig.sdk.json'),
  ]);
  return 'built/servers/sdk.js';
}

function majorOf(version: string): number {
  return Number.parseInt(version.slice(1), 10);
}

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { LocalRegistry } from './local-registry.ts';

const run = promisify(execFile);
export const root = join(import.meta.dirname, '../..');

/** A checkout, the package that it packs, and a folder in which a newcomer starts. */
export interface Newcomer extends AsyncDisposable {
  /** An empty folder. */
  readonly directory: string;
  /** A copy of this checkout after `npm ci`, in a folder named `legate`. */
  readonly checkout: string;
  /** What `npm pack` has written there. */
  readonly tarball: string;
  /** For processes that the newcomer starts: an empty home, this Node, a registry without a network. */
  readonly environment: NodeJS.ProcessEnv;
}

/** What the package is built from, and what `npm start` runs. */
const parts = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'LICENSE',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'deploy',
  'docs',
  'bin',
  'inspector',
  'scripts',
  'src',
  'tools',
  'examples/bank',
];

/** Packs in a copy, so that this checkout stays as it is. */
export async function newcomer(): Promise<Newcomer> {
  const place = await mkdtemp(join(tmpdir(), 'legate-newcomer-'));
  const checkout = join(place, 'legate');
  const directory = join(place, 'empty');
  const home = join(place, 'home');
  for (const folder of [checkout, directory, home]) await mkdir(folder);
  for (const part of parts) {
    await cp(join(root, part), join(checkout, part), {
      recursive: true,
      filter: (path) => !/\/(?:\.legate|node_modules|dist)$/.test(path),
    });
  }
  // What is installed here is what `npm ci` would install there.
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const registry = await LocalRegistry.open(root);
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    HOME: home,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    npm_config_registry: registry.url,
    npm_config_cache: join(place, 'cache'),
    npm_config_update_notifier: 'false',
    npm_config_min_release_age: '0',
  };
  await run('npm', ['pack'], { cwd: checkout, env: environment });
  return {
    directory,
    checkout,
    tarball: join(checkout, `legate-${packageJson.version}.tgz`),
    environment,
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await rm(place, { recursive: true, force: true });
    },
  };
}

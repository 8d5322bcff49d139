import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LocalRegistry } from './local-registry.ts';

const run = promisify(execFile);
export const root = join(import.meta.dirname, '../..');

/** The package as it would be published, and a folder in which a newcomer begins. */
export interface Newcomer extends AsyncDisposable {
  /** An empty folder. */
  readonly directory: string;
  readonly tarball: string;
  /** What was packed. */
  readonly source: string;
  /** For processes that the newcomer starts: the present Node, and a registry without a network. */
  readonly environment: NodeJS.ProcessEnv;
}

/** Builds and packs beside the checkout, which stays as it is. */
export async function newcomer(): Promise<Newcomer> {
  const place = await mkdtemp(join(tmpdir(), 'legate-newcomer-'));
  const source = join(place, 'package');
  const directory = join(place, 'empty');
  await mkdir(source);
  await mkdir(directory);
  await run(process.execPath, [join(root, 'scripts/build.ts'), join(source, 'dist')]);
  for (const file of ['package.json', 'bin', 'README.md', 'LICENSE', 'CHANGELOG.md']) {
    await cp(join(root, file), join(source, file), { recursive: true });
  }
  const registry = await LocalRegistry.open(root);
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    npm_config_registry: registry.url,
    npm_config_cache: join(place, 'cache'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    npm_config_omit: 'optional',
    npm_config_min_release_age: '0',
  };
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', source], {
    cwd: place,
    env: environment,
  });
  const packed = JSON.parse(stdout) as { readonly filename: string }[];
  return {
    directory,
    tarball: join(place, packed[0]?.filename ?? ''),
    source,
    environment,
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await rm(place, { recursive: true, force: true });
    },
  };
}

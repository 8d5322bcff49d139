import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { LegateError } from '../../protocol/index.ts';

/** Beside the compiled code of the package. */
const shipped = join(import.meta.dirname, '../../inspector');
/** The page's own source, in a checkout. */
const checkout = join(import.meta.dirname, '../../../inspector');
/** Whatever the page is made of: its own source, and the modules it imports. */
const sources = ['inspector', 'src/client', 'src/protocol', 'src/http/inspector'];
const isSource = /\.(?:tsx?|css|html|svg|json)$/;
const isTest = /\.test\.tsx?$/;

/** The folder of the page's files. In a checkout the page is built when it is missing or outdated. */
export async function findPage(): Promise<string> {
  if (existsSync(join(shipped, 'index.html'))) return shipped;
  if (existsSync(join(checkout, 'vite.config.ts'))) return buildPage(checkout);
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `the inspector's page is missing at ${shipped}: install the package again`,
  );
}

/**
 * Builds the page of a checkout, unless the same sources were built before; gives the folder. Builds
 * are kept by the fingerprint of their sources and put in place as a whole, so that several processes
 * may build at once.
 */
export async function buildPage(source: string): Promise<string> {
  const root = join(source, '..');
  const cache = join(root, 'node_modules/.cache/legate-inspector');
  const folder = join(cache, await fingerprint(root));
  if (existsSync(join(folder, 'index.html'))) return folder;
  const made = join(cache, randomUUID());
  await mkdir(cache, { recursive: true });
  try {
    // Not a dependency of the package, which has the page built in.
    const { build } = await import('vite');
    await build({
      configFile: join(source, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: made, emptyOutDir: true },
    });
    await rm(folder, { recursive: true, force: true });
    await rename(made, folder);
  } catch (cause) {
    if (existsSync(join(folder, 'index.html'))) return folder;
    throw new LegateError(
      'CONFIGURATION_INVALID',
      'the page of the inspector could not be built; run npm ci, then npx vite build inspector to see why',
      { cause },
    );
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  await forgetOthers(cache, folder);
  return folder;
}

async function fingerprint(root: string): Promise<string> {
  const digest = createHash('sha256');
  for (const place of sources) {
    const names = await readdir(join(root, place), { recursive: true });
    for (const name of names.sort()) {
      if (!isSource.test(name) || isTest.test(name)) continue;
      if (name.startsWith('dist/') || name.includes('node_modules')) continue;
      digest
        .update(`${place}/${relative('.', name)}\0`)
        .update(await readFile(join(root, place, name)));
    }
  }
  return digest.digest('hex').slice(0, 16);
}

/** Builds of former sources; one that another process uses is read already. */
async function forgetOthers(cache: string, kept: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const other = join(cache, name);
    if (other !== kept && /^[0-9a-f]{16}$/.test(name)) {
      await rm(other, { recursive: true, force: true });
    }
  }
}

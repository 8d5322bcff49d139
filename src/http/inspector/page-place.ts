import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LegateError } from '../../protocol/index.ts';
import { buildPage } from './page-build.ts';

/** Beside the compiled code of the package. */
const shipped = join(import.meta.dirname, '../../inspector');
/** The page's own source, in a checkout. */
const source = join(import.meta.dirname, '../../../inspector');

/** The folder of the page's files. In a checkout the page is built when it is missing or outdated. */
export async function findPage(): Promise<string> {
  if (existsSync(join(shipped, 'index.html'))) return shipped;
  if (existsSync(join(source, 'vite.config.ts'))) return buildPage(source);
  throw new LegateError(
    'CONFIGURATION_INVALID',
    `the inspector's page is missing at ${shipped}: install the package again`,
  );
}

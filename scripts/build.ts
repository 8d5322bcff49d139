/**
 * Builds the package: types and code by tsc, the files that code reads at run time, and the inspector.
 * Usage: node scripts/build.ts [folder], by default into `dist`.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { buildPage } from '../src/http/inspector/page.ts';

const root = join(import.meta.dirname, '..');
const out = resolve(process.argv[2] ?? join(root, 'dist'));
rmSync(out, { recursive: true, force: true });
execFileSync(
  join(root, 'node_modules/.bin/tsc'),
  ['-p', join(root, 'tsconfig.build.json'), '--outDir', out],
  { stdio: 'inherit' },
);
for (const file of globSync('src/**/*.{sql,yml,json,html,proto,py,template}', { cwd: root })) {
  if (/__fixtures__|\/testing\//.test(file)) continue;
  cpSync(join(root, file), join(out, relative('src', file)));
}
// The code looks for its page in the folder beside it.
cpSync(await buildPage(join(root, 'inspector')), join(out, 'inspector'), { recursive: true });

/** Builds `dist`: types and code by tsc, and the files that code reads at run time. */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
for (const file of globSync('src/**/*.{sql,yml,json,html,proto}', { cwd: root })) {
  cpSync(join(root, file), join(root, 'dist', relative('src', file)));
}

import { execFile } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import packageJson from '../../package.json' with { type: 'json' };
import { root } from './packed.ts';

const run = promisify(execFile);

/** What publint and "are the types wrong" have to say of a package that has ES modules only. */
export async function problemsOf(tarball: string): Promise<readonly string[]> {
  const bytes = await readFile(tarball);
  const data = new Uint8Array(bytes);
  const { messages } = await publint({ pack: { tarball: data.buffer }, level: 'suggestion' });
  const linted = messages.map((message) => formatMessage(message, packageJson) ?? message.code);
  const analysis = await checkPackage(createPackageFromTarballData(data));
  if (!analysis.types) return [...linted, 'no types'];
  const wrong = analysis.problems.filter(
    (problem) =>
      !('resolutionKind' in problem) ||
      problem.resolutionKind === 'node16-esm' ||
      problem.resolutionKind === 'bundler',
  );
  return [...linted, ...wrong.map((problem) => JSON.stringify(problem))];
}

/** What tsc says of a program that uses all entries, with these types of Node and every library checked. */
export async function typeErrorsOfEntries(project: string, nodeTypes: string): Promise<string> {
  const entries = Object.keys(packageJson.exports).filter((entry) => !entry.endsWith('.json'));
  const imports = entries.map((entry, index) => {
    const from = entry.replace(/^\./, 'legate');
    return `import * as entry${index} from '${from}';\nexport const used${index} = entry${index};`;
  });
  await writeFile(join(project, 'all.ts'), imports.join('\n'));
  return typeErrors(project, ['all.ts'], nodeTypes);
}

/** What tsc says of these files of a project, with `--strict`. */
export async function typeErrors(
  project: string,
  files: readonly string[],
  nodeTypes = '@types/node',
): Promise<string> {
  const types = join(project, 'node_modules/@types/node');
  await rm(types, { recursive: true, force: true });
  await cp(join(root, 'node_modules', nodeTypes), types, { recursive: true });
  const own = join(types, 'node_modules/undici-types');
  const hoisted = join(root, 'node_modules/undici-types');
  await cp(hoisted, own, { recursive: true, force: false, errorOnExist: false });
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom'],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ['node'],
  };
  const config = join(project, 'tsconfig.json');
  await writeFile(config, JSON.stringify({ compilerOptions, files }));
  return run(join(root, 'node_modules/.bin/tsc'), ['-p', config]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
}

/** Targets of relative links and images of a page. */
export function relativeLinks(markdown: string): readonly string[] {
  return Array.from(markdown.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g), ([, target = '']) => target);
}

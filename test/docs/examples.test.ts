import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { entryFiles, type Exported, exportsOf } from '../../scripts/reference/exports.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
/** Inside the checkout, so that packages are found from there. */
const place = join(root, `.legate/examples-${process.pid}`);

/** Names that an example takes for granted, such as a store that it has: theirs is no mistake. */
const unknownName = /error TS(?:2304|2552|18004):/;

beforeAll(() => rm(place, { recursive: true, force: true }));
afterAll(() => rm(place, { recursive: true, force: true }));

/** The example of a doc comment, without the comment around it. */
function exampleIn(comment: string): string | undefined {
  const [, text] = /@example([\s\S]*?)(?:\n\s*\*\s*@|$)/.exec(comment) ?? [];
  return text
    ?.split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim();
}

/** A module that runs the example, with what it uses of the package imported. */
function moduleOf(
  code: string,
  own: Exported & { readonly entryFile: string },
  homes: Homes,
): string {
  const given = code.match(/^import .*$/gm) ?? [];
  const body = code.replaceAll(/^import .*$/gm, '').replaceAll(/^export (?=const|default)/gm, '');
  const taken = new Set(given.join(' ').match(/\w+/g) ?? []);
  const imports = [...new Set(body.match(/\b[A-Za-z]\w*\b/g) ?? [])].flatMap((name) => {
    const entryFile = name === own.name ? own.entryFile : homes.get(name);
    const isDeclared = new RegExp(`(?:const|let|class|function\\*?) (?:[[{][^=]*)?\\b${name}\\b`);
    // A word such as `agent` is the function where it is called, and else somebody's agent.
    const isMeant =
      name === own.name || /^[A-Z]/.test(name) || new RegExp(`\\b${name}\\(`).test(body);
    if (entryFile === undefined || !isMeant || taken.has(name) || isDeclared.test(body)) return [];
    return [`import { ${name} } from '${join(root, 'src', entryFile)}';`];
  });
  return [...given, ...imports, 'export async function* _() {', body, '}', ''].join('\n');
}

type Homes = ReadonlyMap<string, string>;

test('every example of a doc comment is right, as far as its types say', async () => {
  const all = entryFiles.flatMap((entryFile) =>
    exportsOf(join(root, 'src', entryFile)).map((one) => ({ ...one, entryFile })),
  );
  const homes = new Map(all.toReversed().map(({ name, entryFile }) => [name, entryFile]));
  const seen = new Map(all.toReversed().map((one) => [`${one.file} ${one.name}`, one]));
  await mkdir(place, { recursive: true });
  let count = 0;
  for (const one of seen.values()) {
    const code = exampleIn(one.comment ?? '');
    if (code === undefined || code === '') continue;
    count += 1;
    const name = `${count}.${one.name}.${basename(one.file, '.ts')}.ts`;
    await writeFile(join(place, name), moduleOf(code, one, homes));
  }
  expect(count).toBeGreaterThan(200);
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noImplicitAny: false,
      noUnusedLocals: false,
      verbatimModuleSyntax: false,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      paths: Object.fromEntries(
        entryFiles.map((entryFile) => [
          entryFile === 'index.ts' ? 'legate' : `legate/${entryFile.replace('/index.ts', '')}`,
          [join(root, 'src', entryFile)],
        ]),
      ),
    },
    include: ['**/*.ts'],
  };
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', place], {
    maxBuffer: 16 * 1024 * 1024,
  }).catch((error: unknown) => error as { readonly stdout: string });
  const mistakes = stdout
    .split('\n')
    .filter((line) => line.includes('.legate/examples') && !unknownName.test(line));
  expect(mistakes).toEqual([]);
}, 120_000);

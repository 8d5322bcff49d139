import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../newcomer/markdown.ts';
import { postgres } from '../support/postgres.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
/** Inside the checkout, so that packages are found from there. */
const place = join(root, `.legate/snippets-${process.pid}`);

/** Programs that serve until they are stopped: here they are asked for their card, and stopped. */
const serving = `
const _card = await fetch(\`http://127.0.0.1:\${server.port}/.well-known/agent-card.json\`);
console.log(_card.status);
await server.close();
`;
/** Pages that are followed from top to bottom: in test/newcomer, assistant-guide.test.ts and bus-guide.test.ts. */
const followed = new Set([
  'README.md',
  'docs/tutorial.md',
  'docs/guides/assistant.md',
  'docs/guides/bus.md',
]);
const servers = new Set(['docs/guides/scale-out.md', 'docs/guides/inspector.md']);

interface Snippet {
  readonly page: string;
  readonly file: string;
  readonly code: string;
  /** What the page says it prints; undefined where it does not say. */
  readonly output: string | undefined;
  readonly isRun: boolean;
}

const snippets: Snippet[] = [];
/** Pages with programs that are neither typed nor run here. */
const untested: string[] = [];
/** Packages of code that pages show as what was before. */
const others: string[] = [];

beforeAll(async () => {
  await rm(place, { recursive: true, force: true });
  for (const page of globSync('{README.md,docs/**/*.md}', { cwd: root }).sort()) {
    const blocks = blocksOf(await readFile(join(root, page), 'utf8'));
    for (const [index, { language, info, title, body }] of blocks.entries()) {
      // Files that examples have are checked where they are.
      if (['tsx', 'jsx', 'js', 'javascript'].includes(language)) untested.push(page);
      if (language !== 'ts' || info.startsWith('file=')) continue;
      const foreign = /^package=(\S+)$/.exec(info)?.[1];
      if (foreign !== undefined) {
        others.push(foreign);
        continue;
      }
      const after = blocks[index + 1];
      const file = join(place, page.replace(/\.md$/, ''), `${index}.ts`);
      const isServer = title !== undefined && servers.has(page);
      const snippet: Snippet = {
        page,
        file,
        code: isServer ? body.replace(/port: \d+/, 'port: 0') + serving : body,
        output: isServer ? '200' : after?.language === 'text' ? after.body.trim() : undefined,
        isRun: title === undefined || isServer,
      };
      snippets.push(snippet);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `${snippet.code}\nexport {};\n`);
    }
  }
});
afterAll(() => rm(place, { recursive: true, force: true }));

async function database(): Promise<string> {
  return (await postgres()).database();
}

test('every snippet has the types it should', async () => {
  const entryFiles = ['client', 'assistant', 'models', 'bus', 'peers', 'auth', 'push'];
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      // Actions of assistants may be plain objects.
      noImplicitAny: false,
      noUnusedLocals: false,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      paths: {
        legate: [join(root, 'src/index.ts')],
        ...Object.fromEntries(
          entryFiles.map((entryFile) => [
            `legate/${entryFile}`,
            [join(root, `src/${entryFile}/index.ts`)],
          ]),
        ),
      },
    },
    include: ['**/*.ts'],
  };
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', place]).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  // Mistakes elsewhere are found elsewhere.
  const mistakes = stdout.split('\n').filter((line) => line.includes('.legate/snippets'));
  expect(mistakes).toEqual([]);
}, 120_000);

test('the only programs that are not tested need another framework, which is not installed', () => {
  expect(untested).toEqual([]);
  expect(others.filter((name) => existsSync(join(root, 'node_modules', name)))).toEqual([]);
});

test('every program is run, here or by the test that follows its page', () => {
  const left = snippets.filter(({ page, isRun }) => !isRun && !followed.has(page));
  expect(left.map(({ page, code }) => `${page}: ${code}`)).toEqual([]);
});

test('every snippet runs, and prints what its page says', async () => {
  const running = snippets.filter(({ isRun }) => isRun);
  expect(running.length).toBeGreaterThan(5);
  const { stdout } = await run(
    process.execPath,
    [join(import.meta.dirname, 'run-snippets.ts'), ...running.map(({ file }) => file)],
    { cwd: place, timeout: 90_000, env: { ...process.env, DATABASE_URL: await database() } },
  );
  const results = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { file: string; output: string; error?: string });
  expect(results.map(({ file }) => file)).toEqual(running.map(({ file }) => file));
  for (const [index, { page, output }] of running.entries()) {
    const result = results[index];
    expect(result?.error, page).toBeUndefined();
    if (output === undefined) continue;
    // A server may print its address first, which differs from run to run.
    const lines = (result?.output.trim() ?? '').split('\n');
    const said = servers.has(page) ? lines.slice(-1) : lines;
    expect(said.join('\n'), page).toBe(output);
  }
}, 120_000);

import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { environment } from '../../src/cli/testing/environment.ts';
import { type Block, blocksOf } from '../newcomer/markdown.ts';

const root = join(import.meta.dirname, '../..');
/** Followed from top to bottom in test/newcomer. */
const followed = ['docs/tutorial.md'];
const pages = globSync('docs/**/*.md', { cwd: root }).filter(
  (page) => !followed.includes(page) && !page.startsWith('docs/reference/'),
);
const blocks = pages.flatMap((page) =>
  blocksOf(readFileSync(join(root, page), 'utf8'))
    .filter(({ language }) => language === 'sh')
    .map((block) => ({ ...block, page })),
);

test('every shell block is run here or by the test that it names, or says that no test runs it', () => {
  const wrong = blocks.filter(({ info, body }) => {
    const named = /^test=(\S+)$/.exec(info)?.[1];
    if (named !== undefined) return !existsSync(join(root, named));
    const isMarked = body.startsWith('# Not run by the tests.\n');
    return info === 'not-run' ? !isMarked : isMarked || info !== '';
  });
  expect(wrong.map(({ page, body }) => `${page}: ${body}`)).toEqual([]);
});

function path(directory: string): string {
  return [join(directory, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter);
}

/** A folder with the bank as `my-assistant` and the command, as if it was installed. */
function project(): string {
  const directory = mkdtempSync(join(tmpdir(), 'legate-shell-blocks-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(join(root, 'examples/bank'), join(directory, 'my-assistant'), {
    recursive: true,
    filter: (path) => !path.endsWith('/.legate'),
  });
  mkdirSync(join(directory, 'bin'));
  symlinkSync(join(root, 'bin/legate.cjs'), join(directory, 'bin/legate'));
  return directory;
}

test.each(blocks.filter(({ info }) => info === ''))('$page: $body', async ({ body }: Block) => {
  const directory = project();
  // Any free port: that of the page may be taken here.
  const script = body.replaceAll('npx legate', 'legate').replace(/--port \d+/, '--port 0');
  const child = spawn('bash', ['-ec', `exec ${script.trim().replace(/\s+#.*$/, '')}`], {
    cwd: directory,
    env: { ...environment, HOME: directory, PATH: path(directory) },
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  if (/^legate run\b/.test(script)) {
    await expect.poll(() => said, { timeout: 60_000 }).toContain('Stop:');
    const url = /at (http:\/\/\S+)/.exec(said)?.[1] ?? '';
    expect((await fetch(`${url}/health`)).status).toBe(200);
    child.kill('SIGTERM');
    await ended;
    return;
  }
  expect(await ended, said).toBe(0);
});

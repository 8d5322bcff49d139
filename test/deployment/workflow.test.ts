import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { fullPackages, packages } from '../support/servers.ts';

const root = join(import.meta.dirname, '../..');
const schema = z.object({
  jobs: z.record(
    z.string(),
    z.object({
      needs: z.string().optional(),
      'runs-on': z.string(),
      steps: z.array(
        z.object({
          uses: z.string().optional(),
          run: z.string().optional(),
          env: z.record(z.string(), z.string()).optional(),
        }),
      ),
    }),
  ),
});
const { jobs } = schema.parse(parse(readFileSync(join(root, '.github/workflows/ci.yml'), 'utf8')));

/** The packages that a job installs. */
function installed(name: string): readonly string[] {
  const line = jobs[name]?.steps.find(({ run }) => run?.includes('apt-get install'))?.run ?? '';
  return (line.split('apt-get install ')[1] ?? '').split(' ').filter((word) => /^[a-z]/.test(word));
}

test('a change is tested by the script that developers run, and main by all of it', () => {
  expect(jobs['test']?.steps.at(-1)?.run).toBe('bash .ci/run');
  expect(jobs['full']).toMatchObject({ needs: 'test' });
  expect(jobs['full']?.steps.at(-1)?.run).toBe('npm ci && npm run ci:full');
});

describe.each([
  ['test', []],
  ['full', fullPackages],
])('the job %s', (name, more) => {
  test('installs what the tests start, of what Ubuntu has as a package', () => {
    // Ubuntu has Chromium as a snap, and every image has bash.
    const needed = packages.filter((each) => each !== 'chromium' && each !== 'bash');
    expect(installed(name).toSorted()).toEqual([...needed, ...more].toSorted());
  });

  test('names the browser of the runner', () => {
    expect(jobs[name]).toMatchObject({ 'runs-on': 'ubuntu-24.04' });
    expect(jobs[name]?.steps.at(-1)?.env).toMatchObject({ CHROMIUM: '/usr/bin/google-chrome' });
    const support = readFileSync(join(root, 'test/support/chromium.ts'), 'utf8');
    expect(support).toContain('process.env.CHROMIUM');
  });
});

test('every test that starts a browser starts that one', () => {
  const files = globSync('{test,src,inspector,bench,examples}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  const own = files.filter((file) =>
    /chromium as |chromium\.launch\(/.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(own.filter((file) => !file.endsWith('workflow.test.ts'))).toEqual([
    'test/support/chromium.ts',
  ]);
});

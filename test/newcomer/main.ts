/**
 * From a clone to a rendered deployment, as a newcomer who reads nothing but the README and the tutorial: an
 * empty home, an empty cache, every command as the pages print it. Prints the seconds of each stage.
 * Clones what is committed. Needs the npm registry, and Helm or Go to build it.
 * Usage: npm run newcomer
 */
import { equal, match } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { executeDockerfile } from '../../scripts/deployment/dockerfile.ts';
import { helm } from '../../scripts/deployment/tools.ts';
import { type Block, blocksOf } from './markdown.ts';
import { Reader, until } from './reader.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const place = await mkdtemp(join(tmpdir(), 'legate-newcomer-'));
const checkout = join(place, 'legate');
const home = join(place, 'home');
await mkdir(home);
const helmBinary = helm();
const programs = [process.execPath, helmBinary].filter(isAbsolute).map((path) => dirname(path));
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  HOME: home,
  PATH: [...programs, process.env['PATH']].join(delimiter),
  npm_config_cache: join(place, 'cache'),
};

/** The blocks below a heading of level 2; those before the first one have the heading ''. */
async function section(page: string, heading: string): Promise<readonly Block[]> {
  const text = await readFile(join(checkout, page), 'utf8');
  const parts = text.split(/^## /m);
  const found = parts.findIndex((part, index) =>
    index === 0 ? heading === '' : part.startsWith(`${heading}\n`),
  );
  if (found < 0) throw new Error(`${page} has no section "${heading}"`);
  return blocksOf(parts[found] ?? '');
}

const sh = (body: string, info = ''): Block => ({ language: 'sh', info, title: undefined, body });
const reader = new Reader(checkout, environment);

const stages: readonly (readonly [name: string, go: () => Promise<void>])[] = [
  [
    'clone',
    async () => {
      await run('git', ['clone', '-q', root, checkout]);
    },
  ],
  ['npm ci', () => reader.follow([sh('npm ci')])],
  [
    'first conversation',
    async () => {
      const [first] = await section('README.md', '');
      match(first?.body ?? '', /^npm ci && npm start/);
      await reader.follow([sh('npm start', 'background')]);
      const command = await until(
        () => /(?<=^Try it: +)npx .+$/m.exec(reader.said)?.[0],
        () => `npm start printed nothing to try: ${reader.said}`,
      );
      await reader.follow([sh(command)]);
      match(reader.said, /You have 1250 euros on your account\./);
    },
  ],
  ['package and project', async () => reader.follow(await section('README.md', 'Install'))],
  [
    'first agent',
    async () => reader.follow(await section('README.md', 'Serve an agent and call it')),
  ],
  [
    'first tool',
    async () => reader.follow(await section('README.md', 'Kill a process during a task')),
  ],
  [
    'first assistant',
    async () => {
      reader.directory = checkout;
      const tutorial = blocksOf(await readFile(join(checkout, 'docs/tutorial.md'), 'utf8'));
      await reader.follow(tutorial.filter(({ info }) => info !== 'checkout'));
    },
  ],
  [
    'new projects',
    async () => {
      for (const kind of ['assistant', 'agent', 'worker']) {
        reader.directory = checkout;
        await reader.follow([sh(`npx legate init ../made-${kind} --kind ${kind}`)]);
        const printed = reader.said.split('Next steps:\n')[1]?.split('\n') ?? [];
        const steps = printed.map((line) => line.trim());
        const install = steps.slice(0, steps.indexOf('npm install') + 1);
        await reader.follow([sh([...install, 'npm test'].join('\n'))]);
      }
    },
  ],
  [
    'image, no container',
    async () => {
      const images = join(place, 'images');
      await mkdir(images);
      const file = join(checkout, 'deploy/Dockerfile');
      const image = await executeDockerfile({
        file,
        context: checkout,
        place: images,
        env: environment,
      });
      equal(image.entrypoint[0], 'legate');
      reader.directory = image.directory;
      await reader.follow([sh('node_modules/.bin/legate validate project --fail-on-warnings')]);
    },
  ],
  [
    'first deployment render',
    async () => {
      reader.directory = checkout;
      await reader.follow(await section('README.md', 'Deploy'));
      match(reader.said, /^kind: Deployment$/m);
    },
  ],
];

try {
  let total = 0;
  for (const [name, go] of stages) {
    const start = performance.now();
    await go();
    const seconds = (performance.now() - start) / 1_000;
    total += seconds;
    console.log(`${name.padEnd(24)} ${seconds.toFixed(1).padStart(6)} s`);
  }
  console.log(`${'total'.padEnd(24)} ${total.toFixed(1).padStart(6)} s`);
  equal(reader.directory, checkout);
} finally {
  await reader[Symbol.asyncDispose]();
  await rm(place, { recursive: true, force: true });
}

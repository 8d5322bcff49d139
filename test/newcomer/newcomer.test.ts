import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filesOf, type Installation, installation, page, shell } from './installation.ts';
import { root } from './packed.ts';
import { problemsOf, relativeLinks, typeErrors } from './published.ts';
import { Reader } from './reader.ts';

let me: Installation['me'];
beforeAll(async () => {
  ({ me } = await installation());
}, 400_000);
afterAll(() => me[Symbol.asyncDispose]());

test('the package has the inspector and all that is read at run time, and no tests', async () => {
  const { stdout } = await promisify(execFile)('tar', ['-tzf', me.tarball]);
  const files = stdout.split('\n');
  expect(files).toEqual(
    expect.arrayContaining([
      'package/bin/legate.cjs',
      'package/dist/index.js',
      'package/dist/index.d.ts',
      'package/dist/auth/index.js',
      'package/dist/push/index.js',
      'package/dist/inspector/index.html',
      'package/dist/assistant/patterns/default-flows.yml',
      'package/dist/grpc/protos/a2a.v1.proto',
      'package/dist/store/sqlite/migrations/0001_initial.sql',
      'package/README.md',
      'package/LICENSE',
    ]),
  );
  const unwanted =
    /\.(?:test|contract)\.|\/testing\/|__fixtures__|\.legate|^package\/(?:src|test)\//;
  expect(files.filter((file) => unwanted.test(file))).toEqual([]);
  // Of the documentation it has what the README links to, and no other image.
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const linked = relativeLinks(readme).map((target) => `package/${target}`);
  expect(linked.filter((path) => !files.some((file) => `${file}/`.startsWith(`${path}/`)))).toEqual(
    [],
  );
  const images = files.filter((file) => file.startsWith('package/docs/') && !file.endsWith('.md'));
  expect(images).toEqual(linked.filter((path) => path.endsWith('.png')));
});

test('the package has the size that the README says, give or take 10 %', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const [, said] = /^\| the package, packed \| ([\d.]+) \| MiB \|/m.exec(readme) ?? [];
  const { size } = await stat(me.tarball);
  const measured = size / 1024 / 1024;
  expect(Math.abs(measured - Number(said)) / measured, `${measured.toFixed(2)} MiB`).toBeLessThan(
    0.1,
  );
});

test('publint and "are the types wrong" find nothing wrong with the package', async () => {
  expect(await problemsOf(me.tarball)).toEqual([]);
}, 60_000);

test('the README works as written in a folder made by npm init, and its TypeScript passes --strict', async () => {
  await using reader = new Reader(me.checkout, me.environment);
  const blocks = await page('README.md');
  // The first commands are for a checkout, see below.
  await reader.follow(blocks.filter(({ info }) => info !== 'checkout'));
  expect(reader.directory).not.toBe(me.checkout);
  expect(await typeErrors(reader.directory, filesOf(blocks))).toBe('');
  // Sent again, the message with the key is a duplicate.
  const send = blocks.filter(({ body }) => body.includes('Idempotency-Key'));
  const sent: string[] = [];
  for (const block of [...send, ...send]) {
    await reader.follow([block]);
    sent.push(reader.said);
  }
  expect(sent[0]).toContain('Hello, world!');
  expect(sent).toEqual([sent[0], sent[0]]);
  // The sandbox is a thread with a file of its own, which only the compiled package has for other Nodes.
  await reader.follow([{ ...shell('node sandbox.ts'), title: 'sandbox.ts', body: sandboxed }]);
  await reader.follow([shell('node sandbox.ts')]);
  expect(reader.said).toContain('42');
}, 120_000);

const sandboxed = `
import { codeExecution, llmAgent, Runner } from 'legate';
import { scriptedModel } from 'legate/models';
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? JSON.stringify(messages.at(-1))
    : { toolCalls: [{ name: 'run_code', input: { code: '6 * 7' } }] },
);
const runner = new Runner({ agent: llmAgent({ name: 'a', model, tools: [codeExecution()] }) });
console.log((await runner.run({ message: 'go' })).text);
`;

test('npm start in a checkout serves the bank, with what the README and its own words promise', async () => {
  const blocks = await page('README.md');
  const first = blocks.find(({ info }) => info === 'checkout')?.body ?? '';
  const start = /^npm ci && (npm start)/m.exec(first)?.[1] ?? '';
  await using reader = new Reader(me.checkout, me.environment);
  await reader.follow([shell(start, 'background')]);
  // Every command that it says, done as it says it.
  await expect.poll(() => reader.said).toContain('Stop:');
  const commands = reader.said.match(/(?<=^Try it: +)npx .+$/gm) ?? [];
  expect(commands.length).toBeGreaterThan(0);
  for (const body of commands) {
    await reader.follow([shell(body)]);
    expect(reader.said).toContain('You have 1250 euros on your account.');
  }
  await reader.follow([shell('curl -sf http://localhost:5005/inspect/')]);
  expect(reader.said).toContain('<title>Legate inspector</title>');
}, 120_000);

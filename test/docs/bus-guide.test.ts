import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { blocksOf, fileOf } from '../newcomer/markdown.ts';
import { rabbitMq } from '../support/rabbitmq.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const legate = join(root, 'bin/legate.cjs');
const agents = ['archive', 'editor', 'reporter'] as const;

/** The files of the guide in a folder of their own, with the broker of the tests. */
async function project() {
  const directory = await mkdtemp(join(tmpdir(), 'legate-bus-guide-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const blocks = blocksOf(await readFile(join(root, 'docs/guides/bus.md'), 'utf8'));
  const files = blocks.filter(({ title }) => title !== undefined);
  for (const block of files) await writeFile(join(directory, fileOf(block) ?? ''), block.body);
  expect(files.map(fileOf)).toEqual([...agents.map((name) => `${name}.ts`), 'endpoints.yml']);
  const { url } = await rabbitMq();
  const said = blocks.find(({ language }) => language === 'text')?.body ?? '';
  return { cwd: directory, env: { ...process.env, AMQP_URL: url }, said };
}

interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

async function work(agent: string, { cwd, env }: Place, ...more: string[]): Promise<ChildProcess> {
  const args = [legate, 'work', `${agent}.ts`, '--log-level', 'error', ...more];
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  await expect.poll(() => output, { timeout: 60_000 }).toMatch(/Working as|Waiting for one task/);
  return child;
}

test(
  'the three agents of the guide work together, and end on SIGTERM',
  { timeout: 180_000 },
  async () => {
    const place = await project();
    const workers = await Promise.all(agents.map((agent) => work(agent, place)));
    const call = ['call', 'reporter', 'reporter', 'bees', '--answer', '1901'];
    const { stdout, stderr } = await run(process.execPath, [legate, ...call], place);
    const lines = place.said.trim().split('\n');
    expect(`${stderr}${stdout}`.trim().split('\n').toSorted()).toEqual(lines.toSorted());
    for (const worker of workers) {
      const ended = once(worker, 'exit');
      worker.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    }
  },
);

test(
  'a worker with --once ends after its task, whatever its agent has opened',
  { timeout: 180_000 },
  async () => {
    const place = await project();
    const busy = 'setInterval(() => {}, 1_000_000);\n';
    const module = await readFile(join(place.cwd, 'editor.ts'), 'utf8');
    await writeFile(
      join(place.cwd, 'editor.ts'),
      module.replaceAll("'editor'", "'lingerer'") + busy,
    );
    const worker = await work('editor', place, '--once');
    const ended = once(worker, 'exit');
    const call = ['call', 'lingerer', 'lingerer', 'bees'];
    expect((await run(process.execPath, [legate, ...call], place)).stdout.trim()).toBe('BEES');
    expect(await ended).toEqual([0, null]);
  },
);

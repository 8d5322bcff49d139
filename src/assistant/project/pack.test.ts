import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { formatProblem } from '../../config/index.ts';
import { loadProject } from './load-project.ts';
import { loadPacked, packProject } from './pack.ts';
import { writeTar } from './package-entries.ts';

const loan = fileURLToPath(new URL('__fixtures__/loan', import.meta.url));
const environment = {
  OPENAI_API_KEY: 'hunter2',
  MODEL_TIMEOUT: '7',
  LOANS_TOKEN: 'hunter2',
  APPRAISER_KEY: 'hunter2',
};
const now = Date.UTC(2026, 0, 31, 23, 59, 59);

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-pack-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

test('a packed project is the same project', async () => {
  const directory = join(await temporary(), 'models');
  const loaded = await loadProject({ directory: loan }, environment);
  const file = await packProject(loaded, { directory, now });
  expect(basename(file)).toBe('20260131-235959-loan_desk.tar.gz');
  expect(await readdir(directory)).toEqual(['20260131-235959-loan_desk.tar.gz']);
  const endpoints = join(loan, 'endpoints.yml');
  const packed = await loadPacked(file, { endpoints }, environment);
  expect(packed.problems.all.map(formatProblem)).toEqual([]);
  expect(packed.project.modelId).toBe(loaded.project.modelId);
  expect(packed.project.name).toBe('loan_desk');
  const steps = (flows: typeof loaded.project.flows) =>
    JSON.stringify([...flows.values()].map(({ steps }) => [...steps.keys()]));
  expect(steps(packed.project.flows)).toBe(steps(loaded.project.flows));
  expect(packed.project.subAgents).toEqual(loaded.project.subAgents);
  expect(packed.project.files).toEqual(loaded.project.files);
  expect(packed.project.domain.raw).toEqual(loaded.project.domain.raw);
});

test('what only endpoints.yml refers to is read where the package runs', async () => {
  const directory = await temporary();
  const file = await packProject(await loadProject({ directory: loan }, environment), {
    directory,
    now,
  });
  const endpoints = join(directory, 'endpoints.yml');
  const text = await readFile(join(loan, 'endpoints.yml'), 'utf8');
  await writeFile(
    endpoints,
    text.replace('type: rephrase', 'type: rephrase\n  prompt: mine.jinja2'),
  );
  await writeFile(join(directory, 'mine.jinja2'), 'Say it kindly.');
  const { project, problems } = await loadPacked(file, { directory, endpoints }, environment);
  expect(problems.all.map(formatProblem)).toEqual([]);
  expect(project.directory).toBe(directory);
  expect(project.files.get('mine.jinja2')).toBe('Say it kindly.');
});

test('the same project packs to the same bytes, and no secret goes in', async () => {
  const directory = await temporary();
  const loaded = await loadProject({ directory: loan }, environment);
  const first = await readFile(await packProject(loaded, { directory, now }));
  const second = await readFile(await packProject(loaded, { directory, fixedName: 'mine.tar.gz' }));
  expect(await readdir(directory)).toContain('mine.tar.gz');
  expect(second.equals(first)).toBe(true);
  expect(loaded.entries.some(({ text }) => text.includes('hunter2'))).toBe(false);
});

test('a project with errors is not packed', async () => {
  const loaded = await loadProject({ directory: loan }, { NODE_ENV: 'production' });
  await expect(packProject(loaded, { directory: await temporary() })).rejects.toThrow(
    'environment variable LOANS_TOKEN is not set',
  );
});

test('an invalid package is refused with the reason', async () => {
  const directory = await temporary();
  const refused = async (content: Uint8Array, reason: string) => {
    const file = join(directory, 'model.tar.gz');
    await writeFile(file, content);
    await expect(loadPacked(file, {}, {})).rejects.toThrow(reason);
  };
  const manifest = (text: string) => ({ path: 'legate.json', content: Buffer.from(text) });
  const modelId = '0'.repeat(64);
  await expect(loadPacked(join(directory, 'none'), {}, {})).rejects.toThrow(
    'there is no such file',
  );
  await refused(Buffer.from('plain text'), 'it cannot be unpacked');
  await refused(gzipSync('not an archive'), 'the package is cut off');
  await refused(gzipSync(writeTar([])), 'it has no legate.json');
  await refused(gzipSync(writeTar([manifest('{')])), 'its legate.json is not JSON');
  await refused(gzipSync(writeTar([manifest('{"format":2}')])), 'it was packed by another version');
  await refused(
    gzipSync(writeTar([manifest('{"format":1,"name":3}')])),
    'has no name or no modelId',
  );
  const forged = JSON.stringify({ format: 1, name: 'x', modelId });
  await refused(gzipSync(writeTar([manifest(forged)])), 'its content does not fit its model id');
});

test('a small file that unpacks to a huge one is refused', async () => {
  const file = join(await temporary(), 'bomb.tar.gz');
  await writeFile(file, gzipSync(Buffer.alloc(300_000_000)));
  await expect(loadPacked(file, {}, {})).rejects.toThrow('it cannot be unpacked');
});

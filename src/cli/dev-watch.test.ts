import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { FileWatch, watchFolder } from './dev-watch.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'legate-watch-'));
  cleanups.push(() => rm(made, { recursive: true, force: true }));
  return made;
}

test('sources of an assistant are watched, and stores, logs and notes are not', async () => {
  const path = await folder();
  for (const name of ['data', 'docs', '.legate']) await mkdir(join(path, name));
  const changed = new Set<string>();
  const watcher = watchFolder(path, (file) => changed.add(file));
  cleanups.push(() => watcher.close());
  const written = ['tasks.db', 'tasks.db-wal', 'dev.log', 'ledger.txt', '.legate/notes.yml'];
  for (const name of written) await writeFile(join(path, name), 'x');
  const sources = ['docs/hours.md', 'data/flows.yml', 'endpoints.yml'];
  for (const name of sources) await writeFile(join(path, name), 'x');
  await expect.poll(() => [...changed].toSorted()).toEqual(sources.toSorted());
});

test('a file is watched over its replacement, and only while it is kept', async () => {
  const path = await folder();
  const [one, other, last] = ['one.ts', 'other.ts', 'last.ts'].map((name) => join(path, name));
  const changed: string[] = [];
  const files = new FileWatch((file) => changed.push(file));
  cleanups.push(() => files.close());
  for (const file of [one, other, last]) if (file !== undefined) files.add(file);
  await writeFile(join(path, 'draft'), 'longer than before');
  await rename(join(path, 'draft'), String(one));
  await expect.poll(() => changed).toContain(one);
  files.keep(new Set([String(one), String(last)]));
  changed.length = 0;
  await writeFile(String(other), 'not watched any more');
  await writeFile(String(last), 'watched');
  await expect.poll(() => changed).toContain(last);
  expect(changed).not.toContain(other);
});

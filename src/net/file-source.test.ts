import { rename, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../test/support/stores.ts';
import type { Logger } from '../telemetry/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { checkFiles, FileSource } from './index.ts';

async function source({ settleMs = 5 } = {}) {
  const folder = await temporaryDirectory();
  const path = join(folder.path, 'key.txt');
  await writeFile(path, 'one');
  const events: string[] = [];
  const note = (_fields: object, event: string): void => void events.push(event);
  const logger: Logger = { ...silentLogger, info: note, error: note };
  let now = 0;
  let failure: string | undefined;
  const load = (): string => {
    if (failure !== undefined) throw new Error(failure);
    const text = readFileSync(path, 'utf8');
    if (text === '' || text === 'half') throw new Error('cut off');
    return text;
  };
  const files = new FileSource({
    what: 'test keys',
    paths: [path],
    load,
    logger,
    settleMs,
    now: () => now,
  });
  return {
    path,
    files,
    events,
    later: () => (now += 2_000),
    fail: (reason: string | undefined) => (failure = reason),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('a file that was replaced is read at the next look, and not before', async () => {
  await using one = await source();
  await writeFile(`${one.path}.new`, 'two');
  await rename(`${one.path}.new`, one.path);
  expect(await one.files.current()).toBe('one');
  one.later();
  expect(await one.files.current()).toBe('two');
  expect(one.events).toEqual(['files.reloaded']);
});

test.each([
  ['truncated', async (path: string) => writeFile(path, '')],
  ['half written', async (path: string) => writeFile(path, 'half')],
  ['removed', async (path: string) => rm(path)],
])('while a file is %s the last good value is used, with one error', async (_, spoil) => {
  await using one = await source();
  await spoil(one.path);
  for (let looks = 0; looks < 3; looks += 1) {
    one.later();
    expect(await one.files.current()).toBe('one');
  }
  expect(one.events).toEqual(['files.reload_failed']);
  await writeFile(one.path, 'two');
  one.later();
  expect(await one.files.current()).toBe('two');
  expect(one.events).toEqual(['files.reload_failed', 'files.reloaded']);
});

test('a file that can still not be used is reported with every check, and logged once', async () => {
  await using one = await source();
  await writeFile(one.path, 'half');
  for (let checks = 0; checks < 2; checks += 1) {
    expect(await one.files.check()).toMatchObject({ outcome: 'failed', error: 'cut off' });
  }
  expect(one.events).toEqual(['files.reload_failed']);
});

test('files that a machine could not read for a while are read later, without another change', async () => {
  await using one = await source();
  one.fail('too many open files');
  await writeFile(one.path, 'two');
  one.later();
  expect(await one.files.current()).toBe('one');
  one.fail(undefined);
  one.later();
  expect(await one.files.current()).toBe('two');
  expect(one.events).toEqual(['files.reload_failed', 'files.reloaded']);
});

test('a file that is being written is read when it is complete', async () => {
  // Longer than a busy machine takes for the write below.
  await using one = await source({ settleMs: 1_000 });
  await writeFile(one.path, 'half');
  one.later();
  const reading = one.files.current();
  await writeFile(one.path, 'two');
  expect(await reading).toBe('two');
  expect(one.events).toEqual(['files.reloaded']);
});

test('all files of the process can be looked at now', async () => {
  await using one = await source();
  await writeFile(one.path, 'two');
  const own = (await checkFiles()).filter(({ paths }) => paths.includes(one.path));
  expect(own).toEqual([{ what: 'test keys', paths: [one.path], outcome: 'reloaded' }]);
  expect(one.files.last).toBe('two');
});

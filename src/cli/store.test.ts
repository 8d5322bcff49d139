import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { postgres } from '../../test/support/postgres.ts';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { Json } from '../protocol/index.ts';
import { openStore } from '../store/index.ts';

const bin = join(import.meta.dirname, '../../bin/legate.cjs');

test(
  'a store is backed up while it is open, restored while it is not, checked and migrated',
  { timeout: 60_000 },
  async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'store.db');
    const copy = join(directory.path, 'copy.db');
    const run = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [bin, 'store', ...args, '--store', path],
        { encoding: 'utf8' },
      );
      return { status, out: stdout, err: stderr };
    };
    const write = async (value: string) => {
      const store = await openStore({ type: 'sqlite', path });
      await store.records.write([{ space: 's', key: 'k', value: Json.of(value) }], 0);
      return store;
    };
    const read = async () => {
      const store = await openStore({ type: 'sqlite', path });
      const found = await store.records.get('s', 'k', 0);
      await store.close();
      return found?.value.value;
    };
    const open = await write('before');
    expect(run('backup', copy)).toMatchObject({ status: 0, out: expect.stringContaining('whole') });
    expect(statSync(copy).mode & 0o077).toBe(0);
    expect(run('backup', copy)).toMatchObject({
      err: expect.stringContaining('already exists; name a new file'),
    });
    expect(run('restore', copy, '--replace')).toMatchObject({
      err: expect.stringContaining('another process has it open'),
    });
    expect(run('check')).toMatchObject({
      status: 0,
      out: expect.stringContaining('schema version'),
    });
    const checked = JSON.parse(run('check', '--json').out) as { readonly latest: number };
    expect(checked).toMatchObject({ file: path, tasks: 0, problems: [], version: checked.latest });
    const second = join(directory.path, 'second.db');
    expect(JSON.parse(run('backup', second, '--json').out)).toMatchObject({ file: second });
    await open.close();

    await (await write('after')).close();
    expect(run('restore', copy)).toMatchObject({ err: expect.stringContaining('add --replace') });
    expect(run('restore', copy, '--replace').status).toBe(0);
    expect(await read()).toBe('before');
    expect(run('migrate', '--dry-run').out).toContain('up to date');
    expect(JSON.parse(run('migrate', '--json').out)).toMatchObject({
      version: checked.latest,
      migrated: false,
    });
    expect(JSON.parse(run('restore', second, '--replace', '--json').out)).toMatchObject({
      file: path,
      problems: [],
    });
    expect(readdirSync(directory.path).filter((name) => name.endsWith('.part'))).toEqual([]);

    truncateSync(copy, 8_192);
    expect(run('restore', copy, '--replace').status).not.toBe(0);
    expect(await read()).toBe('before');
  },
);

/** A store with many pages. */
async function filledStore(path: string): Promise<void> {
  const store = await openStore({ type: 'sqlite', path });
  const value = Json.of('x'.repeat(2_000));
  const writes = Array.from({ length: 200 }, (_, n) => ({ space: 's', key: `key ${n}`, value }));
  await store.records.write(writes, 0);
  await store.close();
}

function overwrite(path: string, { from, bytes }: { from: number; bytes: number }): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, from);
  closeSync(file);
}

test.each([
  ['pages in its midst are overwritten', 8 * 4_096, 40 * 4_096],
  ['the schema is overwritten', 100, 4_000],
  ['the first bytes are overwritten', 0, 100],
])(
  'a damaged store is reported, never with a stack trace: %s',
  { timeout: 60_000 },
  async (_, from, bytes) => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'store.db');
    await filledStore(path);
    overwrite(path, { from, bytes });
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [bin, 'store', ...args, '--store', path], { encoding: 'utf8' });
    const checked = run('check');
    expect(checked.status).toBe(1);
    expect(checked.stdout).toMatch(/tasks, \d+ contexts, damaged\n(?:damaged: .+\n)+$/);
    const source = join(directory.path, 'source.db');
    copyFileSync(path, source);
    const copy = join(directory.path, 'copy.db');
    for (const args of [['backup', copy], ['restore', source, '--replace'], ['migrate']]) {
      const { status, stderr, stdout } = run(...args);
      expect({ args, status, stdout }).toEqual({ args, status: expect.any(Number), stdout: '' });
      expect(status).not.toBe(0);
      expect(stderr).toMatch(/^legate: store \S+(?:store|source)\.db.* damaged/m);
      expect(checked.stderr + stderr).not.toMatch(/^\s+at /m);
    }
    expect(readdirSync(directory.path).filter((name) => /part|copy/.test(name))).toEqual([]);
  },
);

test('a file that is not a store is reported', { timeout: 60_000 }, async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'store.db');
  writeFileSync(path, 'not a database, however long this text may be. '.repeat(200));
  const args = [bin, 'store', 'check', '--store', path];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toMatch(/damaged: .*not a database/);
});

test(
  'a dry run estimates the migration of an older file, and changes nothing',
  { timeout: 60_000 },
  async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'store.db');
    const older = join(import.meta.dirname, '../../test/migrations/sqlite-5.db.gz');
    const content = gunzipSync(readFileSync(older));
    writeFileSync(path, content);
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [bin, 'store', ...args, '--store', path], { encoding: 'utf8' });
    const estimated = run('migrate', '--dry-run');
    expect(estimated).toMatchObject({ status: 0, stderr: '' });
    expect(estimated.stdout).toMatch(
      /^schema version 5 of \d+; migrating takes up to about 1 s\n$/,
    );
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(run('migrate').stdout).toMatch(/^schema version \d+: migrated from 5\n$/);
    expect(run('migrate', '--dry-run').stdout).toContain('up to date');
  },
);

test(
  'commands use the store of the endpoints.yml in their folder',
  { timeout: 60_000 },
  async () => {
    await using directory = await temporaryDirectory();
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [bin, ...args], {
        encoding: 'utf8',
        cwd: directory.path,
        env: { ...process.env, DATABASE_URL: '' },
      });
    const configure = (store: string): void =>
      // A variable of another section is none of their business.
      writeFileSync(
        join(directory.path, 'endpoints.yml'),
        `store: ${store}\nbus: {type: rabbitmq, url: "\${NO_SUCH_VARIABLE}"}\n`,
      );
    configure('{type: sqlite, path: data/bank.db}');
    const path = join(directory.path, 'data', 'bank.db');
    await (await openStore({ type: 'sqlite', path })).close();
    expect(JSON.parse(run('store', 'check', '--json').stdout)).toMatchObject({ file: path });
    expect(run('store', 'backup', 'copy.db').status).toBe(0);
    expect(run('store', 'restore', 'copy.db', '--replace').stdout).toContain(path);
    expect(run('store', 'migrate', '--dry-run').stdout).toContain('up to date');
    expect(run('push', 'list')).toMatchObject({ status: 0, stderr: 'No deliveries match.\n' });
    expect(run('db', 'status')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('which database?') as string,
    });

    configure('{type: memory}');
    expect(run('store', 'check').stderr).toContain('a store in memory ends with its server');
    configure('{type: sqlite, file: data/bank.db}');
    expect(run('store', 'check').stderr).toContain('endpoints.yml:1');

    const url = await (await postgres()).database();
    configure(`{type: postgres, url: "${url}"}`);
    expect(run('db', 'status').stdout).toContain('schema version 0 of');
    expect(run('store', 'check').stderr).toContain('pg_dump');
  },
);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { describeStore } from '../store.contract.ts';
import { openSqlite } from './open-sqlite.ts';

let directory: string;
let files = 0;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'legate-store-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describeStore('sqlite', () => {
  const path = join(directory, `${(files += 1)}.db`);
  let now = 1_000;
  const store = openSqlite({ path, clock: { now: () => now } });
  return { store, setTime: (time) => void (now = time) };
});

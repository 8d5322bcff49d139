import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { alice } from '../behaviour/fixtures.contract.ts';
import type { Store, TaskRecord } from '../contract.ts';
import { openSqlite } from './open-sqlite.ts';

const program = fileURLToPath(new URL('./crash-load.contract.ts', import.meta.url));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'legate-crash-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Runs the program, kills it once it has acknowledged so much, and tells what it acknowledged. */
async function writeUntilKilled(path: string, lines: number): Promise<Set<string>> {
  const child = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const acknowledged = new Set<string>();
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.add(line);
    if (acknowledged.size === lines) child.kill('SIGKILL');
  }
  const [, signal] = await exited;
  expect(signal).toBe('SIGKILL');
  return acknowledged;
}

async function allTasks(store: Store): Promise<TaskRecord[]> {
  const page = await store.list({ owner: alice, limit: 1_000_000 });
  expect(page.records).toHaveLength(page.total);
  return [...page.records];
}

test('after a kill in the middle of writing, what was acknowledged is there and nothing is half there', async () => {
  for (const lines of [37, 500, 1_111]) {
    const path = join(directory, `${lines}.db`);
    const acknowledged = await writeUntilKilled(path, lines);
    const store = openSqlite({ path });
    const tasks = await allTasks(store);
    const byId = new Map(tasks.map((task) => [task.id, task]));

    for (const line of acknowledged) {
      const [what, number] = line.split(' ');
      const task = byId.get(`t${number}`);
      expect(task, line).toBeDefined();
      if (what === 'ended') expect(task, line).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
    }

    const open = await store.takeOver({ agent: 'agent', replica: 'heir', limit: 1_000 });
    const openTasks = new Map(open.map((turn) => [turn.taskId, turn]));
    for (const task of tasks) {
      const isEnded = task.state === 'TASK_STATE_COMPLETED';
      const events = await store.readEvents(task.id, 0, 10);
      expect(events.map(({ sequence }) => sequence)).toEqual(isEnded ? [1, 2, 3] : [1]);
      expect(task.version).toBe(events.length);
      expect(task.tail.map(({ sequence }) => sequence)).toEqual(isEnded ? [2, 3] : []);
      const context = await store.loadContext(alice, task.id);
      expect(context === undefined).toBe(!isEnded);
      expect(openTasks.get(task.id)?.attempt).toBe(isEnded ? undefined : 2);
    }
    await store.close();
  }
});

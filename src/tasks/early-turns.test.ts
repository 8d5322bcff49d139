import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Agent, agent, textOf } from '../agents/index.ts';
import { artifact, message } from '../protocol/index.ts';
import { openStore, type Store } from '../store/index.ts';
import { type Call, Engine } from './index.ts';

const call: Call = { caller: { tenant: '', subject: 'alice', method: 'test' }, version: '1.0' };

let directory: string;
let store: Store;
let onlooker: DatabaseSync;
let engine: Engine | undefined;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'legate-early-'));
  const path = join(directory, 'store.db');
  store = await openStore({ type: 'sqlite', path, maxBytes: 512 * 1024 });
  onlooker = new DatabaseSync(path, { readOnly: true });
});
afterEach(async () => {
  await engine?.stop();
  onlooker.close();
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Tasks as another process sees them. */
function stored(): number {
  return Number(onlooker.prepare('SELECT count(*) AS n FROM tasks').get()?.['n']);
}

/** Notes how many tasks were in the file when it began. */
function curious(begins: 'stored' | 'at-once', seen: number[]): Agent {
  return agent({ name: 'curious', begins }, async function* (turn) {
    seen.push(stored());
    yield artifact(textOf(turn.message));
  });
}

test('an agent that may begin at once begins before its turn is stored, any other only after', async () => {
  for (const begins of ['stored', 'at-once'] as const) {
    const seen: number[] = [];
    const before = stored();
    engine = await Engine.start({ agent: curious(begins, seen), store });
    const outcome = await engine.send({ message: message('hello') }, call);
    expect(outcome).toMatchObject({
      task: { value: { status: { state: 'TASK_STATE_COMPLETED' } } },
    });
    expect(seen).toEqual([begins === 'stored' ? before + 1 : before]);
    expect(stored()).toBe(before + 1);
    await engine.stop();
  }
});

test('a caller that does not wait for the end hears of a task that is stored', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const slow = agent({ name: 'slow', begins: 'at-once' }, async function* () {
    await opened;
    yield artifact('done');
  });
  engine = await Engine.start({ agent: slow, store });
  await engine.send({ message: message('hi'), configuration: { returnImmediately: true } }, call);
  expect(stored()).toBe(1);
  await engine.stream({ message: message('hi') }, call);
  expect(stored()).toBe(2);
  open();
});

test('a caller hears that its message could not be stored, and the agent is stopped', async () => {
  let begun = 0;
  let stopped: Promise<void> | undefined;
  const patient = agent({ name: 'patient', begins: 'at-once' }, async function* (turn) {
    begun += 1;
    stopped = new Promise((resolve) => turn.signal.addEventListener('abort', () => resolve()));
    await stopped;
    yield artifact('too late');
  });
  engine = await Engine.start({ agent: patient, store });
  // What the message does not say itself comes into the file at the very end.
  const metadata = { padding: 'x'.repeat(600 * 1024) };
  const send = engine.send({ message: message('hello'), metadata }, call);
  await expect(send).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(begun).toBe(1);
  await stopped;
  expect(stored()).toBe(0);
  expect((await engine.listTasks({}, call)).totalSize).toBe(0);
});

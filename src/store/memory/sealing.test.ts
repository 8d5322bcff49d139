import { setImmediate as endOfLoopTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import { taskBody } from '../behaviour/fixtures.contract.ts';
import { EventLog } from './event-log.ts';
import { Sealing } from './sealing.ts';
import { type TaskEntry, toRecord } from './task-entry.ts';

function ended(index: number, version: number): TaskEntry {
  const id = `t${index}`;
  const body = taskBody(id, 'c');
  const log = new EventLog({ sequence: 1, body: Json.of({ task: body.value }) });
  for (let sequence = 2; sequence <= version; sequence += 1) {
    log.push({ sequence, body: Json.of({ task: body.value }) });
  }
  return {
    id,
    agent: 'agent',
    owner: 'o',
    contextId: 'c',
    state: 'TASK_STATE_COMPLETED',
    version,
    statusTime: 0,
    cancelRequested: false,
    snapshot: { version, body },
    log,
    sealedTask: '',
    sealedVersion: 0,
    push: undefined,
    position: -1,
  };
}

const isSealed = ({ snapshot }: TaskEntry): boolean => snapshot === undefined;

test('tasks that end together are sealed over several turns of the event loop, and read the same', async () => {
  const sealing = new Sealing();
  const tasks = Array.from({ length: 40 }, (_, index) => ended(index, 250));
  const before = tasks.map((task) => toRecord(task).snapshot.body.value);
  for (const task of tasks) sealing.add(task);
  expect(tasks.filter(isSealed)).toEqual([]);
  let turns = 0;
  for (let last = 0; !tasks.every(isSealed); turns += 1) {
    await endOfLoopTurn();
    const sealed = tasks.filter(isSealed).length;
    expect(sealed).toBeGreaterThan(last);
    last = sealed;
  }
  expect(turns).toBeGreaterThan(1);
  expect(tasks.map((task) => toRecord(task).snapshot.body.value)).toEqual(before);
  expect(tasks.map(({ log }) => log.after(0, Infinity).length)).toEqual(tasks.map(() => 250));
});

test('what is added after all was sealed is sealed too', async () => {
  const sealing = new Sealing();
  for (const task of [ended(1, 3), ended(2, 3)]) {
    sealing.add(task);
    await endOfLoopTurn();
    expect(isSealed(task)).toBe(true);
  }
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Json, LegateError } from '../protocol/index.ts';
import {
  contextIds,
  owners,
  perform,
  replicas,
  states,
  type Step,
  step,
  type Subject,
  taskIds,
  type World,
} from './behaviour/steps.contract.ts';
import type { Store, TaskQuery } from './contract.ts';
import { openMemory } from './memory/memory-store.ts';
import { emptyDatabase, setDatabaseTime } from './postgres/database.contract.ts';
import { openPostgres } from './postgres/open-postgres.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

let directory: string;
let files = 0;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'legate-equivalence-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Plain values in the place of lazy JSON, so that answers can be compared. */
function plain(value: unknown): unknown {
  if (value instanceof Json) return plain(value.value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

async function answer(each: Step, subject: Subject, world: World): Promise<unknown> {
  try {
    return plain(await perform(each, subject, world));
  } catch (error) {
    if (error instanceof LegateError) return { error: error.code };
    throw error;
  }
}

function queries(now: number): TaskQuery[] {
  const found: TaskQuery[] = [];
  for (const owner of [undefined, ...owners]) {
    for (const state of [undefined, ...states]) {
      for (const statusTimeFrom of [undefined, now - 10]) {
        for (const contextId of [undefined, 'c0']) {
          found.push({
            limit: 2,
            ...(owner !== undefined && { owner }),
            ...(state !== undefined && { state }),
            ...(statusTimeFrom !== undefined && { statusTimeFrom }),
            ...(contextId !== undefined && { contextId }),
          });
        }
      }
    }
  }
  return found;
}

/** All that a store would show. */
async function contents(store: Store, now: number): Promise<unknown> {
  const shown: unknown[] = [];
  for (const id of taskIds) {
    shown.push(id, await store.load(id), await store.readEvents(id, 0, 100));
    shown.push(await store.push.list(id));
  }
  for (const query of queries(now)) {
    const page = await store.list(query);
    const last = page.records.at(-1);
    shown.push(query, page);
    if (last === undefined) continue;
    shown.push(await store.list({ ...query, after: { statusTime: last.statusTime, id: last.id } }));
  }
  for (const owner of owners) {
    for (const contextId of contextIds) {
      shown.push(await store.loadContext(owner, contextId));
      shown.push(await store.readContextLog(owner, contextId, 3));
    }
  }
  shown.push(await store.records.list({ space: 's', limit: 100, now }));
  shown.push(await store.records.list({ space: 's', prefix: 'a/', limit: 1, now }));
  shown.push(await store.push.deliveries({ limit: 100 }), await store.push.nextDueMs());
  return plain(shown);
}

/** A store on a medium that outlives it. */
interface Medium {
  open(world: World): Store | Promise<Store>;
  /** Tells a clock that is not in this process. */
  setTime(time: number): Promise<void> | void;
  remove(): void;
}

/** How often each driver is compared, and with what. */
const drivers: [name: string, runs: number, medium: () => Medium | Promise<Medium>][] = [
  [
    'SQLite',
    100,
    () => {
      const path = join(directory, `${(files += 1)}.db`);
      return {
        open: (world) => openSqlite({ path, clock: { now: () => world.now } }),
        setTime: () => {},
        remove: () => {
          for (const file of [path, `${path}-lock`]) rmSync(file);
        },
      };
    },
  ],
  [
    'PostgreSQL',
    30,
    async () => {
      const url = await emptyDatabase();
      return {
        open: () => openPostgres({ url }),
        setTime: (time) => setDatabaseTime(url, time),
        remove: () => {},
      };
    },
  ],
];

async function compare(medium: Medium, steps: readonly Step[]): Promise<void> {
  const world: World = { now: 1000, generation: 0 };
  const memory: Subject = { store: openMemory({ clock: { now: () => world.now } }), turns: [] };
  const subject: Subject = { store: await medium.open(world), turns: [] };
  await medium.setTime(world.now);
  try {
    for (const each of steps) {
      if (each.kind === 'wait') {
        world.now += each.time;
        await medium.setTime(world.now);
      } else if (each.kind === 'restart') {
        // To be opened again is to have lost all replicas, where a store has not outlived them.
        const retired = replicas.map((name) => `${name}.${world.generation}`);
        for (const name of retired) await memory.store.retire(name);
        for (const name of retired) await subject.store.retire(name);
        await subject.store.close();
        subject.store = await medium.open(world);
        world.generation += 1;
      } else {
        const expected = await answer(each, memory, world);
        expect(await answer(each, subject, world)).toEqual(expected);
      }
    }
    expect(await contents(subject.store, world.now)).toEqual(
      await contents(memory.store, world.now),
    );
  } finally {
    await subject.store.close();
    medium.remove();
  }
}

// The memory store is the model of the others.
test.each(drivers)(
  'any sequence of operations has the same outcomes on the memory store and on %s',
  async (_, numRuns, medium) => {
    const sequences = fc.array(step, { minLength: 10, maxLength: 80, size: 'max' });
    const property = fc.asyncProperty(sequences, async (steps) => compare(await medium(), steps));
    await fc.assert(property, { numRuns });
  },
  120_000,
);

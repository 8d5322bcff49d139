import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import { migrate, readMigrations } from './migrations.ts';
import { TurnTable } from './turn-table.ts';

let database: DatabaseSync;
beforeEach(() => {
  database = new DatabaseSync(':memory:');
});
afterEach(() => database.close());

/** Begins a turn and ends it; returns its id. */
function pass(turns: TurnTable): number {
  const id = turns.nextId();
  const turn = { id, agent: 'a', key: `k${id}`, taskId: 't', attempt: 1, replica: 'r' };
  turns.insert(turn, Json.of({}));
  turns.end(turn);
  return id;
}

function several(turns: TurnTable, count: number): number[] {
  return Array.from({ length: count }, () => pass(turns));
}

test('no id is used twice, over more turns than a block has and after opening again', () => {
  migrate(database, readMigrations(), 'p');
  const ids = [...several(new TurnTable(database), 2_500), ...several(new TurnTable(database), 3)];
  expect(ids).toEqual(ids.toSorted((one, other) => one - other));
  expect(new Set(ids).size).toBe(ids.length);
});

test('no id that was told before is used after a rollback', () => {
  migrate(database, readMigrations(), 'p');
  const turns = new TurnTable(database);
  const last = several(turns, 999).at(-1) ?? 0;
  database.exec('BEGIN');
  several(turns, 5);
  database.exec('ROLLBACK');
  turns.invalidate();
  const next = pass(turns);
  expect(next).toBeGreaterThan(last);
  expect(pass(new TurnTable(database))).toBeGreaterThan(next);
});

test('a file that counted its turns itself continues after the last one, with its open turns', () => {
  const before = readMigrations().filter(({ version }) => version <= 3);
  migrate(database, before, 'p');
  database.exec(
    `INSERT INTO turns (agent, key, task_id, attempt, request) VALUES ('a', 'k', 't', 1, '{}'), ('a', 'l', 'u', 2, '{}');
     DELETE FROM turns WHERE id = 2;`,
  );
  migrate(database, readMigrations(), 'p');
  const turns = new TurnTable(database);
  expect(turns.open.head('k')).toMatchObject({ id: 1, taskId: 't' });
  expect(turns.open.head('l')).toBeUndefined();
  expect(turns.nextId()).toBeGreaterThan(2);
});

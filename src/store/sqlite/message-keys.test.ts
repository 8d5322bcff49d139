import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MessageKeys } from './message-keys.ts';
import { MessageTable } from './message-table.ts';
import { migrate, readMigrations } from './migrations.ts';

let database: DatabaseSync;
beforeEach(() => {
  database = new DatabaseSync(':memory:');
});
afterEach(() => database.close());

const open = (youngLimit: number): MessageTable =>
  new MessageTable(database, new MessageKeys(database, { youngLimit }));

const count = (table: string): number =>
  Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);

const dedupeOf = (key: string, expiresAt = 10) => ({ key, digest: `of ${key}`, expiresAt });

test('messages are found by owner and key, whether their keys are young or in the tree', () => {
  migrate(database, readMigrations(), 'p');
  const messages = open(40);
  for (let turn = 1; turn <= 500; turn += 1)
    messages.insert(turn, 'ann', dedupeOf(`k${turn}`), 't');
  expect(count('message_keys')).toBeGreaterThan(400);
  expect(count('message_keys')).toBeLessThan(500);
  for (let turn = 1; turn <= 500; turn += 1) {
    expect(messages.find('ann', `k${turn}`)).toMatchObject({ turnId: turn, digest: `of k${turn}` });
    expect(messages.find('bob', `k${turn}`)).toBeUndefined();
  }
});

test('keys that a killed process had in memory are read again from the messages', () => {
  migrate(database, readMigrations(), 'p');
  const messages = open(40);
  for (let turn = 1; turn <= 500; turn += 1)
    messages.insert(turn, 'ann', dedupeOf(`k${turn}`), 't');
  const until = Number(database.prepare('SELECT turn FROM message_keys_until').get()?.['turn']);
  // Not all of them: the tree has the older ones.
  expect(until).toBeGreaterThan(200);
  const reopened = open(40);
  for (let turn = 1; turn <= 500; turn += 1)
    expect(reopened.find('ann', `k${turn}`)?.turnId).toBe(turn);
});

test('expired messages leave the tree and the memory', () => {
  migrate(database, readMigrations(), 'p');
  const messages = open(10);
  for (let turn = 1; turn <= 100; turn += 1)
    messages.insert(turn, 'ann', dedupeOf(`k${turn}`, turn), 't');
  messages.sweep(60, 1_000);
  for (let turn = 1; turn <= 100; turn += 1)
    expect(messages.find('ann', `k${turn}`)?.turnId).toBe(turn <= 60 ? undefined : turn);
  messages.sweep(100, 1_000);
  expect([count('messages'), count('message_keys')]).toEqual([0, 0]);
});

test('a store of the version before keeps its messages', () => {
  const steps = readMigrations();
  migrate(database, steps.slice(0, 2), 'p');
  database.exec(
    "INSERT INTO messages VALUES (7, 'ann', 'k7', 'd', 't', 10, '{}'), (9, 'bob', 'k7', 'e', 'u', 10, NULL)",
  );
  migrate(database, steps, 'p');
  const messages = open(10);
  expect(messages.find('ann', 'k7')).toMatchObject({ turnId: 7, digest: 'd', taskId: 't' });
  expect(messages.find('bob', 'k7')).toMatchObject({ turnId: 9, digest: 'e', reply: undefined });
});

test('whatever comes, is deleted, rolled back or read again: the newest message of a key is found', () => {
  migrate(database, readMigrations(), 'p');
  const key = fc.integer({ min: 0, max: 30 }).map((n) => `k${n}`);
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('come'), key }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('go'), key }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('undone'), key }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('read again'), key }) },
  );
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 120 }),
      fc.integer({ min: 1, max: 12 }),
      (steps, limit) => {
        database.exec(
          'DELETE FROM messages; DELETE FROM message_keys; UPDATE message_keys_until SET turn = 0',
        );
        let messages = open(limit);
        const known = new Map<string, number>();
        let turn = 0;
        const come = (name: string): void => {
          const former = messages.find('ann', name);
          if (former !== undefined) messages.delete('ann', name, former.turnId);
          messages.insert((turn += 1), 'ann', dedupeOf(name), 't');
        };
        for (const { kind, key: name } of steps) {
          if (kind === 'come') {
            come(name);
            known.set(name, turn);
          } else if (kind === 'go') {
            const former = messages.find('ann', name);
            if (former !== undefined) messages.delete('ann', name, former.turnId);
            known.delete(name);
          } else if (kind === 'undone') {
            database.exec('BEGIN');
            come(name);
            database.exec('ROLLBACK');
            messages.invalidate();
          } else {
            messages = open(limit);
          }
        }
        for (let n = 0; n <= 30; n += 1)
          expect(messages.find('ann', `k${n}`)?.turnId).toBe(known.get(`k${n}`));
      },
    ),
  );
});

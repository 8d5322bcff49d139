import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { emptyDatabase, query } from './database.contract.ts';
import { fromPayload, Notices } from './notices.ts';
import { placeOf } from './link.ts';
import { TrafficCount } from './open-postgres.ts';

let url: string;
let listener: Client;
let heard: string[];
const opened: Notices[] = [];

beforeEach(async () => {
  url = await emptyDatabase();
  heard = [];
  listener = new Client({ connectionString: url });
  await listener.connect();
  listener.on('notification', ({ payload = '' }) => heard.push(payload));
  await listener.query('LISTEN legate');
});
afterEach(async () => {
  for (const notices of opened.splice(0)) await notices.close();
  await listener.end();
});

/** One that takes silence for solitude at once. */
async function open(graceMs = 0): Promise<Notices> {
  const notices = new Notices(placeOf({ url }), new TrafficCount(), graceMs);
  opened.push(notices);
  await notices.open();
  return notices;
}

function changes(): unknown[] {
  return heard.flatMap((payload) => [...(fromPayload(payload)?.changes ?? [])]);
}

test('one that is alone greets and tells nobody; one that comes later is told', async () => {
  const first = await open();
  await expect.poll(() => heard.length).toBe(1);
  first.notify('early', 1);
  const second = await open();
  // The newcomer greets, the other greets back.
  await expect.poll(() => heard.length).toBeGreaterThan(2);
  const told: string[] = [];
  second.watch(({ taskId }) => told.push(taskId));
  first.notify('late', 2);
  await expect.poll(() => told).toEqual(['late']);
  expect(changes()).toEqual([['late', 2]]);
});

test('one that has just begun to listen tells, for others may be about to greet', async () => {
  const notices = await open(60_000);
  notices.notify('t', 1);
  await expect.poll(changes).toEqual([['t', 1]]);
});

test('changes that come while others are told go out together, each task with its last version', async () => {
  const notices = await open(60_000);
  for (let version = 1; version <= 100; version += 1) notices.notify('t', version);
  for (let index = 0; index < 50; index += 1) notices.notify(`t${index}`, 1);
  await expect.poll(() => changes().length).toBeGreaterThan(50);
  expect(changes()).toContainEqual(['t', 100]);
  // One greeting, one that went at once, and the others behind it.
  expect(heard.length).toBeLessThan(5);
});

test('a payload that nobody understands is passed over', async () => {
  const notices = await open();
  const told: unknown[] = [];
  notices.watch((notice) => told.push(notice));
  await query(url, "SELECT pg_notify('legate', 'hello')");
  await query(url, `SELECT pg_notify('legate', '["somebody",["t",7]]')`);
  await expect.poll(() => told).toEqual([{ taskId: 't', version: 7 }]);
});

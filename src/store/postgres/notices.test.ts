import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import { emptyDatabase, query } from './database.contract.ts';
import { fromPayload, Notices } from './notices.ts';
import { openPostgres } from './open-postgres.ts';

let url: string;
let listener: Client;
let heard: string[];
const opened: { notices: Notices; client: Client }[] = [];
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  url = await emptyDatabase();
  heard = [];
  listener = new Client({ connectionString: url });
  await listener.connect();
  listener.on('notification', ({ payload = '' }) => heard.push(payload));
  await listener.query('LISTEN legate');
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  for (const { notices, client } of opened.splice(0)) {
    notices.close();
    await client.end();
  }
  await listener.end();
});

/** One that takes silence for solitude at once. */
async function open(graceMs = 0): Promise<Notices> {
  const client = new Client({ connectionString: url });
  const notices = new Notices(
    (payload) => client.query('SELECT pg_notify($1, $2)', ['legate', payload]),
    { graceMs },
  );
  opened.push({ notices, client });
  await client.connect();
  await notices.listen(client);
  return notices;
}

function changes(): unknown[] {
  return heard.flatMap((payload) => {
    const notice = fromPayload(payload);
    return notice?.kind === 'changes' ? [...notice.changes] : [];
  });
}

test('a single replica sends no notices; a replica that follows a task is notified', async () => {
  const first = await open();
  await expect.poll(() => heard.length).toBe(1);
  first.announce('early', 1);
  const second = await open();
  // The newcomer greets, the other greets back.
  await expect.poll(() => heard.length).toBeGreaterThan(2);
  const told: string[] = [];
  second.watch(({ taskId }) => void told.push(taskId));
  const leave = second.follow('late');
  await expect.poll(() => (first.notify('late', 2), told)).toContain('late');
  expect(changes()).toContainEqual(['late', 2]);
  first.notify('other', 3);
  first.announce('all', 4);
  await expect.poll(() => told).toContain('all');
  expect(told).not.toContain('other');
  leave();
  await expect.poll(() => heard.at(-1)).toContain('"leave","late"');
  first.notify('late', 5);
  first.announce('last', 6);
  await expect.poll(() => told).toContain('last');
  expect(changes()).not.toContainEqual(['late', 5]);
});

test('a store that comes later learns what the others follow', async () => {
  const first = await open();
  first.follow('t');
  const second = await open();
  const told: string[] = [];
  first.watch(({ taskId }) => void told.push(taskId));
  await expect.poll(() => (second.notify('t', 2), told)).toContain('t');
});

test('a follower learns of an append that came while its interest was on its way', () => {
  // Payloads are delivered by hand.
  const sent: string[] = [];
  const send = async (payload: string): Promise<void> => void sent.push(payload);
  const [runner, follower] = [new Notices(send, { graceMs: 0 }), new Notices(send, { graceMs: 0 })];
  try {
    const told: unknown[] = [];
    follower.watch((notice) => told.push(notice));
    runner.receive('["other"]');
    follower.receive('["other"]');
    follower.follow('t');
    const interest = sent.pop() ?? '';
    runner.notify('t', 7);
    runner.notify('unheard', 8);
    sent.length = 0;
    runner.receive(interest);
    for (const payload of sent) follower.receive(payload);
    expect(told).toEqual([{ taskId: 't', version: 7 }]);
    // A greeting repeats the interest, and nothing is announced again.
    sent.length = 0;
    runner.receive(interest);
    expect(sent).toEqual([]);
  } finally {
    runner.close();
    follower.close();
  }
});

test('one that has just started to listen tells, for others may be about to greet', async () => {
  const notices = await open(60_000);
  notices.announce('t', 1);
  await expect.poll(changes).toEqual([['t', 1]]);
});

test('changes that come while others are told go out together, each task with its last version', async () => {
  const notices = await open(60_000);
  for (let version = 1; version <= 100; version += 1) notices.announce('t', version);
  for (let index = 0; index < 50; index += 1) notices.announce(`t${index}`, 1);
  await expect.poll(() => changes().length).toBeGreaterThan(50);
  expect(changes()).toContainEqual(['t', 100]);
  // One greeting, one that went at once, and the others behind it.
  expect(heard.length).toBeLessThan(5);
});

test('the end of a command is told where its caller waits, and nowhere else; a dropped one everywhere', async () => {
  const stores = await Promise.all([openPostgres({ url }), openPostgres({ url })]);
  const [first, second] = stores;
  closing.push(...stores.map((store) => () => store.close()));
  const run = async (id: string): Promise<void> => {
    const command = { agent: 'agent', key: id, id, replica: 'r1', request: Json.of({}) };
    const { turn } = await first.commands.queue(command);
    expect(await first.commands.end({ turn, replica: 'r1', now: 1 })).toEqual({ kind: 'ended' });
  };
  second.follow('followed');
  // Until the first store knows of the second, and of what it follows.
  await expect.poll(async () => (await run('followed'), changes())).toContainEqual(['followed', 0]);
  for (let index = 0; index < 5; index += 1) await run(`alone-${index}`);
  const command = { agent: 'agent', key: 'k', id: 'dropped', replica: 'r2', request: Json.of({}) };
  await second.commands.queue(command);
  await first.commands.drop('k', 'r1');
  await expect.poll(changes).toContainEqual(['dropped', 0]);
  expect(changes().filter((change) => String(change).startsWith('alone'))).toEqual([]);
});

test('an unknown payload is ignored', async () => {
  const notices = await open();
  const told: unknown[] = [];
  notices.watch((notice) => told.push(notice));
  await query(url, "SELECT pg_notify('legate', 'hello')");
  await query(url, `SELECT pg_notify('legate', '["somebody",["t",7]]')`);
  await expect.poll(() => told).toEqual([{ taskId: 't', version: 7 }]);
});

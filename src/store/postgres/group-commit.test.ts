import { afterEach, beforeEach, expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import {
  admission,
  admit,
  alice,
  append,
  ending,
  statusAppend,
  working,
} from '../behaviour/fixtures.contract.ts';
import { emptyDatabase, query } from './database.contract.ts';
import { openPostgres } from './open-postgres.ts';
import type { PostgresStore } from './postgres-store.ts';

let url: string;
let store: PostgresStore;
let other: PostgresStore;
beforeEach(async () => {
  url = await emptyDatabase();
  store = await openPostgres({ url });
  other = await openPostgres({ url });
});
afterEach(async () => {
  await store.close();
  await other.close();
});

test('the writes of one turn of the event loop are one transaction and one round trip', async () => {
  const before = { ...store.traffic };
  await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      admit(store, { taskId: `t${index}`, contextId: `c${index}` }),
    ),
  );
  expect(store.traffic.transactions - before.transactions).toBe(1);
  expect(store.traffic.roundTrips - before.roundTrips).toBe(1);
});

test('calls of one function share a statement, as far as their arguments are short', async () => {
  const [first] = await Promise.all([admit(store), admit(store, { taskId: 'x', contextId: 'x' })]);
  const request = Json.of('long'.repeat(50_000));
  const before = store.traffic.statements;
  const outcomes = await Promise.all([
    ...['a', 'b', 'e'].map((taskId) => admit(store, { taskId, contextId: taskId, request })),
    append(store, ending(first.turn, 1)),
    admit(store, { taskId: 'd', contextId: 'a' }),
  ]);
  // Beside the statements of the transaction: two admissions, the third, the append and the last.
  expect(store.traffic.statements - before).toBe(3 + 4);
  expect(outcomes).toMatchObject([
    ...['a', 'b', 'e'].map((taskId) => ({ running: true, turn: { taskId } })),
    { kind: 'appended' },
    { running: false, turn: { taskId: 'd' } },
  ]);
});

test('text that is not well-formed is stored as its encoding is, alone and in a group', async () => {
  const contexts = ['alone \ud800', 'one \udfff', 'other \ud83d\ude00 \ud83d'];
  const [alone = '', ...together] = contexts;
  await admit(store, { taskId: alone, contextId: alone });
  await Promise.all(together.map((name) => admit(store, { taskId: name, contextId: name })));
  for (const name of contexts) {
    expect(await store.load(name)).toMatchObject({ contextId: name.toWellFormed() });
  }
});

test('an admission and an append are one round trip each, whatever they bring along', async () => {
  const before = store.traffic.transactions;
  const { turn } = await admit(store, {
    dedupe: { key: 'm', digest: 'd', expiresAt: 9000 },
    push: { config: { id: 'w', url: 'https://example.com' }, wireVersion: '1.0' },
    maxContexts: 10,
  });
  await append(
    store,
    ending(turn, 1, 'TASK_STATE_COMPLETED', {
      context: { owner: alice, contextId: 'c', value: Json.of(1), log: [Json.of(2)] },
      records: [{ space: 's', key: 'k', value: Json.of(3) }],
    }),
  );
  expect(store.traffic.transactions - before).toBe(2);
});

test('a write that fails takes no other with it, and the order stays', async () => {
  await admit(store);
  const writes = [
    admit(store, { taskId: 'a', contextId: 'a' }),
    store.admit(admission()),
    store.append(statusAppend('a', 1, working)),
    store.append(statusAppend('a', 1, 'TASK_STATE_FAILED')),
  ];
  const [first, second, third, fourth] = await Promise.allSettled(writes);
  expect(first).toMatchObject({ status: 'fulfilled' });
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'INTERNAL' } });
  expect(third).toMatchObject({ value: { kind: 'appended' } });
  expect(fourth).toMatchObject({ value: { kind: 'version-conflict' } });
});

test('the same message on two replicas at the same moment is admitted once', async () => {
  for (let round = 0; round < 20; round += 1) {
    const outcomes = await Promise.all(
      [store, other].map((each, index) =>
        each.admit(
          admission({
            taskId: `t${round}.${index}`,
            contextId: `c${round}.${index}`,
            dedupe: { key: `m${round}`, digest: 'd', expiresAt: 9000 },
          }),
        ),
      ),
    );
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['admitted', 'duplicate']);
  }
});

test('the limit of contexts holds for replicas that admit at the same moment', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      (index % 2 === 0 ? store : other).admit(
        admission({ taskId: `t${index}`, contextId: `c${index}`, maxContexts: 25 }),
      ),
    ),
  );
  const kinds = outcomes.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(25);
  expect(kinds.filter((kind) => kind === 'context-limit')).toHaveLength(35);
});

test('turns of few keys on two busy replicas: one at a time each, in order, without deadlocks', async () => {
  const stores = [store, other] as const;
  const running = new Map<string, number>();
  const ran = new Map<string, number[]>();
  const deadlocks = async (): Promise<number> => {
    const text =
      'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()';
    return (await query<{ n: number }>(url, text))[0]?.n ?? 0;
  };
  const before = await deadlocks();
  let admitted = 0;
  const started = new Map<number, (by: number) => void>();
  const claimed = new Map<number, number>();
  const start = (id: number, by: number): void => {
    const wake = started.get(id);
    if (wake === undefined) claimed.set(id, by);
    else wake(by);
  };
  const work = async (worker: number): Promise<void> => {
    for (let round = 0; round < 15; round += 1) {
      const here = (worker + round) % 2;
      const key = `k${(worker * 7 + round * 3) % 5}`;
      const taskId = `t${(admitted += 1)}`;
      const each = stores[here] ?? store;
      const replica = `r${here}`;
      const outcome = await admit(each, { taskId, key, contextId: key, replica });
      const { turn } = outcome;
      const by = outcome.running
        ? here
        : (claimed.get(turn.id) ??
          (await new Promise<number>((resolve) => started.set(turn.id, resolve))));
      expect(running.get(key)).toBeUndefined();
      running.set(key, turn.id);
      ran.set(key, [...(ran.get(key) ?? []), turn.id]);
      const runner = stores[by] ?? store;
      await append(
        runner,
        statusAppend(taskId, 1, working, { turn: { id: turn.id, replica: `r${by}` } }),
      );
      running.delete(key);
      const { next } = await append(
        runner,
        ending(turn, 2, 'TASK_STATE_COMPLETED', { replica: `r${by}` }),
      );
      if (next !== undefined) start(next.id, by);
    }
  };
  await Promise.all(Array.from({ length: 24 }, (_, worker) => work(worker)));
  for (const ids of ran.values()) expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  expect([...ran.values()].flat()).toHaveLength(24 * 15);
  expect(await deadlocks()).toBe(before);
});

test('totals stay exact though replicas write, end and sweep at the same time', async () => {
  const stores = [store, other];
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const each = stores[index % 2] ?? store;
      const id = `t${index}`;
      const { turn } = await admit(each, { taskId: id, contextId: id });
      if (index % 3 === 0) return;
      await append(each, ending(turn, 1, 'TASK_STATE_COMPLETED', { statusTime: 10 }));
      if (index % 5 === 0) await each.sweep({ retentionMs: 60_000, limit: 3 });
    }),
  );
  const total = async (state?: 'TASK_STATE_SUBMITTED' | 'TASK_STATE_COMPLETED'): Promise<number> =>
    (await store.list({ owner: alice, limit: 1, ...(state !== undefined && { state }) })).total;
  const rows = async (): Promise<number> =>
    (await query<{ n: number }>(url, 'SELECT count(*)::int AS n FROM legate.tasks'))[0]?.n ?? 0;
  expect(await total()).toBe(await rows());
  expect(await total('TASK_STATE_SUBMITTED')).toBe(34);
  while ((await other.sweep({ retentionMs: 60_000, limit: 50 })).tasks > 0);
  expect(await total()).toBe(34);
  expect(await total('TASK_STATE_COMPLETED')).toBe(0);
});

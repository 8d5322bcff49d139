import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { postgres } from '../../test/support/postgres.ts';
import { agent, inputRequired } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { artifact } from '../../src/protocol/index.ts';
import { openStore, type Store, type StoreOptions } from '../../src/store/index.ts';
import { type Bench, median } from '../bench.ts';
import { clonePostgres, cloneSqlite } from '../clone-tasks.ts';
import { call, listTasks, sendMessage, userMessage } from '../requests.ts';
import { atLeast, atMost, type Row, type Verdict } from '../row.ts';
import { migratePostgres, rewriteSqlite } from './standstill.ts';

const tasks = 1_000_000;
/** Rows of a task with two messages: its own, two of its log, and one that deduplicates its message. */
const rowsOfTask = 4;
/** Rounds of sends and deletions, each followed by a vacuum. */
const sweeps = 5;
const pages = 100;
const turns = 300;

const echo = agent({ name: 'echo', serialise: 'task' }, async function* ({ message }) {
  yield artifact(message.parts[0]?.text ?? '');
});
const asker = agent({ name: 'asker', supersedes: true }, () => inputRequired('And then?'));

interface Measured {
  readonly notes: Record<string, number>;
  readonly verdicts: Verdict[];
}

/** Stores that have been in use for years. */
export const million: Row = {
  name: 'million',
  title: '1,000,000 tasks of one caller on SQLite, --rows rows on PostgreSQL; migrations',
  async run(bench) {
    const sqlite = await onSqlite(bench);
    const server = await onPostgres(bench);
    return {
      notes: { ...sqlite.notes, ...server.notes },
      verdicts: [...sqlite.verdicts, ...server.verdicts],
    };
  },
};

async function onSqlite(bench: Bench): Promise<Measured> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const path = join(directory, 'bench.db');
    await sendOne({ type: 'sqlite', path });
    cloneSqlite(path, tasks);
    const { size } = await stat(path);
    const { notes, verdicts } = await inUse(bench, 'SQLite', { type: 'sqlite', path });
    return {
      notes: { ...notes, 'SQLite, legate store migrate, ms': rewriteSqlite(path) },
      verdicts: [atMost('SQLite file of 1,000,000 tasks', size / 1e9, 1.3, 'GB'), ...verdicts],
    };
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function onPostgres(bench: Bench): Promise<Measured> {
  const migration = await migratePostgres(tasks);
  const url = await (await postgres()).database();
  await sendOne({ type: 'postgres', url });
  const postgresTasks = Math.round(bench.options.rows / rowsOfTask);
  await clonePostgres(url, postgresTasks);
  const { notes, verdicts } = await inUse(bench, 'PostgreSQL', { type: 'postgres', url });
  const rounds = await sweepBesideSends(bench, { url, retentionMs: postgresTasks / 2 });
  const [first] = rounds;
  const last = rounds.at(-1);
  return {
    notes: {
      ...notes,
      'PostgreSQL, migration of 1,000,000 tasks, ms': migration.tookMs,
      'PostgreSQL, tasks of the sweep': postgresTasks,
      'PostgreSQL, tasks swept/s beside sends': median(rounds.map(({ swept }) => swept)),
      'sends/s meanwhile': median(rounds.map(({ sent }) => sent)),
      'PostgreSQL, size after the first round, MB': (first?.bytes ?? Number.NaN) / 1e6,
      'PostgreSQL, size after the last round, MB': (last?.bytes ?? Number.NaN) / 1e6,
    },
    verdicts: [
      ...verdicts,
      atMost('PostgreSQL, longest send beside the migration', migration.longestSendMs, 2_000, 'ms'),
      atLeast(
        'PostgreSQL, tasks swept, of those sent meanwhile, in the slowest round',
        Math.min(...rounds.map(({ swept, sent }) => swept / sent)),
        1,
        'x',
      ),
      atMost(
        'PostgreSQL, size after the last round, of that after the first',
        (last?.bytes ?? Number.NaN) / (first?.bytes ?? Number.NaN),
        1.02,
        'x',
      ),
    ],
  };
}

async function sendOne(options: StoreOptions): Promise<void> {
  const store = await openStore(options);
  {
    await using server = await serve(echo, { store });
    await call(Number(new URL(server.url).port), 'SendMessage', {
      message: userMessage(crypto.randomUUID(), 'What is the weather in Lisbon?'),
    });
  }
  await store.close();
}

/** Measures the time to open the store, pages of lists, and turns of conversations of two lengths. */
async function inUse(bench: Bench, name: string, options: StoreOptions): Promise<Measured> {
  const start = performance.now();
  const store = await openStore(options);
  try {
    await using server = await serve(echo, { store });
    const port = Number(new URL(server.url).port);
    await listed(port, {});
    const notes: Record<string, number> = {
      [`${name}, open and first page, ms`]: performance.now() - start,
    };
    const since = new Date(Date.now() - tasks / 2).toISOString();
    const lists = {
      'all tasks': {},
      'a rare state': { status: 'TASK_STATE_FAILED' },
      'a state that no task has': { status: 'TASK_STATE_REJECTED' },
      'since a time': { statusTimestampAfter: since },
      'a context': { contextId: 'context-77' },
    };
    for (const [list, filters] of Object.entries(lists)) {
      // The first page and a later one.
      const tokens = ['', (await listed(port, filters)).nextPageToken];
      const request = listTasks(port, tokens, filters);
      const { p50Ms } = await bench.load(request, { connections: 1, requests: pages });
      notes[`${name}, page of ${list}, p50 ms`] = p50Ms;
    }
    const slowest = Math.max(...Object.values(notes).slice(1));
    const ratio = await longConversation(store);
    return {
      notes,
      verdicts: [
        atMost(`${name}, slowest list page, p50`, slowest, 10, 'ms'),
        atMost(`${name}, turn after 8,000 turns, of one after 1,000`, ratio, 1.1, 'x'),
      ],
    };
  } finally {
    await store.close();
  }
}

async function listed(port: number, parameters: object): Promise<{ nextPageToken: string }> {
  const page = await call(port, 'ListTasks', { pageSize: 50, ...parameters });
  return page as { nextPageToken: string };
}

/** The turns of the two conversations alternate, so that a slow moment of the machine affects both. */
async function longConversation(store: Store): Promise<number> {
  await using server = await serve(asker, { store });
  const port = Number(new URL(server.url).port);
  const times = { short: [] as number[], long: [] as number[] };
  for (let turn = 0; turn < turns; turn += 1) {
    for (const contextId of ['short', 'long'] as const) {
      const message = { ...userMessage(crypto.randomUUID(), 'next'), contextId };
      const start = performance.now();
      await call(port, 'SendMessage', { message });
      times[contextId].push(performance.now() - start);
    }
  }
  return median(times.long) / median(times.short);
}

interface Sweep {
  /** Tasks per second. */
  readonly swept: number;
  readonly sent: number;
  /** Bytes of all tables and indexes, after a vacuum. */
  readonly bytes: number;
}

/**
 * Deletes ended tasks and expired messages like maintenance does, while a server receives messages: in
 * several rounds, so that new rows reuse the space of deleted ones.
 */
async function sweepBesideSends(
  bench: Bench,
  { url, retentionMs }: { readonly url: string; readonly retentionMs: number },
): Promise<Sweep[]> {
  const store = await openStore({ type: 'postgres', url });
  const client = new Client({ connectionString: url });
  await client.connect();
  const rounds: Sweep[] = [];
  try {
    await using server = await serve(echo, { store, retentionMs: 0 });
    const { seconds } = bench.options;
    for (let round = 0; round < sweeps; round += 1) {
      const load = bench.load(sendMessage(Number(new URL(server.url).port)), { seconds });
      const start = performance.now();
      let tasksSwept = 0;
      while (performance.now() - start < seconds * 1000) {
        tasksSwept += (await store.sweep({ retentionMs, limit: 100 })).tasks;
      }
      const result = await load;
      await client.query('VACUUM');
      const { rows } = await client.query<{ bytes: string }>(
        `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
         WHERE relnamespace = 'legate'::regnamespace AND relkind = 'r'`,
      );
      rounds.push({
        swept: tasksSwept / seconds,
        sent: result.requests / result.seconds,
        bytes: Number(rows[0]?.bytes),
      });
    }
    return rounds;
  } finally {
    await client.end();
    await store.close();
  }
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/client/index.ts';
import { message } from '../../src/protocol/index.ts';
import { setDatabaseFull } from '../../src/store/postgres/database.contract.ts';
import { textOf } from '../replicas/calls.ts';
import { Cluster, type Replica } from '../replicas/cluster.ts';
import { Injection, pause } from './injection.ts';
import { Random } from './random.ts';
import { runReplicas } from './run.ts';
import type { Scenario, ScenarioOptions, ScenarioResult } from './scenario.ts';

/** How long `/ready` may take to notice. */
const noticeMs = 15_000;
const speakers = 8;

/**
 * The disk of the store is full and has room again, now and then: what was acknowledged is there, and
 * `/ready` says no with the reason, and yes again. Half of the time each with PostgreSQL and SQLite.
 */
export const diskFull: Scenario = async (options) => {
  const half = { ...options, milliseconds: options.milliseconds / 2 };
  const postgres = await withPostgres(half);
  const sqlite = await withSqlite(half);
  return {
    injected: { PostgreSQL: sum(postgres.injected), SQLite: sum(sqlite.injected) },
    checked: { ...postgres.checked, ...sqlite.checked },
    violations: [...postgres.violations, ...sqlite.violations],
  };
};

async function withPostgres(options: ScenarioOptions): Promise<ScenarioResult> {
  const violations: string[] = [];
  return runReplicas(options, {
    faults: ({ cluster, random, database }) => ({
      full: {
        cause: async () => {
          await setDatabaseFull(database, true);
          violations.push(...(await unlessReady(cluster.alive, false)));
          await pause(random.between(0, 2_000));
          await setDatabaseFull(database, false);
          violations.push(...(await unlessReady(cluster.alive, true)));
        },
      },
    }),
    check: () => violations,
  });
}

async function withSqlite(options: ScenarioOptions): Promise<ScenarioResult> {
  const { seed, milliseconds, report } = options;
  const directory = mkdtempSync(join(tmpdir(), 'legate-disk-full-'));
  const violations: string[] = [];
  let messages = 0;
  const over = new AbortController();
  try {
    const sqlite = join(directory, 'store.db');
    await using cluster = await Cluster.start({ database: '', sqlite }, 1);
    const random = new Random(seed + 3);
    const injection = new Injection({
      random,
      faults: {
        full: {
          cause: async () => {
            for (const replica of cluster.alive) replica.tell({ isDiskFull: true });
            violations.push(...(await unlessReady(cluster.alive, false)));
            await pause(random.between(0, 2_000));
            for (const replica of cluster.alive) replica.tell({ isDiskFull: false });
            violations.push(...(await unlessReady(cluster.alive, true)));
          },
        },
      },
    });
    const client = await connect('http://127.0.0.1/', {
      fetch: cluster.fetch,
      retry: { attempts: 200, initialMs: 50, maximumMs: 500 },
      timeoutMs: 120_000,
    });
    /** Each answer is the number of its message: none was lost, none had its effect twice. */
    const speak = async (contextId: string): Promise<void> => {
      for (let count = 1; !over.signal.aborted; count += 1) {
        try {
          const said = message(`pause ${count % 20}`, { contextId });
          const answer = await client.sendMessage({ message: said });
          const text = 'task' in answer ? textOf(answer.task) : 'a message';
          if (text !== String(count)) violations.push(`${contextId}: ${count} says ${text}`);
          messages += 1;
        } catch (error) {
          violations.push(`${contextId}: ${count} was not acknowledged: ${String(error)}`);
          return;
        }
      }
    };
    const talk = Array.from({ length: speakers }, (_, index) => speak(`disk-${index}`));
    await pause(milliseconds);
    report(`SQLite: ${messages} messages, ${JSON.stringify(injection.counts)}`);
    await injection.end();
    over.abort();
    await Promise.all(talk);
    return {
      injected: injection.counts,
      checked: { 'messages with SQLite': messages },
      violations,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Waits until every replica says that it is ready, or that it is not and why. */
async function unlessReady(replicas: readonly Replica[], isReady: boolean): Promise<string[]> {
  const deadline = performance.now() + noticeMs;
  let last = '';
  const hasNoticed = async ({ url }: Replica): Promise<boolean> => {
    const response = await fetch(`${url}/ready`);
    last = await response.text();
    return response.ok === isReady && (isReady || last.includes('is full'));
  };
  while (performance.now() < deadline) {
    const noticed = await Promise.all(replicas.map(hasNoticed));
    if (noticed.every(Boolean)) return [];
    await pause(50);
  }
  return [
    `/ready said ${last} for ${noticeMs} ms with a disk that ${isReady ? 'had room' : 'was full'}`,
  ];
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

import { Client } from 'pg';
import { type BadNetwork, badNetwork } from '../../src/store/postgres/proxy.contract.ts';
import { Cluster } from '../replicas/cluster.ts';
import type { ReplicaSettings } from '../replicas/messages.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { check } from './check.ts';
import { Conversations, type ConversationsPlan, type Said } from './conversations.ts';
import { type Fault, Injection } from './injection.ts';
import { Random } from './random.ts';
import type { ScenarioOptions, ScenarioResult } from './scenario.ts';
import { startWebhooks } from './webhooks.ts';

export const leaseMs = 2_000;
const reportEveryMs = 10_000;
/** How long everything may take to come to rest after the last fault. */
const restMs = 60_000;

/** What a scenario has to disturb. */
export interface Setting {
  readonly cluster: Cluster;
  readonly server: Postgres;
  /** Between the replicas and their database. */
  readonly network: BadNetwork;
  /** Between the replicas and their database, where the plan has one. */
  readonly pooler: PgBouncer | undefined;
  readonly random: Random;
  /** The address of the database, past the network. */
  readonly database: string;
}

export interface ReplicasPlan {
  readonly settings?: Partial<ReplicaSettings>;
  /** Whether PgBouncer stands before the database; notices pass it by. @default false */
  readonly isPooled?: boolean;
  /** How far the wall clock of each replica is ahead when it starts. @default three that are right */
  readonly clockShiftsMs?: readonly number[];
  readonly talk?: ConversationsPlan;
  readonly faults: (setting: Setting) => Readonly<Record<string, Fault>>;
  /** What else should hold at the end and does not. */
  readonly check?: (
    setting: Setting,
    said: readonly Said[],
  ) => Promise<readonly string[]> | readonly string[];
}

/**
 * Holds conversations with replicas on one database while faults are injected, and then checks each
 * conversation against what was promised.
 */
export async function runReplicas(
  { seed, milliseconds, report }: ScenarioOptions,
  plan: ReplicasPlan,
): Promise<ScenarioResult> {
  const random = new Random(seed);
  const server = await startPostgres();
  const database = await server.database();
  await using network = await badNetwork(database);
  const pooler = plan.isPooled === true ? await startPgBouncer(database) : undefined;
  await using webhooks = await startWebhooks(new Random(seed + 1));
  const common = { leaseMs, pollIntervalMs: 300, onInterrupted: 'run-again' as const };
  await using cluster = await Cluster.start(
    {
      ...common,
      ...plan.settings,
      database: pooler?.url ?? network.url,
      ...(pooler !== undefined && { listenUrl: network.url }),
    },
    3,
    plan.clockShiftsMs,
  );
  const conversations = await Conversations.start({
    cluster,
    random: new Random(seed + 2),
    webhook: webhooks.url,
    ...plan.talk,
  });
  const setting = { cluster, server, network, pooler, random, database };
  const injection = new Injection({ random, faults: plan.faults(setting) });
  const started = performance.now();
  while (performance.now() - started < milliseconds) {
    const left = milliseconds - (performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, reportEveryMs)));
    report(`${conversations.acknowledged} messages, ${JSON.stringify(injection.counts)}`);
  }
  await injection.end();
  await conversations.end();
  const isAtRest = await rest(database);
  const { said, acknowledged } = conversations;
  const violations = [
    ...(isAtRest ? [] : ['it did not come to rest']),
    ...(await check({ database, cluster, said, webhooks })),
    ...((await plan.check?.(setting, said)) ?? []),
  ];
  return {
    injected: injection.counts,
    checked: {
      messages: acknowledged,
      conversations: conversations.conversations,
      'webhook calls': [...webhooks.taken.values()].reduce((sum, taken) => sum + taken.length, 0),
    },
    violations,
  };
}

/** Waits until no turn is open and nothing is owed to a webhook. */
async function rest(database: string): Promise<boolean> {
  const client = new Client({ connectionString: database });
  await client.connect();
  try {
    const deadline = performance.now() + restMs;
    while (performance.now() < deadline) {
      const { rows } = await client.query<{ open: number }>(
        `SELECT (SELECT count(*) FROM legate.turns)::int
           + (SELECT count(*) FROM legate.deliveries WHERE NOT is_dead)::int AS open`,
      );
      if (rows[0]?.open === 0) return true;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return false;
  } finally {
    await client.end();
  }
}

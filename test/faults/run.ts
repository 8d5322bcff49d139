import { Client } from 'pg';
import { Cluster } from '../replicas/cluster.ts';
import { startPostgres } from '../support/postgres.ts';
import { check } from './check.ts';
import { Conversations } from './conversations.ts';
import { Disturbance } from './disturbance.ts';
import { Random } from './random.ts';
import type { Scenario } from './scenarios.ts';
import { startWebhooks } from './webhooks.ts';

const leaseMs = 2_000;
const reportEveryMs = 10_000;
/** How long everything may take to come to rest after the last fault. */
const restMs = 60_000;

/**
 * Holds conversations with replicas on one database while these are killed, stopped and frozen and
 * the database restarts and crashes, and then checks each conversation against what was promised.
 */
export const replicas: Scenario = async ({ seed, milliseconds, report }) => {
  const random = new Random(seed);
  const server = await startPostgres();
  const database = await server.database();
  await using webhooks = await startWebhooks(new Random(seed + 1));
  await using cluster = await Cluster.start(
    { database, leaseMs, pollIntervalMs: 300, onInterrupted: 'run-again' },
    3,
  );
  const conversations = await Conversations.start({
    cluster,
    random: new Random(seed + 2),
    count: 40,
    webhook: webhooks.url,
  });
  const disturbance = new Disturbance({ cluster, database: server, random, leaseMs });
  const started = performance.now();
  while (performance.now() - started < milliseconds) {
    const left = milliseconds - (performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, reportEveryMs)));
    report(`${conversations.acknowledged} messages, ${JSON.stringify(disturbance.counts)}`);
  }
  await disturbance.end();
  await conversations.end();
  const isAtRest = await rest(database);
  const { said, acknowledged } = conversations;
  const violations = await check({ database, cluster, said, webhooks });
  return {
    injected: disturbance.counts,
    checked: {
      messages: acknowledged,
      conversations: conversations.conversations,
      'webhook calls': [...webhooks.taken.values()].reduce((sum, taken) => sum + taken.length, 0),
    },
    violations: isAtRest ? violations : ['it did not come to rest', ...violations],
  };
};

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

import { Client } from 'pg';
import { isDeepStrictEqual } from 'node:util';
import type { Task } from '../../src/protocol/index.ts';
import { getTask, textOf } from '../replicas/calls.ts';
import type { Cluster } from '../replicas/cluster.ts';
import type { Said } from './conversations.ts';
import type { Webhooks } from './webhooks.ts';

/** What the run left behind, to be held against what its senders were told. */
interface Remains {
  /** Messages that had an effect, by context, in order. */
  readonly effects: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly string[];
}

/** Everything that should hold after a run and does not. */
export async function check(options: {
  database: string;
  cluster: Cluster;
  said: readonly Said[];
  webhooks: Webhooks;
}): Promise<string[]> {
  const { database, cluster, said, webhooks } = options;
  const { effects, problems } = await inspect(database);
  const found = [...problems, ...checkEffects(said, effects)];
  for (const each of said) {
    if (each.task === undefined) {
      found.push(`${each.messageId} was not acknowledged: ${String(each.failure)}`);
      continue;
    }
    const now = await getTask(cluster.next(), each.task.id);
    if (!isDeepStrictEqual(now, each.task)) {
      found.push(`task ${each.task.id} changed after it was acknowledged as ended`);
    }
    found.push(...checkStream(each));
    if (each.manner === 'webhook') found.push(...checkWebhook(each.task, webhooks));
  }
  return found;
}

/** Every acknowledged message has exactly one effect, at the place that its answer says. */
function checkEffects(said: readonly Said[], effects: Remains['effects']): string[] {
  const problems: string[] = [];
  const known = new Set(said.map(({ messageId }) => messageId));
  const all = [...effects.values()].flat();
  for (const [index, id] of all.entries()) {
    if (all.indexOf(id) !== index) problems.push(`${id} had its effect in two contexts`);
  }
  for (const [contextId, messageIds] of effects) {
    if (new Set(messageIds).size !== messageIds.length) {
      problems.push(`${contextId}: a message had its effect twice`);
    }
    for (const id of messageIds) {
      if (!known.has(id)) problems.push(`${contextId}: ${id} was never said`);
    }
    const order = said
      .filter((each) => each.contextId === contextId && messageIds.includes(each.messageId))
      .map(({ messageId }) => messageId);
    const isSequential = !contextId.startsWith('crowded');
    if (isSequential && !isDeepStrictEqual(order, messageIds)) {
      problems.push(`${contextId}: effects are not in the order of the messages`);
    }
  }
  for (const { contextId, messageId, task } of said) {
    if (task === undefined) continue;
    const place = effects.get(contextId)?.indexOf(messageId) ?? -1;
    const hasEnded = task.status.state === 'TASK_STATE_COMPLETED';
    if (!hasEnded) {
      problems.push(`${contextId}: ${messageId} ended as ${task.status.state}`);
    } else if (place === -1) {
      problems.push(`${contextId}: ${messageId} was acknowledged and had no effect`);
    } else if (textOf(task) !== String(place + 1)) {
      problems.push(`${contextId}: ${messageId} says ${textOf(task)}, but was number ${place + 1}`);
    }
  }
  return problems;
}

function checkStream({ manner, messageId, events }: Said): string[] {
  if (manner !== 'streaming') return [];
  const first = events[0] ?? 0;
  const isComplete = events.every((number, index) => number === first + index);
  return isComplete ? [] : [`the stream of ${messageId} brought the events ${events.join(' ')}`];
}

/** At least once, and none before the one before it. */
function checkWebhook({ id }: Task, { taken }: Webhooks): string[] {
  const numbers = taken.get(id) ?? [];
  const inOrder = [...new Set(numbers)];
  const isComplete = inOrder.length > 0 && inOrder.every((number, index) => number === index + 1);
  return isComplete ? [] : [`the webhook of ${id} got the events ${numbers.join(' ')}`];
}

async function inspect(database: string): Promise<Remains> {
  const client = new Client({ connectionString: database });
  await client.connect();
  try {
    const logs = await client.query<{ context: string; ids: string[] }>(
      `SELECT contexts.context_id AS context,
         array_agg(log.body::json->>'messageId' ORDER BY log.sequence) AS ids
       FROM legate.contexts JOIN legate.context_log AS log ON log.context = contexts.number
       GROUP BY contexts.context_id`,
    );
    const problems: string[] = [];
    for (const [name, text] of Object.entries(invariants)) {
      const { rows } = await client.query<object>(text);
      for (const row of rows) problems.push(`${name}: ${JSON.stringify(row)}`);
    }
    return { effects: new Map(logs.rows.map(({ context, ids }) => [context, ids])), problems };
  } finally {
    await client.end();
  }
}

/** Each finds what must not be. */
const invariants = {
  'a log with a gap': `SELECT tasks.id, tasks.version, count(*)::int AS events
    FROM legate.tasks JOIN legate.events ON events.task = tasks.number
    GROUP BY tasks.id, tasks.version
    HAVING count(*) <> max(events.sequence) OR min(events.sequence) <> 1
      OR max(events.sequence) <> tasks.version`,
  'a log without a task': `SELECT DISTINCT task FROM legate.events
    WHERE task NOT IN (SELECT number FROM legate.tasks)`,
  'an unfinished task': 'SELECT id, state FROM legate.tasks WHERE state NOT IN (3, 4, 5, 7)',
  'an open turn': 'SELECT id, key, replica FROM legate.turns',
  'more than one end': `SELECT task, count(*)::int AS ends FROM legate.events
    WHERE body LIKE '{"statusUpdate"%' AND body ~ 'TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)'
    GROUP BY task HAVING count(*) <> 1`,
  'a task that is both open and ended': `SELECT id FROM legate.open_tasks
    JOIN legate.ended_tasks USING (id)`,
  'a delivery that is left': 'SELECT id, is_dead, last_error FROM legate.deliveries',
  'a context that was miscounted': `SELECT context_id, log_length, value FROM legate.contexts
    WHERE (value::json->>'count')::int <> log_length`,
};

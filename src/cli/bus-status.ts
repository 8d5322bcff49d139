import {
  agentOfQueue,
  type Bus,
  type BrokerQueue,
  brokerQueues,
  readBusOptions,
  taskQueueName,
} from '../bus/index.ts';
import { present } from '../config/index.ts';
import { LegateError } from '../protocol/index.ts';
import type { StatusOptions } from './commands/workers.ts';
import { type Endpoints, openConfiguredBus, readEndpoints } from './endpoints.ts';
import { createLogger } from './logger.ts';
import { alignColumns } from './print.ts';
import { usage } from './usage.ts';

/** The status of one queue. Fields that only the management API provides are optional. */
interface QueueStatus {
  readonly queue: string;
  readonly agent?: string;
  readonly messages: number;
  readonly unacknowledged?: number;
  readonly consumers: number;
  readonly deadLetters: number;
  /** The age of the oldest message, in seconds. */
  readonly oldestSeconds?: number;
}

/** Shows the queues of agents. */
export async function busStatus(agents: readonly string[], options: StatusOptions): Promise<void> {
  const endpoints = await readEndpoints('.', options);
  await using bus = await openConfiguredBus(endpoints, {
    logger: createLogger('warn'),
    connectionName: 'legate bus status',
  });
  const managed = await managedQueues(endpoints, options);
  if (agents.length === 0 && managed instanceof LegateError) {
    throw usage(`which agents? Name them, or enable the management API: ${managed.message}`);
  }
  const listed = managed instanceof LegateError ? [] : managed;
  const names =
    agents.length > 0
      ? agents.map((agent) =>
          bus.brokerQueueName(agent.includes('.') ? agent : taskQueueName(agent)),
        )
      : listed.map(({ name }) => name).filter((name) => isMain(name, listed));
  const rows: QueueStatus[] = [];
  for (const name of names) rows.push(await statusOf(bus, name, listed, options));
  if (options.json === true) {
    for (const row of rows) console.log(JSON.stringify(row));
    return;
  }
  console.log(`RabbitMQ ${bus.brokerVersion ?? ''}`);
  // Queues of agents first, then queues of processes.
  const hasAgent = ({ agent }: QueueStatus): number => (agent === undefined ? 0 : 1);
  printTable(rows.toSorted((a, b) => hasAgent(b) - hasAgent(a)));
  if (managed instanceof LegateError) {
    console.error(`"-" is unknown: ${managed.message}`);
  }
}

/** The queues that the management API lists, or the error if it is unavailable. */
export async function managedQueues(
  { bus, directory }: Endpoints,
  { managementUrl }: Pick<StatusOptions, 'managementUrl'>,
): Promise<readonly BrokerQueue[] | LegateError> {
  const options = readBusOptions(bus, { directory });
  if (options.type === 'memory') return [];
  try {
    return await brokerQueues({ ...options, ...present({ managementUrl }) });
  } catch (error) {
    if (error instanceof LegateError && managementUrl === undefined) return error;
    throw error;
  }
}

/** Whether a queue belongs to this bus and is not a retry or dead-letter queue. */
function isMain(name: string, listed: readonly BrokerQueue[]): boolean {
  const isOurs = name.startsWith('legate.') || name.startsWith('rockbot.');
  // Agents of both dialects can share the broker.
  const [, owner] = /^(.+)\.(?:dead|dlq|retry\.\d+)$/.exec(name) ?? [];
  return isOurs && !listed.some((other) => other.name === owner);
}

async function statusOf(
  bus: Bus,
  queue: string,
  listed: readonly BrokerQueue[],
  { oldest: looksUp = false }: StatusOptions,
): Promise<QueueStatus> {
  // The data of the management API is some seconds old, so the queue is inspected too.
  const state = await bus.inspect(queue).catch((error: unknown) => {
    // Exclusive queues belong to another connection.
    if (listed.some(({ name }) => name === queue)) return undefined;
    throw error;
  });
  const known = listed.find(({ name }) => name === queue);
  if (state === undefined && known === undefined) {
    throw new LegateError(
      'INVALID_PARAMS',
      `there is no queue ${queue}; "legate bus declare" makes one`,
    );
  }
  const messages = state?.messages ?? known?.messages ?? 0;
  const isWanted = looksUp && messages > 0 && known?.oldest === undefined;
  const oldest = isWanted ? await bus.oldest(queue) : messages > 0 ? known?.oldest : undefined;
  const agent = agentOfQueue(queue);
  return {
    queue,
    messages,
    consumers: state?.consumers ?? known?.consumers ?? 0,
    deadLetters: state?.deadLetters ?? 0,
    ...present({
      agent,
      unacknowledged: known?.unacknowledged,
      oldestSeconds:
        oldest === undefined ? undefined : Math.max(0, Math.round((Date.now() - oldest) / 1000)),
    }),
  };
}

function printTable(rows: readonly QueueStatus[]): void {
  const head = ['agent', 'queue', 'waiting', 'unacked', 'consumers', 'dead', 'oldest'];
  const lines = rows.map((row) => [
    row.agent ?? '',
    row.queue,
    String(row.messages),
    row.unacknowledged === undefined ? '-' : String(row.unacknowledged),
    String(row.consumers),
    String(row.deadLetters),
    row.oldestSeconds === undefined ? '-' : ageOf(row.oldestSeconds),
  ]);
  for (const line of alignColumns([head, ...lines])) console.log(line);
}

function ageOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

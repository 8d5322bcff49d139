import type { BusQueueOptions, Queue } from './bus.ts';
import { checkBusName, isBusName, isGatewayTopic, shortened } from './checks.ts';

/**
 * The topics of the bus.
 * @example await bus.publish(topics.task('alice'), { type: 'task', body });
 */
export const topics = {
  /** Messages to an agent. */
  task: (agent: string): string => `agent.task.${checkBusName(agent, 'the agent')}`,
  /** Cancellation requests for an agent's tasks. */
  cancel: (agent: string): string => `agent.task.cancel.${checkBusName(agent, 'the agent')}`,
  /** State changes of tasks, without their contents: for monitoring. */
  status: 'agent.task.status',
  /** Answers and updates to one caller. */
  response: (caller: string): string => `agent.response.${checkBusName(caller, 'the caller')}`,
  /** Cards of agents that start, run and stop. */
  discovery: 'discovery.announce',
  /** Asks all agents to announce themselves. */
  query: 'discovery.query',
} as const;

const responsePrefix = 'agent.response.';

/** Whether a message may name this topic as its reply topic: only topics of callers are allowed. */
export function isResponseTopic(topic: string | undefined): topic is string {
  if (topic === undefined || !`${topic}.`.startsWith(responsePrefix)) return false;
  // RockBot has a topic for all callers, and topics for callers of its gateway.
  const names = topic.split('.').slice(2);
  return isGatewayTopic(topic) || (names.length < 2 && names.every(isBusName));
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** The task queue of an agent, shared by all processes that host it. */
export function taskQueue(
  agent: string,
  { replyExpiresAfterMs: _replies, ...options }: BusQueueOptions = {},
): Queue {
  return {
    name: taskQueueName(agent),
    topics: [topics.task(agent)],
    consumerTimeoutMs: day,
    ...options,
  };
}

/**
 * The name of an agent's task queue, to scale workers by its length.
 * @example const waiting = (await bus.inspect(taskQueueName('researcher')))?.messages ?? 0;
 */
export function taskQueueName(agent: string): string {
  return `legate.task.${checkBusName(agent, 'the agent')}`;
}

/**
 * The agent whose task queue this is at the broker, in either dialect.
 * @example agentOfQueue('rockbot.ResearchAgent.agent-task-ResearchAgent') // 'ResearchAgent'
 */
export function agentOfQueue(brokerQueueName: string): string | undefined {
  const own = /^legate\.task\.([^.]+)$/.exec(brokerQueueName);
  const rockbots = /^rockbot\.([^.]+)\.agent-task-\1$/.exec(brokerQueueName);
  return (own ?? rockbots)?.[1];
}

/**
 * Whether this is a reply queue of an agent, which has one for each of its stores.
 * @example isResponseQueueOf('writer', 'legate.response.writer-3f0c6c5e-…') // true
 */
export function isResponseQueueOf(agent: string, queueName: string): boolean {
  const prefix = `legate.response.${shortened(checkBusName(agent, 'the agent'))}-`;
  return queueName.startsWith(prefix) && isUuid(queueName.slice(prefix.length));
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/**
 * The name of the queue of cancellation requests for an agent.
 * @example await bus.delete(cancelQueueName('researcher'));
 */
export function cancelQueueName(agent: string): string {
  return `legate.cancel.${checkBusName(agent, 'the agent')}`;
}

/** Cancellation requests for an agent, shared by all its processes; they wait while none is running. */
export function cancelQueue(agent: string): Queue {
  return {
    name: cancelQueueName(agent),
    topics: [topics.cancel(agent)],
    messageTtlMs: 24 * 60 * minute,
    deadLetters: false,
  };
}

/** Cancellation requests for the turns that run in one process. */
export function ownCancelQueue(agent: string, replica: string): Queue {
  return {
    name: `legate.cancel.${checkBusName(agent, 'the agent')}.${checkBusName(replica, 'the replica')}`,
    topics: [topics.cancel(agent)],
    messageTtlMs: 10 * minute,
    expiresAfterMs: minute,
    // No other process can stop a turn that runs with a store of its own: store failures are retried.
    retryDelaysMs: [200, 1_000, 5_000, 30_000],
    deadLetters: false,
  };
}

/**
 * The replies to a caller, also while it is not running; deleted after days without a consumer.
 * Callers with different stores need different names, because a reply is consumed once.
 */
export function responseQueue(
  caller: string,
  { expiresAfterMs = 7 * day }: { readonly expiresAfterMs?: number | undefined } = {},
): Queue {
  return {
    name: `legate.response.${checkBusName(caller, 'the caller')}`,
    topics: [topics.response(caller)],
    messageTtlMs: 7 * day,
    expiresAfterMs,
  };
}

/**
 * The reply queue of one process; it expires after the process has ended.
 * @example await using answers = await bus.consume(ownResponseQueue('me-1'), take);
 */
export function ownResponseQueue(caller: string): Queue {
  return {
    name: `legate.response.${checkBusName(caller, 'the caller')}`,
    topics: [topics.response(caller)],
    messageTtlMs: 60 * minute,
    expiresAfterMs: 2 * minute,
    retryDelaysMs: [],
    deadLetters: false,
  };
}

/**
 * The replies to one connection of a gateway, which sends its requests again after a lost connection.
 */
export function streamQueue(gateway: string): Queue {
  return { ...ownResponseQueue(gateway), exclusive: true };
}

/** The announcements of agents, for one process. */
export function discoveryQueue(listener: string): Queue {
  return broadcastQueue('discovery', topics.discovery, listener);
}

/** Queries for announcements, for one process of an agent. */
export function queryQueue(listener: string): Queue {
  return broadcastQueue('query', topics.query, listener);
}

/**
 * The queue of a subscriber to the states of all tasks.
 * @example
 * await bus.consume(statusQueue('dashboard'), async ({ body }) => {
 *   console.log(body);
 *   return done;
 * });
 */
export function statusQueue(listener: string): Queue {
  return broadcastQueue('status', topics.status, listener);
}

/** A queue for broadcasts, which are obsolete within minutes. */
function broadcastQueue(kind: string, topic: string, listener: string): Queue {
  return {
    name: `legate.${kind}.${checkBusName(listener, 'the listener')}`,
    topics: [topic],
    messageTtlMs: 10 * minute,
    exclusive: true,
    retryDelaysMs: [],
    deadLetters: false,
  };
}

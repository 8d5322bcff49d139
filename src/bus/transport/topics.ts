import type { DeadLetterLimits, Queue } from './bus.ts';
import { checkBusName, isBusName } from './checks.ts';

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
} as const;

const responsePrefix = 'agent.response.';

/** Whether a message may name this topic to be answered to: only the callers' own topics. */
export function isResponseTopic(topic: string | undefined): topic is string {
  return (
    topic?.startsWith(responsePrefix) === true && isBusName(topic.slice(responsePrefix.length))
  );
}

const minute = 60_000;
const day = 24 * 60 * minute;

/**
 * Limits of the task queue of an agent.
 * @example const queue: AgentQueueOptions = { maxMessages: 500, messageTtlMs: 60 * 60_000 };
 */
export interface AgentQueueOptions {
  /** The most tasks that wait; sending to a full queue is refused. @default 100_000 */
  readonly maxMessages?: number;
  /** How long a task waits before it is dead, in milliseconds. @default for ever */
  readonly messageTtlMs?: number;
  /** The pauses before each retry. @default [1_000, 5_000, 30_000] */
  readonly retryDelaysMs?: readonly number[];
  readonly deadLetters?: DeadLetterLimits;
}

/** The task queue of an agent, shared by all processes that host it. */
export function taskQueue(agent: string, options: AgentQueueOptions = {}): Queue {
  return { name: taskQueueName(agent), topics: [topics.task(agent)], ...options };
}

/**
 * The name of an agent's task queue, to scale workers by its length.
 * @example const waiting = (await bus.inspect(taskQueueName('researcher')))?.messages ?? 0;
 */
export function taskQueueName(agent: string): string {
  return `legate.task.${checkBusName(agent, 'the agent')}`;
}

/** Cancellation requests for an agent that is not running, shared by all its processes. */
export function cancelQueue(agent: string): Queue {
  return {
    name: `legate.cancel.${checkBusName(agent, 'the agent')}`,
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
 * The answers to a caller, also while it is not running; deleted after days without a consumer.
 * Callers with stores of their own need names of their own: an answer is consumed once.
 */
export function responseQueue(
  caller: string,
  { expiresAfterMs = 7 * day }: { readonly expiresAfterMs?: number } = {},
): Queue {
  return {
    name: `legate.response.${checkBusName(caller, 'the caller')}`,
    topics: [topics.response(caller)],
    messageTtlMs: 7 * day,
    expiresAfterMs,
  };
}

/**
 * The answers to one process: deleted some time after the process has ended.
 * @example await using answers = await bus.consume(ownResponseQueue('me-1'), take);
 */
export function ownResponseQueue(caller: string): Queue {
  return {
    name: `legate.response.${checkBusName(caller, 'the caller')}`,
    topics: [topics.response(caller)],
    messageTtlMs: 60 * minute,
    expiresAfterMs: 10 * minute,
    retryDelaysMs: [],
    deadLetters: false,
  };
}

/** The announcements of agents, for one process. */
export function discoveryQueue(listener: string): Queue {
  return broadcastQueue('discovery', topics.discovery, listener);
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

/** For broadcasts, which are useless later. */
function broadcastQueue(kind: string, topic: string, listener: string): Queue {
  return {
    name: `legate.${kind}.${checkBusName(listener, 'the listener')}`,
    topics: [topic],
    messageTtlMs: 10 * minute,
    expiresAfterMs: 10 * minute,
    retryDelaysMs: [],
    deadLetters: false,
  };
}

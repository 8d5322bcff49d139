import type { DeadLetterLimits, Queue } from './bus.ts';
import { checkBusName, topics } from './topics.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/**
 * How the queue of an agent is kept.
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

/**
 * Where an agent's tasks wait, shared by all processes that host it.
 * @example await bus.declare(taskQueue('researcher', { maxMessages: 1_000 }));
 */
export function taskQueue(agent: string, options: AgentQueueOptions = {}): Queue {
  return { name: taskQueueName(agent), topics: [topics.task(agent)], ...options };
}

/**
 * The name to watch for scaling: as many workers as there are messages.
 * @example const waiting = (await bus.inspect(taskQueueName('researcher')))?.messages ?? 0;
 */
export function taskQueueName(agent: string): string {
  return `legate.task.${checkBusName(agent, 'the agent')}`;
}

/**
 * Where wishes to cancel wait for an agent that is not there, shared by all its processes.
 * @example await bus.declare(cancelQueue('researcher'));
 */
export function cancelQueue(agent: string): Queue {
  return {
    name: `legate.cancel.${checkBusName(agent, 'the agent')}`,
    topics: [topics.cancel(agent)],
    messageTtlMs: 24 * 60 * minute,
    deadLetters: false,
  };
}

/**
 * Where one process hears of wishes to cancel, for the turns that run in it.
 * @example await using heard = await bus.consume(ownCancelQueue('researcher', 'replica-1'), take);
 */
export function ownCancelQueue(agent: string, replica: string): Queue {
  return {
    name: `legate.cancel.${checkBusName(agent, 'the agent')}.${checkBusName(replica, 'the replica')}`,
    topics: [topics.cancel(agent)],
    messageTtlMs: 10 * minute,
    expiresAfterMs: minute,
    // Nobody else can stop a turn that runs under a store of its own, so a store that fails is not the end.
    retryDelaysMs: [200, 1_000, 5_000, 30_000],
    deadLetters: false,
  };
}

/**
 * Where answers wait for a caller, also while it is not running; gone when nobody took them for days.
 * Callers with stores of their own need names of their own: an answer is taken once.
 * @example await using answers = await bus.consume(responseQueue('me'), take, { prefetch: 50 });
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
 * Where answers wait for one process: gone some time after the process is.
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

/**
 * Where one process hears of agents that come and go.
 * @example
 * await bus.consume(discoveryQueue('me-1'), async ({ body }) => {
 *   console.log(body);
 *   return done;
 * });
 */
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

/** For what every listener hears: of no use to anybody later. */
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

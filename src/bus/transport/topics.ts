import { LegateError } from '../../protocol/index.ts';

/** The name of an agent or caller on the bus: no separators, no wildcards, nothing that hides. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
/** A topic is made of words of the same letters, with dots between. */
const topicPattern = /^[A-Za-z0-9_-]{1,110}(?:\.[A-Za-z0-9_-]{1,110}){0,7}$/;

/**
 * Whether a name can stand in a topic.
 * @example isBusName('agent.#') // false
 */
export function isBusName(name: unknown): name is string {
  return typeof name === 'string' && namePattern.test(name);
}

/**
 * Returns the name, or throws `INVALID_PARAMS`. Topics are only ever made of checked names, so that
 * no name can reach beyond its own topic: `#`, `*` and `.` would bind to those of others.
 * @example checkBusName('researcher', 'the agent') // 'researcher'
 */
export function checkBusName(name: string, what = 'the name'): string {
  if (isBusName(name)) return name;
  throw new LegateError(
    'INVALID_PARAMS',
    `${what} ${JSON.stringify(String(name).slice(0, 100))} cannot be used on the bus: ` +
      'use 1 to 100 letters, digits, "-" and "_", beginning with a letter or digit',
  );
}

/**
 * Returns the topic, or throws: for topics that came from elsewhere, such as a reply-to.
 * @example checkTopic('agent.response.me') // 'agent.response.me'
 */
export function checkTopic(topic: string): string {
  if (typeof topic === 'string' && topicPattern.test(topic)) return topic;
  throw new LegateError(
    'INVALID_PARAMS',
    `${JSON.stringify(topic.slice(0, 100))} is not a topic: use words of letters, digits, "-" and "_" with dots between`,
  );
}

/**
 * Everything that travels on the bus travels on one of these.
 * @example await bus.publish(topics.task('alice'), { type: 'task', body });
 */
export const topics = {
  /** Messages to an agent. */
  task: (agent: string): string => `agent.task.${checkBusName(agent, 'the agent')}`,
  /** Cancellation requests for an agent's tasks. */
  cancel: (agent: string): string => `agent.task.cancel.${checkBusName(agent, 'the agent')}`,
  /** State changes of tasks, without their contents: for monitoring. */
  status: 'agent.task.status',
  /** Answers to one caller, and what happens on the way to them. */
  response: (caller: string): string => `agent.response.${checkBusName(caller, 'the caller')}`,
  /** Cards of agents that come, stay and go. */
  discovery: 'discovery.announce',
} as const;

const responsePrefix = 'agent.response.';

/**
 * Whether a message may name this topic as the one to answer to: only callers' own topics.
 * @example isResponseTopic('agent.response.me') // true
 */
export function isResponseTopic(topic: string | undefined): topic is string {
  return (
    topic?.startsWith(responsePrefix) === true && isBusName(topic.slice(responsePrefix.length))
  );
}

import {
  type AgentSkill,
  type Artifact,
  checkOptions,
  type JsonObject,
  LegateError,
  invalidConfiguration,
  type OptionNames,
  type Part,
  ownerOf,
  toParts,
} from '../protocol/index.ts';
import { type Children, shareFrame, TurnFrame } from './turn-frame.ts';
import type { Agent, ArtifactChunk, Turn, TurnEnd, TurnEvent, Working } from './agent.ts';
import { isEnd } from './turn-output.ts';

/**
 * Properties of an agent, without its function.
 * @example
 * const options: AgentOptions = {
 *   name: 'weather',
 *   description: 'Forecasts for any city.',
 *   skills: ['forecast', 'storm-warning'],
 *   onInterrupted: 'run-again',
 * };
 */
export type AgentOptions = Pick<Agent, 'name'> &
  Partial<Omit<Agent, 'name' | 'take' | 'skills' | 'abandon' | 'prepare' | 'outputType'>> & {
    /** Full skills, or just their ids. @default one skill named like the agent */
    skills?: readonly (AgentSkill | string)[];
  };

export const agentOptionNames: OptionNames<AgentOptions> = {
  name: 'string',
  title: 'string',
  label: 'string',
  unavailable: 'function',
  description: 'string',
  skills: 'list',
  inputModes: 'list',
  outputModes: 'list',
  serialise: ['context', 'task'],
  replies: ['task', 'message'],
  onInterrupted: ['fail', 'run-again'],
  supersedes: 'boolean',
  commands: 'list',
};

const misplaced = invalidConfiguration(
  'agent takes its options, then a function: agent({ name }, (turn) => ...)',
);

type Emitted = TurnEvent | string;
type Generated =
  | AsyncIterable<Emitted, Emitted | void, undefined>
  | (Iterable<Emitted, Emitted | void, undefined> & object);

/**
 * The function of an agent: a generator of events and text, or a function that returns its answer. Text
 * is appended to the artifact `answer`.
 * @example const greet: AgentFunction = async (turn) => `Hello, ${textOf(turn.message)}!`;
 */
export type AgentFunction = (turn: Turn) => Generated | Promise<Emitted | void> | Emitted | void;

/**
 * Creates an agent from a function.
 * @example
 * const greeter = agent({ name: 'greeter' }, async (turn) => `Hello, ${textOf(turn.message)}!`);
 * const counter = agent({ name: 'counter' }, async function* () {
 *   yield working('Counting');
 *   for (const number of ['one', ' two', ' three']) yield number; // streams
 * });
 */
export function agent(options: AgentOptions, run: AgentFunction): Agent {
  // The options can be another agent, to wrap it.
  const names = { ...agentOptionNames, take: true, abandon: true, prepare: true } as const;
  if (typeof options === 'function' || typeof run !== 'function') throw misplaced;
  checkOptions(ownerOf('agent', options), options, names, ['name']);
  const description = options.description ?? options.name;
  const skills = (options.skills ?? [options.name]).map((skill) =>
    typeof skill === 'string' ? { id: skill, name: skill, description, tags: [skill] } : skill,
  );
  const children: Children = { agents: new Map() };
  return {
    abandon: async (turn) => children.abandon?.(turn),
    ...options,
    description,
    skills,
    take: (turn) => eventsOf({ name: options.name, run, children }, turn),
  };
}

/**
 * The events of a turn, within which `runChild` can run other agents. A single generator, since every
 * further one costs several promises for each event.
 */
async function* eventsOf(
  { name, run, children }: { name: string; run: AgentFunction; children: Children },
  given: Turn,
): AsyncGenerator<TurnEvent> {
  const frame = new TurnFrame(given, children);
  let values: Values | undefined;
  let isOver = false;
  let hasText = false;
  let hasEnded = false;
  try {
    const turn = given.isContinuation ? await replayed(given) : given;
    values = valuesOf(run(turn));
    while (!isOver) {
      const next = await values.next();
      isOver = next.done === true;
      const { value } = next;
      if (value === undefined || value === '') continue;
      if (typeof value === 'string') {
        yield chunk('answer', value, { append: hasText });
        hasText = true;
      } else if (!isEvent(value)) throw notAnEvent(name, value);
      else if (isEnd(value)) {
        hasEnded = true;
        yield await frame.end(value);
      } else yield value;
    }
  } catch (error) {
    const pause = await frame.pause();
    if (hasEnded || pause === undefined) throw error;
    hasEnded = true;
    yield pause;
  } finally {
    if (!isOver) await values?.return?.();
  }
  if (!hasEnded && frame.scope !== undefined) yield await frame.end({ kind: 'completed' });
}

/** The values that a function yields, followed by its return value. */
type Values =
  | AsyncIterator<Emitted, Emitted | void, undefined>
  | Iterator<Emitted, Emitted | void, undefined>;

function valuesOf(result: ReturnType<AgentFunction>): Values {
  if (!isIterable(result)) return { next: async () => ({ done: true, value: await result }) };
  return Symbol.asyncIterator in result
    ? result[Symbol.asyncIterator]()
    : result[Symbol.iterator]();
}

/** TypeScript guarantees it, but programs in JavaScript and values of type `any` can be anything. */
function isEvent(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'kind' in value || ('artifactId' in value && 'parts' in value);
}

function notAnEvent(name: string, value: unknown): LegateError {
  const isObject = typeof value === 'object' && value !== null;
  const what = isObject ? (Array.isArray(value) ? 'a list' : 'an object') : typeof value;
  const hint = isObject && 'text' in value ? 'its text, such as result.text' : 'text';
  return new LegateError(
    'INVALID_AGENT_RESPONSE',
    `agent "${name}" returned or yielded ${value === null ? 'null' : what}, which is neither text nor an event; return ${hint}, or artifact(data(value)) for data`,
  );
}

/** The turn in which the function passed on a peer's question, to run it again with the answer. */
async function replayed(turn: Turn): Promise<Turn> {
  const found = await turn.peers.replayed(turn);
  shareFrame(turn, found);
  return found;
}

/** Whether the function is a generator. Text is iterable too, but is an answer. */
function isIterable(result: ReturnType<AgentFunction>): result is Generated {
  if (typeof result !== 'object' || result === null) return false;
  return Symbol.asyncIterator in result || Symbol.iterator in result;
}

type Content = string | Part | readonly Part[];

/** Reports progress, with text or without. @example yield working('Looking it up') */
export function working(content?: Content, metadata?: JsonObject): Working {
  return {
    kind: 'working',
    ...(content !== undefined && { parts: toParts(content) }),
    ...(metadata !== undefined && { metadata }),
  };
}

/**
 * Creates a chunk of an artifact: the first creates the artifact, `append` extends it, `last` completes
 * it. Without `append`, a chunk replaces earlier content.
 * @example yield chunk('answer', 'Hel'); yield chunk('answer', 'lo', { append: true, last: true });
 */
export function chunk(
  artifactId: string,
  content: Content,
  options: { append?: boolean; last?: boolean } & Partial<
    Omit<Artifact, 'artifactId' | 'parts'>
  > = {},
): ArtifactChunk {
  const { append = false, last = false, ...rest } = options;
  return {
    kind: 'chunk',
    artifact: { artifactId, parts: toParts(content), ...rest },
    append,
    lastChunk: last,
  };
}

type EndOptions = Omit<TurnEnd, 'kind' | 'parts'>;

const endNames: OptionNames<EndOptions> = { metadata: 'object', context: 'object', error: true };

function ending(kind: TurnEnd['kind']) {
  return (content: Content, rest: EndOptions = {}): TurnEnd => {
    checkOptions(`the end "${kind}" of a turn`, rest, endNames);
    return { kind, parts: toParts(content), ...rest };
  };
}

/**
 * Ends the turn; to ask the caller, use `inputRequired('Which account?')`.
 * @example yield completed('All done.');
 */
export function completed(content?: Content, rest: EndOptions = {}): TurnEnd {
  return content === undefined
    ? { kind: 'completed', ...rest }
    : ending('completed')(content, rest);
}
/**
 * Ends the turn with a question; the next message of the task answers it.
 * @example yield inputRequired('For which day?');
 */
export const inputRequired = ending('input-required');
/**
 * Ends the turn: the caller must authenticate before it continues.
 * @example yield authRequired('Please sign in at https://example.com/login');
 */
export const authRequired = ending('auth-required');
/**
 * Ends the turn: the agent declines the request.
 * @example yield rejected('I only sell tea.');
 */
export const rejected = ending('rejected');
/**
 * Ends the turn as failed.
 * @example yield failed('The printer is out of paper.');
 */
export const failed = ending('failed');
/**
 * Ends the turn as cancelled.
 * @example yield canceled('You changed your mind.');
 */
export function canceled(content?: Content, rest: EndOptions = {}): TurnEnd {
  return content === undefined ? { kind: 'canceled', ...rest } : ending('canceled')(content, rest);
}

/**
 * Creates a plain message instead of a task, for agents with `replies: 'message'`.
 * @example yield reply('Hello!');
 */
export function reply(content: Content, metadata?: JsonObject): TurnEvent {
  return {
    kind: 'message',
    parts: toParts(content),
    ...(metadata !== undefined && { metadata }),
  };
}

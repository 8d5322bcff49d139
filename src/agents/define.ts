import type { AgentSkill, Artifact, JsonObject, Part } from '../protocol/index.ts';
import { toParts } from '../protocol/index.ts';
import { checkOptions, type OptionNames } from './check-options.ts';
import { type Children, inFrame } from './turn-frame.ts';
import type { Agent, ArtifactChunk, Turn, TurnEnd, TurnEvent, Working } from './agent.ts';

/**
 * What an agent is, besides what it does.
 * @example
 * const options: AgentOptions = {
 *   name: 'weather',
 *   description: 'Forecasts for any city.',
 *   skills: ['forecast', 'storm-warning'],
 *   onInterrupted: 'run-again',
 * };
 */
export type AgentOptions = Pick<Agent, 'name'> &
  Partial<Omit<Agent, 'name' | 'take' | 'skills' | 'abandon' | 'prepare'>> & {
    /** Full skills, or just their ids. @default one skill named like the agent */
    skills?: readonly (AgentSkill | string)[];
  };

export const agentOptionNames: OptionNames<AgentOptions> = {
  name: true,
  title: true,
  description: true,
  skills: true,
  inputModes: true,
  outputModes: true,
  serialise: true,
  replies: true,
  onInterrupted: true,
  supersedes: true,
  commands: true,
};

type Emitted = TurnEvent | string;
type Generated =
  | AsyncIterable<Emitted, Emitted | void, undefined>
  | (Iterable<Emitted, Emitted | void, undefined> & object);

/**
 * What an agent does in a turn: a generator of events and text, or a function that returns its answer.
 * Text is appended to the artifact `answer`.
 * @example const greet: AgentFunction = async (turn) => `Hello, ${textOf(turn.message)}!`;
 */
export type AgentFunction = (turn: Turn) => Generated | Promise<Emitted | void> | Emitted | void;

/**
 * An agent from a function.
 * @example
 * const greeter = agent({ name: 'greeter' }, async (turn) => `Hello, ${textOf(turn.message)}!`);
 * const counter = agent({ name: 'counter' }, async function* () {
 *   yield working('Counting');
 *   for (const number of ['one', ' two', ' three']) yield number; // streams
 * });
 */
export function agent(options: AgentOptions, run: AgentFunction): Agent {
  // Another agent may be given as options, to wrap it.
  const names = { ...agentOptionNames, take: true, abandon: true, prepare: true } as const;
  checkOptions(`agent "${options.name}"`, options, names);
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
    take: (turn) => inFrame(turn, children, eventsOf(run, turn)),
  };
}

async function* eventsOf(run: AgentFunction, turn: Turn): AsyncGenerator<TurnEvent> {
  let hasText = false;
  function* toEvents(value: Emitted | void): Generator<TurnEvent> {
    if (value === undefined || value === '') return;
    yield typeof value === 'string' ? chunk('answer', value, { append: hasText }) : value;
    hasText ||= typeof value === 'string';
  }
  const result = run(turn);
  if (!isIterable(result)) return yield* toEvents(await result);
  const events =
    Symbol.asyncIterator in result ? result[Symbol.asyncIterator]() : result[Symbol.iterator]();
  try {
    for (;;) {
      const next = await events.next();
      yield* toEvents(next.value);
      if (next.done === true) return;
    }
  } finally {
    await events.return?.();
  }
}

/** Whether a function is a generator; text is iterable too, but is an answer. */
function isIterable(result: ReturnType<AgentFunction>): result is Generated {
  if (typeof result !== 'object') return false;
  return Symbol.asyncIterator in result || Symbol.iterator in result;
}

export { textOf } from '../protocol/index.ts';

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
 * A piece of an artifact; the first makes it, later ones extend it, the last one seals it.
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

function ending(kind: TurnEnd['kind']) {
  return (content: Content, rest: EndOptions = {}): TurnEnd => ({
    kind,
    parts: toParts(content),
    ...rest,
  });
}

/**
 * Ends the turn; for asking back, `inputRequired('Which account?')`.
 * @example yield completed('All done.');
 */
export function completed(content?: Content, rest: EndOptions = {}): TurnEnd {
  return content === undefined
    ? { kind: 'completed', ...rest }
    : ending('completed')(content, rest);
}
/**
 * Ends the turn with a question; the next message with the same task answers it.
 * @example yield inputRequired('For which day?');
 */
export const inputRequired = ending('input-required');
/**
 * Ends the turn: the caller has to sign in first.
 * @example yield authRequired('Please sign in at https://example.com/login');
 */
export const authRequired = ending('auth-required');
/**
 * Ends the turn: the agent does not do that.
 * @example yield rejected('I only sell tea.');
 */
export const rejected = ending('rejected');
/**
 * Ends the turn: it could not be done.
 * @example yield failed('The printer is out of paper.');
 */
export const failed = ending('failed');
/**
 * Ends the turn: it was cancelled.
 * @example yield canceled('You changed your mind.');
 */
export function canceled(content?: Content, rest: EndOptions = {}): TurnEnd {
  return content === undefined ? { kind: 'canceled', ...rest } : ending('canceled')(content, rest);
}

/**
 * A plain message instead of a task, for agents with `replies: 'message'`.
 * @example yield reply('Hello!');
 */
export function reply(content: Content, metadata?: JsonObject): TurnEvent {
  return {
    kind: 'message',
    parts: toParts(content),
    ...(metadata !== undefined && { metadata }),
  };
}

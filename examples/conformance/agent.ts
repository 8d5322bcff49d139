import type { Agent, Turn, TurnEvent } from '../../src/agents/index.ts';
import { type Message, text } from '../../src/protocol/index.ts';
import { type Behaviour, behaviours, defaultTimes, type Times } from './behaviours.ts';

export interface ConformanceAgentOptions {
  /** How long the waiting behaviours wait. @default defaultTimes, with 10 s of resubscribe under 0.3 */
  readonly times?: Partial<Times>;
  /**
   * What an unnamed message gets: `1.0` completes its task; `0.3` answers and asks for more, as the
   * 0.3 suite expects of every message that it wants to follow up, subscribe to or cancel.
   * @default '1.0'
   */
  readonly profile?: '1.0' | '0.3';
}

/** The suite's streaming timeout may be set to 5 s, and the task has to outlive it twice. */
const resubscribeUnder03 = 10_000;

// `tck-artifact-file` begins `tck-artifact-file-url`: the longer prefix has to be asked first.
const longestFirst = [...behaviours].sort((a, b) => b.prefix.length - a.prefix.length);

/**
 * The agent that the public conformance suites drive: a message says by the beginning of its
 * messageId, or of its first text, what it wants to see done.
 * @example await serve(conformanceAgent(), { port: 9999 })
 */
export function conformanceAgent(options: ConformanceAgentOptions = {}): Agent {
  const { profile = '1.0' } = options;
  const times: Times = {
    ...defaultTimes,
    ...(profile === '0.3' && { resubscribe: resubscribeUnder03 }),
    ...options.times,
  };
  return {
    name: 'Legate conformance agent',
    description: 'Does what the conformance suites of the A2A project ask for by name.',
    skills: [
      {
        id: 'conformance',
        name: 'Conformance',
        description: 'Runs the behaviour named by the messageId or by the first text.',
        tags: ['conformance', 'tck'],
        examples: ['tck-complete-task', 'tck-stream-basic'],
      },
    ],
    replies: 'message',
    async *take(turn) {
      const named = behaviourOf(turn.message) ?? (await spanningBehaviourOf(turn));
      if (named !== undefined) yield* named.take(turn, times);
      else yield unnamed(turn, profile);
    },
  };
}

function unnamed(turn: Turn, profile: '1.0' | '0.3'): TurnEvent {
  return profile === '0.3'
    ? { kind: 'input-required', parts: [text('Understood. What else?')] }
    : { kind: 'completed', parts: [text(`No behaviour is named ${turn.message.messageId}.`)] };
}

/** What a message names: by its id, else by its first text. */
export function behaviourOf(message: Message): Behaviour | undefined {
  const words = message.parts.find((part) => part.text !== undefined)?.text?.trimStart() ?? '';
  return (
    longestFirst.find(({ prefix }) => message.messageId.startsWith(prefix)) ??
    longestFirst.find(({ prefix }) => words.startsWith(prefix))
  );
}

/** A follow-up names nothing; the message that opened its task may have named a conversation. */
async function spanningBehaviourOf(turn: Turn): Promise<Behaviour | undefined> {
  if (!turn.isContinuation) return undefined;
  const first = (await turn.history()).find((message) => message.role === 'ROLE_USER');
  const behaviour = first === undefined ? undefined : behaviourOf(first);
  return behaviour?.spansTurns === true ? behaviour : undefined;
}

import type { Agent, Turn, TurnEvent } from '../../src/agents/index.ts';
import { type Message, text } from '../../src/protocol/index.ts';
import { type Behaviour, behaviours, defaultTimes, type Times } from './behaviours.ts';

export interface ConformanceAgentOptions {
  /** The delays of the waiting behaviours. @default defaultTimes, with 10 s of resubscribe under 0.3 */
  readonly times?: Partial<Times>;
  /**
   * The response to an unnamed message: `1.0` completes its task. `0.3` answers and asks for more,
   * because the 0.3 suite follows up, subscribes to or cancels every message.
   * @default '1.0'
   */
  readonly profile?: '1.0' | '0.3';
}

/** The suite's streaming timeout can be 5 s, and the task must run twice as long. */
const resubscribeUnder03 = 10_000;

// `tck-artifact-file` is a prefix of `tck-artifact-file-url`: longer prefixes are tried first.
const longestFirst = [...behaviours].sort((a, b) => b.prefix.length - a.prefix.length);

/**
 * The agent for the public conformance suites: the start of a message's messageId, or of its first text,
 * selects the behaviour.
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

/** The behaviour that a message selects, by its id or its first text. */
export function behaviourOf(message: Message): Behaviour | undefined {
  const words = message.parts.find((part) => part.text !== undefined)?.text?.trimStart() ?? '';
  return (
    longestFirst.find(({ prefix }) => message.messageId.startsWith(prefix)) ??
    longestFirst.find(({ prefix }) => words.startsWith(prefix))
  );
}

/**
 * A follow-up selects no behaviour; the message that opened its task can have selected a conversation.
 */
async function spanningBehaviourOf(turn: Turn): Promise<Behaviour | undefined> {
  if (!turn.isContinuation) return undefined;
  const first = (await turn.history()).find((message) => message.role === 'ROLE_USER');
  const behaviour = first === undefined ? undefined : behaviourOf(first);
  return behaviour?.spansTurns === true ? behaviour : undefined;
}

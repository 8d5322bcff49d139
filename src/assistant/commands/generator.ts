import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Command, StackFrame } from '../conversation.ts';
import type { CollectStep, Domain, Flow, Slot } from '../model.ts';
import type { PromptNoting } from '../prompt-note.ts';
import type { TranscriptEntry } from '../tracker/state.ts';

/**
 * Translates a user message to commands; it doesn't execute them. The engine drops invalid commands. An
 * empty list means that the message was not understood. An error starts `pattern_internal_error`, and the
 * conversation continues.
 * @example const silent: CommandGenerator = { name: 'silent', generate: async () => [] }
 */
export interface CommandGenerator {
  readonly name: string;
  generate(input: GeneratorInput): Promise<readonly Command[]>;
}

/**
 * The input of a generator. Read-only.
 * @example
 * const generate = async ({ text, flows }: GeneratorInput): Promise<readonly Command[]> => {
 *   const flow = flows.find(({ examples }) => examples.includes(text));
 *   return flow === undefined ? [] : [{ command: 'start flow', flow: flow.id }];
 * };
 */
export interface GeneratorInput {
  /** The user's message: never empty, never longer than the limit, never a special message. */
  readonly text: string;
  readonly metadata: JsonObject;
  readonly channel: string;
  /** Every slot of the domain; null without a value. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The last frame is the top. */
  readonly stack: readonly StackFrame[];
  /** The user flow nearest to the top, including called flows. */
  readonly activeFlow: Flow | undefined;
  /** The root of the active flow's chain of calls; the active flow itself if no flow called it. */
  readonly callingFlow: Flow | undefined;
  /** The open question of a user flow or a pattern. */
  readonly activeCollect: ActiveCollect | undefined;
  /** The last turns, oldest first, without the current message. */
  readonly transcript: readonly TranscriptEntry[];
  /** User flows that can start: their guards hold. */
  readonly flows: readonly Flow[];
  /** Every flow of the project by id, including patterns and guarded flows. */
  readonly allFlows: ReadonlyMap<string, Flow>;
  readonly domain: Domain;
  readonly agents: AgentsView;
  /** Whether the project has documents to search. @default false */
  readonly hasKnowledge?: boolean | undefined;
  /** The value of slot `language`. */
  readonly language: string | undefined;
  /** Receives the ids of the flows in a prompt, for the log. */
  readonly onFlows?: ((ids: readonly string[]) => void) | undefined;
  /** Receives the flows that the message was compared with, and why. The log keeps them for the inspector. */
  readonly onCandidates?: ((candidates: readonly JsonObject[]) => void) | undefined;
  /** Receives each prompt with its cost. The log keeps it for the inspector. */
  readonly onPrompt?: PromptNoting['onPrompt'];
  /** Aborts when the turn is cancelled. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * The open question.
 * @example
 * const choices = ({ slot }: ActiveCollect) => slot.type === 'bool' ? [true, false] : slot.values;
 */
export interface ActiveCollect {
  readonly flow: Flow;
  readonly step: CollectStep;
  readonly slot: Slot;
}

/**
 * Sub agents of the flows on the stack.
 * @example const canRestart = (agents: AgentsView) => agents.completed.includes('hotel_desk');
 */
export interface AgentsView {
  /** The sub agent that waits for the user. */
  readonly active: string | undefined;
  /** Completed sub agents of the active flow, which can be restarted. */
  readonly completed: readonly string[];
  /** Descriptions of the project's sub agents by name. */
  readonly descriptions?: ReadonlyMap<string, string>;
}

/** Milliseconds since 1970 for this turn. The slot `mocked_datetime` of tests overrides the clock. */
export function presentMoment(input: Pick<GeneratorInput, 'slots' | 'clock'>): number {
  const mocked = input.slots['mocked_datetime'];
  const parsed = typeof mocked === 'string' ? Date.parse(mocked) : Number.NaN;
  return Number.isNaN(parsed) ? input.clock.now() : parsed;
}

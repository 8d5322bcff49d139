import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Command, StackFrame } from '../conversation.ts';
import type { CollectStep, Domain, Flow, Slot } from '../model.ts';
import type { PromptNoting } from '../prompt-note.ts';
import type { TranscriptEntry } from '../tracker/state.ts';

/**
 * Translates a user message to commands; it doesn't execute them. The engine drops commands that make
 * no sense. No commands mean that the message was not understood. An error becomes an internal error
 * of the turn, and the conversation continues.
 * @example const silent: CommandGenerator = { name: 'silent', generate: async () => [] }
 */
export interface CommandGenerator {
  readonly name: string;
  generate(input: GeneratorInput): Promise<readonly Command[]>;
}

/**
 * The input of a generator. All of it is read-only.
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
  /** The user flow nearest to the top, a called one included. */
  readonly activeFlow: Flow | undefined;
  /** The flow that called the active one, over all calls; the active flow itself when none did. */
  readonly callingFlow: Flow | undefined;
  /** The question that waits for its answer, of a user flow or of a pattern. */
  readonly activeCollect: ActiveCollect | undefined;
  /** The last turns, oldest first, without the present message. */
  readonly transcript: readonly TranscriptEntry[];
  /** User flows that may be started now: their guards hold. */
  readonly flows: readonly Flow[];
  /** Every flow of the project by id, patterns and guarded flows included. */
  readonly allFlows: ReadonlyMap<string, Flow>;
  readonly domain: Domain;
  readonly agents: AgentsView;
  /** Whether the project has documents to search. @default false */
  readonly hasKnowledge?: boolean | undefined;
  /** The value of slot `language`. */
  readonly language: string | undefined;
  /** Receives the flows that were part of a prompt; the log keeps their ids. */
  readonly onFlows?: ((ids: readonly string[]) => void) | undefined;
  /** Receives what the message was compared with, and why; the log keeps it for the inspector. */
  readonly onCandidates?: ((candidates: readonly JsonObject[]) => void) | undefined;
  /** Receives each prompt with its cost; the log keeps it for the inspector. */
  readonly onPrompt?: PromptNoting['onPrompt'];
  /** Aborts when the turn is cancelled. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * The question that is open.
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
  /** The one that waits for the user. */
  readonly active: string | undefined;
  /** Those of the active flow that ended and may be restarted. */
  readonly completed: readonly string[];
  /** What each sub agent of the project does, by its name. */
  readonly descriptions?: ReadonlyMap<string, string>;
}

/** Milliseconds since 1970 for this turn: the slot `mocked_datetime` of a test wins over the clock. */
export function presentMoment(input: Pick<GeneratorInput, 'slots' | 'clock'>): number {
  const mocked = input.slots['mocked_datetime'];
  const parsed = typeof mocked === 'string' ? Date.parse(mocked) : Number.NaN;
  return Number.isNaN(parsed) ? input.clock.now() : parsed;
}

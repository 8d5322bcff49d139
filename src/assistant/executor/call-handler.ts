import type { Clock } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { StreamPiece } from '../actions/runner.ts';
import type { BotMessage } from '../bot-message.ts';
import type { AgentRun } from '../conversation.ts';
import type { CallStep, Domain, Flow } from '../model.ts';
import type { PromptNoting } from '../prompt-note.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { TranscriptEntry } from '../tracker/state.ts';

/**
 * Executes `call:` steps of tools and agents. A tool returns once; an agent may ask the user and be
 * continued, interrupted, resumed and restarted. The engine keeps the agent's frame and events;
 * the handler retries. A thrown error counts as a failure.
 * @example
 * const weather: CallHandler = {
 *   kind: 'tool',
 *   handles: (step) => step.target === 'weather',
 *   run: async () => ({ status: 'completed', messages: [], events: [], metadata: {} }),
 * };
 */
export interface CallHandler {
  readonly kind: 'tool' | 'agent';
  /**
   * The agent has its own contexts and accepts the id of a new one: `context_id` of the metadata.
   * @default false
   */
  readonly hasContexts?: boolean;
  handles(step: CallStep): boolean;
  run(call: Call): Promise<CallOutcome>;
  /** Called when the flow that waited for the agent was cancelled, to cancel remote tasks. */
  cancel?(call: AbandonedCall): Promise<void>;
  /** Releases connections and processes. No call follows. */
  close?(): Promise<void>;
}

/**
 * An abandoned call.
 * @example const cancel = async ({ metadata }: AbandonedCall) => desk.giveUp(metadata['task_id']);
 */
export interface AbandonedCall {
  readonly step: CallStep;
  readonly metadata: JsonObject;
  readonly logger: Logger;
}

/**
 * The execution of a `call` step.
 * @example
 * const run = async ({ mode, say }: Call) => {
 *   if (mode === 'start') await say({ text: 'One moment, I am asking the hotel.' });
 * };
 */
export interface Call {
  readonly step: CallStep;
  readonly flow: Flow;
  /**
   * `start`: reached for the first time, or again in a loop. `continue`: the user answered.
   * `resume`: back after an interruption. `restart`: the user wants a finished agent again.
   */
  readonly mode: 'start' | 'continue' | 'resume' | 'restart';
  /** The agent continues because the user's message corrected a slot. */
  readonly isCorrection: boolean;
  /** What the handler returned last for this run; empty at the start. */
  readonly metadata: JsonObject;
  /** The last run of the same step in this flow, when there was one. */
  readonly previous: AgentRun | undefined;
  readonly senderId: string;
  readonly userMessage: string;
  readonly slots: Readonly<Record<string, JsonValue>>;
  /** The last turns, oldest first, with the present message. */
  readonly transcript: readonly TranscriptEntry[];
  /** The whole tracker as JSON; computed lazily. */
  tracker(): Promise<JsonObject>;
  readonly domain: Domain;
  readonly channel: string;
  /** Sends a message to the user during the call. */
  say(message: BotMessage): Promise<void>;
  readonly stream: (piece: StreamPiece) => Promise<void>;
  /** Whether the channel streams chunks. @default false */
  readonly isStreamed?: boolean;
  /** Receives a note of each call of a model. */
  readonly onPrompt?: PromptNoting['onPrompt'];
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The result of a call step.
 * @example
 * const outcome: CallOutcome = {
 *   status: 'input-required', messages: [{ text: 'Sea view or garden?' }],
 *   events: [slotSet('hotel', 'Seaside')], metadata: { task_id: 'task-12' },
 * };
 */
export type CallOutcome =
  | {
      readonly status: 'completed' | 'input-required';
      readonly messages: readonly BotMessage[];
      /** Applied before the flow goes on; slot events of unknown slots are left out. */
      readonly events: readonly EventDraft[];
      /** Kept with the frame and handed back at the next call. Keep it small. */
      readonly metadata: JsonObject;
    }
  | {
      readonly status: 'failed';
      /** For the log and the error pattern; never shown to users as it is. */
      readonly reason: string;
      readonly info?: JsonObject;
    };

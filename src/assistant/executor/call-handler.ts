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
 * Carries out `call:` steps that lead outside of the flows: to a tool, which answers at once, or
 * to an agent, which may ask the user and be continued, interrupted, resumed and restarted. The
 * engine keeps the agent's frame and events; retries are the handler's own. What it throws counts
 * as a failure.
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
   * The agent keeps conversations of its own, and may be told the id of a new one: `context_id` of the
   * metadata. @default false
   */
  readonly hasContexts?: boolean;
  handles(step: CallStep): boolean;
  run(call: Call): Promise<CallOutcome>;
  /** The flow that waited for the agent was cancelled: whatever runs elsewhere for it may stop. */
  cancel?(left: LeftCall): Promise<void>;
  /** Gives back what the handler holds: connections, processes. No call comes after it. */
  close?(): Promise<void>;
}

/**
 * What is left of a call when nobody waits for its answer any more.
 * @example const cancel = async ({ metadata }: LeftCall) => desk.giveUp(metadata['task_id']);
 */
export interface LeftCall {
  readonly step: CallStep;
  readonly metadata: JsonObject;
  readonly logger: Logger;
}

/**
 * A `call` step that is to be taken, and what is known of it so far.
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
  /** It goes on because the user changed a slot, with a message that says so. */
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
  /** The whole tracker as JSON; made when asked for. */
  tracker(): Promise<JsonObject>;
  readonly domain: Domain;
  readonly channel: string;
  /** Says something to the user at once, while the call goes on. */
  say(message: BotMessage): Promise<void>;
  readonly stream: (piece: StreamPiece) => Promise<void>;
  /** Whether anybody sees the pieces. @default false */
  readonly isStreamed?: boolean;
  /** To be told what models are asked. */
  readonly onPrompt?: PromptNoting['onPrompt'];
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What came of a call step.
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

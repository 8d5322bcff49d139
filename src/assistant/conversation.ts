import type { JsonObject, JsonValue } from '../protocol/index.ts';

/**
 * What a conversation consists of: the frames of its stack, messages and tracker events. Types rather
 * than interfaces, since all of it is JSON that is saved as it is.
 */

/**
 * A frame of the dialogue stack; the last frame of the stack is the top.
 * @example
 * const frame: FlowFrame = {
 *   type: 'flow', frameId: 'F4', flowId: 'check_balance', stepId: 'START', frameType: 'interrupt',
 * };
 */
export type FlowFrame = {
  readonly type: 'flow';
  readonly frameId: string;
  readonly flowId: string;
  readonly stepId: string;
  readonly frameType: 'regular' | 'interrupt' | 'link' | 'call';
  /** On the first frame of a chain of calls: questions passed, in that order; where corrections go back to. */
  readonly collected?: readonly CollectedStep[];
  /** On the first frame of a chain of calls: its sub agents that ended, or were left for an earlier one. */
  readonly agents?: readonly AgentRun[];
};

/**
 * A collect step that was reached; `path` leads to it from the chain's first frame, a step id per frame.
 * @example
 * const reached: CollectedStep = { slot: 'pin', path: ['2_call_log_in', '0_collect_pin'] };
 */
export type CollectedStep = {
  readonly slot: string;
  readonly path: readonly string[];
};

/**
 * A run of a sub agent that is no longer on the stack.
 * @example
 * const run: AgentRun = {
 *   agentId: 'hotel_desk', path: ['2_call_hotel_desk'], state: 'completed',
 *   metadata: { context_id: 'trip-7' },
 * };
 */
export type AgentRun = {
  readonly agentId: string;
  /** To the call step, as in `CollectedStep`. */
  readonly path: readonly string[];
  readonly state: 'completed' | 'interrupted';
  readonly metadata: JsonObject;
};

/**
 * A pattern that is under way.
 * @example
 * const frame: PatternFrame = {
 *   type: 'pattern', frameId: 'F2', flowId: 'pattern_cannot_handle', stepId: 'START',
 *   context: { reason: 'cannot_handle_default' },
 * };
 */
export type PatternFrame = {
  /** The pattern's flow id: `pattern_completed`, ... */
  readonly type: 'pattern';
  readonly frameId: string;
  readonly flowId: string;
  readonly stepId: string;
  /** What conditions and templates of the pattern see as `context.` */
  readonly context: JsonObject;
};

/**
 * A sub agent that is at work.
 * @example
 * const frame: AgentFrame = {
 *   type: 'agent', frameId: 'F3', flowId: 'plan_trip', stepId: '2_call_hotel_desk',
 *   agentId: 'hotel_desk', state: 'waiting_for_input', metadata: { task_id: 'task-12' },
 * };
 */
export type AgentFrame = {
  readonly type: 'agent';
  readonly frameId: string;
  readonly flowId: string;
  /** The call step. */
  readonly stepId: string;
  readonly agentId: string;
  readonly state: 'waiting_for_input' | 'interrupted' | 'resuming' | 'restarting';
  readonly metadata: JsonObject;
};

/**
 * One thing that a conversation is in the midst of.
 * @example const isAgentsTurn = (stack: readonly StackFrame[]) => stack.at(-1)?.type === 'agent';
 */
export type StackFrame = FlowFrame | PatternFrame | AgentFrame;

/**
 * An event of the tracker in the project format's JSON: `event` names it, `timestamp` is in seconds.
 * @example
 * const at = 1_794_744_713.25;
 * const event: TrackerEvent = { event: 'slot', timestamp: at, name: 'amount', value: 50 };
 */
export type TrackerEvent = JsonObject & { readonly event: string; readonly timestamp: number };

/**
 * Something to press instead of writing.
 * @example const button: Button = { title: 'By tomorrow', payload: '/SetSlots(express=true)' };
 */
export type Button = {
  readonly title: string;
  readonly payload: string;
  readonly translation?: Readonly<Record<string, { readonly title?: string }>>;
};

/**
 * What a user may be shown at once.
 * @example
 * const message: BotMessage = {
 *   text: 'Shall it be there tomorrow?',
 *   buttons: [{ title: 'Yes', payload: '/SetSlots(express=true)' }],
 * };
 */
export type BotMessage = {
  readonly text?: string;
  readonly buttons?: readonly Button[];
  readonly quickReplies?: readonly JsonValue[];
  readonly image?: string;
  readonly attachment?: JsonValue;
  readonly custom?: JsonValue;
  readonly elements?: readonly JsonValue[];
  readonly metadata?: JsonObject;
};

/** The commands that a command generator may return. */

/**
 * What a message means for the conversation.
 * @example
 * // "Send 50 euros to Bob"
 * const commands: readonly Command[] = [
 *   { command: 'start flow', flow: 'transfer_money' },
 *   { command: 'set slot', name: 'amount', value: 50, by: 'llm' },
 *   { command: 'set slot', name: 'recipient', value: 'Bob', by: 'llm' },
 * ];
 */
export type Command =
  | { readonly command: 'start flow'; readonly flow: string }
  | {
      readonly command: 'set slot';
      readonly name: string;
      readonly value: JsonValue;
      readonly by: Extractor;
    }
  | { readonly command: 'correct slots'; readonly slots: Readonly<Record<string, JsonValue>> }
  | { readonly command: 'cancel flow' }
  | { readonly command: 'clarify'; readonly options: readonly string[] }
  /** `topic`: what the small talk is about, such as `greeting`; see `context.topic` of `pattern_chitchat`. */
  | { readonly command: 'chitchat'; readonly topic?: string }
  | { readonly command: 'knowledge answer' }
  | { readonly command: 'skip question' }
  | { readonly command: 'human handoff' }
  | { readonly command: 'repeat bot messages' }
  | { readonly command: 'continue agent' }
  | { readonly command: 'restart agent'; readonly agent: string }
  | { readonly command: 'cannot handle'; readonly reason: string }
  | { readonly command: 'error'; readonly errorType: string; readonly info: JsonObject }
  | { readonly command: 'code change' }
  | { readonly command: 'session start' }
  | { readonly command: 'session end' }
  | { readonly command: 'restart' }
  | { readonly command: 'user silence' };

/**
 * Who extracted a slot value: decides which mappings may be filled, and who wins over whom. `llm` is a
 * model and `matching` the generator without one: both read what a user typed and fill the same slots.
 * @example const pressed: Extractor = 'payload'; // a button with /SetSlots(express=true)
 */
export type Extractor = 'llm' | 'matching' | 'nlu' | 'payload' | 'orchestrator';

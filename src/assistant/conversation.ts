import { z } from 'zod';
import type { JsonObject, JsonValue } from '../protocol/index.ts';

/** The parts of a conversation, all of them JSON: messages, tracker events, stack frames and commands. */

/** A JSON value; nested values are not validated. */
export const jsonValue = z.custom<JsonValue>((value) => value !== undefined);
export const jsonObject = z.record(z.string(), jsonValue).readonly();

export const button = z
  .object({
    title: z.string(),
    payload: z.string(),
    translation: z
      .record(
        z.string(),
        z
          .object({ title: z.string().exactOptional(), payload: z.string().exactOptional() })
          .readonly(),
      )
      .readonly()
      .exactOptional(),
  })
  .readonly();

/**
 * A button that a user can press instead of typing.
 * @example const button: Button = { title: 'By tomorrow', payload: '/SetSlots(express=true)' };
 */
export type Button = z.infer<typeof button>;

export const botMessage = z
  .object({
    text: z.string().exactOptional(),
    buttons: z.array(button).readonly().exactOptional(),
    quickReplies: z.array(jsonValue).readonly().exactOptional(),
    image: z.string().exactOptional(),
    attachment: jsonValue.exactOptional(),
    custom: jsonValue.exactOptional(),
    elements: z.array(jsonValue).readonly().exactOptional(),
    metadata: jsonObject.exactOptional(),
  })
  .readonly();

/**
 * A message of the assistant.
 * @example
 * const message: BotMessage = {
 *   text: 'Shall it be there tomorrow?',
 *   buttons: [{ title: 'Yes', payload: '/SetSlots(express=true)' }],
 * };
 */
export type BotMessage = z.infer<typeof botMessage>;

/**
 * An event of the tracker in the project format's JSON: `event` names it, `timestamp` is in seconds.
 * @example
 * const at = 1_794_744_713.25;
 * const event: TrackerEvent = { event: 'slot', timestamp: at, name: 'amount', value: 50 };
 */
export type TrackerEvent = JsonObject & { readonly event: string; readonly timestamp: number };

/** The position of a step in a chain of calls: one step id per frame, starting with the first frame. */
const path = z.array(z.string()).readonly();
const position = { frameId: z.string(), flowId: z.string(), stepId: z.string() };

/** A collect step that was reached. */
const collectedStep = z.object({ slot: z.string(), path }).readonly();
export type CollectedStep = z.infer<typeof collectedStep>;

/** A run of a sub agent that is no longer on the stack. Its path is the position of the call step. */
const agentRun = z
  .object({
    agentId: z.string(),
    path,
    state: z.enum(['completed', 'interrupted']),
    metadata: jsonObject,
  })
  .readonly();
export type AgentRun = z.infer<typeof agentRun>;

const flowFrame = z
  .object({
    ...position,
    type: z.literal('flow'),
    frameType: z.enum(['regular', 'interrupt', 'link', 'call']),
    /** Only in the first frame of a call chain: passed questions, in order. Corrections go back to them. */
    collected: z.array(collectedStep).readonly().exactOptional(),
    /** Only in the first frame of a call chain: its sub agents that completed or were interrupted. */
    agents: z.array(agentRun).readonly().exactOptional(),
  })
  .readonly();
export type FlowFrame = z.infer<typeof flowFrame>;

/** A pattern; its conditions and templates can read `context`. */
const patternFrame = z
  .object({ ...position, type: z.literal('pattern'), context: jsonObject })
  .readonly();
export type PatternFrame = z.infer<typeof patternFrame>;

/** A sub agent; `stepId` is that of the call step. */
const agentFrame = z
  .object({
    ...position,
    type: z.literal('agent'),
    agentId: z.string(),
    state: z.enum(['waiting_for_input', 'interrupted', 'resuming', 'restarting']),
    metadata: jsonObject,
  })
  .readonly();
export type AgentFrame = z.infer<typeof agentFrame>;

export const stackFrame = z.discriminatedUnion('type', [flowFrame, patternFrame, agentFrame]);

/**
 * A frame of the dialogue stack: a flow, a pattern or a sub agent. The last frame is the top.
 * @example const isAgentsTurn = (stack: readonly StackFrame[]) => stack.at(-1)?.type === 'agent';
 */
export type StackFrame = z.infer<typeof stackFrame>;

export const extractor = z.enum(['llm', 'matching', 'nlu', 'payload', 'orchestrator']);

/**
 * An instruction of a message to the conversation.
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
  /** `isOffer`: the user asked how to do it, so the flow is offered instead of started. */
  | { readonly command: 'clarify'; readonly options: readonly string[]; readonly isOffer?: boolean }
  /** `topic`: the topic of the small talk, such as `greeting`; see `context.topic` of `pattern_chitchat`. */
  | { readonly command: 'chitchat'; readonly topic?: string }
  | { readonly command: 'knowledge answer' }
  | { readonly command: 'skip question' }
  | { readonly command: 'human handoff' }
  | { readonly command: 'repeat bot messages' }
  | { readonly command: 'continue agent' }
  | { readonly command: 'restart agent'; readonly agent: string }
  /**
   * `flow`: the guarded flow that the user asked for, with the reason `cannot_handle_not_available`. `info`:
   * further context of the pattern.
   */
  | {
      readonly command: 'cannot handle';
      readonly reason: string;
      readonly flow?: string;
      readonly info?: JsonObject;
    }
  | { readonly command: 'error'; readonly errorType: string; readonly info: JsonObject }
  | { readonly command: 'code change' }
  | { readonly command: 'session start' }
  | { readonly command: 'session end' }
  | { readonly command: 'restart' }
  | { readonly command: 'user silence' };

/**
 * The source of a slot value. It determines which mappings apply and which source takes precedence. `llm` is
 * a model and `matching` is the generator without a model; both read typed messages and fill the same slots.
 * @example const pressed: Extractor = 'payload'; // a button with /SetSlots(express=true)
 */
export type Extractor = z.infer<typeof extractor>;

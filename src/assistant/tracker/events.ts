import { z } from 'zod';
import { present } from '../../config/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import {
  button,
  type BotMessage,
  type Command,
  type Extractor,
  type TrackerEvent,
} from '../conversation.ts';

/**
 * An event before the tracker adds its time and metadata.
 * @example const draft: EventDraft = { event: 'slot', name: 'amount', value: 50 }; // no timestamp
 */
export type EventDraft = JsonObject & { readonly event: string };

/** One function for each event of the engine; fields as in the project format. */

export function userUttered(message: {
  readonly text: string;
  readonly channel: string;
  readonly messageId: string;
  readonly metadata: JsonObject;
  readonly commands: readonly Command[];
  /** The intent that the message names, such as `/greet`, instead of text. */
  readonly intent?: {
    readonly name: string;
    readonly entities: readonly { readonly entity: string; readonly value: JsonValue }[];
  };
  /** Ids of the flows in the prompt. */
  readonly flowsInPrompt?: readonly string[];
  /** The flows that the generator compared the message with. */
  readonly candidates?: readonly JsonObject[];
  /** The model calls that the message caused. */
  readonly prompts?: readonly JsonObject[];
}): EventDraft {
  return {
    event: 'user',
    text: message.text,
    input_channel: message.channel,
    message_id: message.messageId,
    parse_data: {
      intent: {
        name: message.intent?.name ?? null,
        confidence: message.intent === undefined ? 0 : 1,
      },
      entities: message.intent?.entities ?? [],
      text: message.text,
      message_id: message.messageId,
      metadata: message.metadata,
      commands: message.commands,
      ...(message.flowsInPrompt !== undefined && { flows_in_prompt: message.flowsInPrompt }),
      ...(message.candidates !== undefined && { candidates: message.candidates }),
      ...(message.prompts !== undefined && { prompts: message.prompts }),
    },
  };
}

/** A bot message. `origin` names its source: the response, the action or the agent. */
export function botUttered(message: BotMessage, origin: JsonObject = {}): EventDraft {
  return {
    event: 'bot',
    text: message.text ?? null,
    data: {
      elements: message.elements ?? null,
      quick_replies: message.quickReplies ?? null,
      buttons: message.buttons ?? null,
      attachment: message.attachment ?? null,
      image: message.image ?? null,
      custom: message.custom ?? null,
    },
    metadata: { ...message.metadata, ...origin },
  };
}

export function actionExecuted(name: string, metadata?: JsonObject): EventDraft {
  const event = { event: 'action', name, policy: 'flows', confidence: 1, action_text: null };
  return metadata === undefined ? event : { ...event, metadata };
}

export function actionRejected(name: string): EventDraft {
  return { event: 'action_execution_rejected', name, policy: 'flows', confidence: 1 };
}

/**
 * An event that sets a slot.
 * @example slotSet('amount', 5) // { event: 'slot', name: 'amount', value: 5 }
 */
export function slotSet(name: string, value: JsonValue, filledBy?: Extractor): EventDraft {
  return filledBy === undefined
    ? { event: 'slot', name, value }
    : { event: 'slot', name, value, filled_by: filledBy };
}

export function sessionStarted(sessionId: string): EventDraft {
  return { event: 'session_started', metadata: { session_id: sessionId } };
}

export function sessionEnded(reason: string): EventDraft {
  return { event: 'session_ended', metadata: { _reason: reason } };
}

/** The session expired without a message. */
export const conversationInactive: EventDraft = { event: 'conversation_inactive' };

export const restarted: EventDraft = { event: 'restart' };

export type FlowEvent = 'flow_completed' | 'flow_cancelled' | 'flow_interrupted' | 'flow_resumed';

export function flowStarted(flowId: string): EventDraft {
  return { event: 'flow_started', flow_id: flowId };
}

export function flowEvent(event: FlowEvent, flowId: string, stepId: string): EventDraft {
  return { event, flow_id: flowId, step_id: stepId };
}

export function agentEvent(
  event: 'started' | 'completed' | 'interrupted' | 'resumed' | 'cancelled',
  flowId: string,
  agentId: string,
  fields: JsonObject = {},
): EventDraft {
  return { event: `agent_${event}`, flow_id: flowId, agent_id: agentId, ...fields };
}

/** A text field; empty if the value is not a text. */
export function textOf(event: TrackerEvent, field: string): string {
  const value = event[field];
  return typeof value === 'string' ? value : '';
}

/** An object field; empty if the value is not an object. */
export function objectOf(event: JsonObject, field: string): JsonObject {
  const value = event[field];
  return isJsonObject(value) ? value : {};
}

/** Whether a value is an event of the log. The tracker adds a timestamp to every event. */
export function isTrackerEvent(value: unknown): value is TrackerEvent {
  return isJsonObject(value) && typeof value['event'] === 'string';
}

/** Larger messages are only in the log, not in the saved state. */
const MAX_MESSAGE_CHARACTERS = 16 * 1024;

/** The user's latest message as the saved state has it. */
export function boundedMessage(parseData: JsonValue | undefined, text: string): JsonObject {
  const isKept = JSON.stringify(parseData ?? null).length <= MAX_MESSAGE_CHARACTERS;
  if (isJsonObject(parseData) && isKept) return parseData;
  return { text: text.slice(0, MAX_MESSAGE_CHARACTERS), intent: { name: null }, entities: [] };
}

/** A field of a recorded message. Null and values of another type count as absent. */
const recorded = <T>(schema: z.ZodType<T>) => schema.optional().catch(undefined);
const value = z.custom<JsonValue>((one) => one !== undefined && one !== null);
const recordedMessage = z.object({
  text: recorded(z.string()),
  buttons: recorded(z.array(button)),
  quickReplies: recorded(z.array(value)),
  image: recorded(z.string()),
  attachment: recorded(value),
  custom: recorded(value),
  elements: recorded(z.array(value)),
});

/** The message that a `bot` event recorded. */
export function botMessageOf(event: TrackerEvent): BotMessage {
  const { quick_replies: quickReplies, ...data } = objectOf(event, 'data');
  const { utter_action } = objectOf(event, 'metadata');
  const metadata = typeof utter_action === 'string' ? { utter_action } : undefined;
  return present({
    ...recordedMessage.parse({ ...data, quickReplies, text: event['text'] }),
    metadata,
  });
}

/** Events that start a session. Events before them can't be undone. */
const sessionStarts: ReadonlySet<string> = new Set(['restart', 'session_started']);

/** How far back each undo event reaches: to the last `from` event, but not beyond an event in `until`. */
const reaches: ReadonlyMap<string, { readonly from: string; readonly until: ReadonlySet<string> }> =
  new Map([
    ['rewind', { from: 'user', until: sessionStarts }],
    ['undo', { from: 'action', until: new Set([...sessionStarts, 'user']) }],
  ]);

/** Whether an event undoes earlier ones: `rewind` or `undo`. */
export function isUndo({ event }: { readonly event: string }): boolean {
  return reaches.has(event);
}

/** Whether an event starts a session. */
export function startsSession({ event }: { readonly event: string }): boolean {
  return sessionStarts.has(event);
}

/**
 * The effective events: without `rewind` and `undo` events, and without the events that they undo. A
 * `rewind` undoes the user's last message and all events since then. An `undo` undoes the last action after
 * that message and all events since then, except for the stack, which isn't an effect of the action.
 * @example appliedEvents(log) // user, slot, rewind, pause: only pause is left
 */
export function appliedEvents<Event extends { readonly event: string }>(
  events: readonly Event[],
): readonly Event[] {
  const applied: Event[] = [];
  for (const event of events) {
    const reach = reaches.get(event.event);
    if (reach === undefined) {
      applied.push(event);
      continue;
    }
    const { from, until } = reach;
    const at = applied.findLastIndex((one) => one.event === from || until.has(one.event));
    if (applied[at]?.event !== from) continue;
    const gone = applied.splice(at);
    if (event.event === 'undo') applied.push(...gone.filter((one) => one.event === 'stack'));
  }
  return applied;
}

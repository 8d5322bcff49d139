import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { BotMessage } from '../bot-message.ts';
import type { Command, Extractor } from '../command.ts';
import type { TrackerEvent } from '../conversation.ts';

/**
 * An event before the tracker gave it its time and metadata.
 * @example const draft: EventDraft = { event: 'slot', name: 'amount', value: 50 }; // no timestamp
 */
export type EventDraft = JsonObject & { readonly event: string };

/** The events of the engine, one maker each; fields as in the project format. */

export function userUttered(message: {
  readonly text: string;
  readonly channel: string;
  readonly messageId: string;
  readonly metadata: JsonObject;
  readonly commands: readonly Command[];
  /** When the message names one instead of words. */
  readonly intent?: {
    readonly name: string;
    readonly entities: readonly { readonly entity: string; readonly value: JsonValue }[];
  };
  /** Ids of the flows in the prompt. */
  readonly flowsInPrompt?: readonly string[];
  /** The calls of models that the message caused. */
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
      ...(message.prompts !== undefined && { prompts: message.prompts }),
    },
  };
}

/** `origin` says where it comes from: the response's name, the action, the agent. */
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
 * A slot has a new value.
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

/** A field that should be a text; empty when it isn't. */
export function textOf(event: TrackerEvent, field: string): string {
  const value = event[field];
  return typeof value === 'string' ? value : '';
}

/** A field that should be an object; empty when it isn't. */
export function objectOf(event: JsonObject, field: string): JsonObject {
  const value = event[field];
  return isJsonObject(value) ? value : {};
}

/** Whether a value is an event of the log; the tracker gave each of them a timestamp. */
export function isTrackerEvent(value: unknown): value is TrackerEvent {
  return isJsonObject(value) && typeof value['event'] === 'string';
}

/** Larger messages stay in the log and aren't saved with the conversation. */
const MAX_MESSAGE_CHARACTERS = 16 * 1024;

/** What the tracker keeps of the user's latest message. */
export function boundedMessage(parseData: JsonValue | undefined, text: string): JsonObject {
  const isKept = JSON.stringify(parseData ?? null).length <= MAX_MESSAGE_CHARACTERS;
  if (isJsonObject(parseData) && isKept) return parseData;
  return { text: text.slice(0, MAX_MESSAGE_CHARACTERS), intent: { name: null }, entities: [] };
}

/** The message that a `bot` event recorded. */
export function botMessageOf(event: TrackerEvent): BotMessage {
  const data = objectOf(event, 'data');
  const fields: [keyof BotMessage, JsonValue | undefined][] = [
    ['text', event['text']],
    ['buttons', data['buttons']],
    ['quickReplies', data['quick_replies']],
    ['image', data['image']],
    ['attachment', data['attachment']],
    ['custom', data['custom']],
    ['elements', data['elements']],
  ];
  const known = fields.filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(known);
}

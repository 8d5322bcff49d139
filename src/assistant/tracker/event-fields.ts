import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { TrackerEvent } from '../conversation.ts';
import type { BotMessage } from '../bot-message.ts';

/** A field that should be a text; empty when it is none. */
export function textOf(event: TrackerEvent, field: string): string {
  const value = event[field];
  return typeof value === 'string' ? value : '';
}

/** Larger ones stay in the log and do not travel with the conversation. */
const MAX_MESSAGE_CHARACTERS = 16 * 1024;

/** What the tracker keeps of the user's latest message. */
export function boundedMessage(parseData: JsonValue | undefined, text: string): JsonObject {
  const isObject = typeof parseData === 'object' && parseData !== null && !Array.isArray(parseData);
  if (isObject && JSON.stringify(parseData).length <= MAX_MESSAGE_CHARACTERS) {
    return parseData as JsonObject;
  }
  return { text: text.slice(0, MAX_MESSAGE_CHARACTERS), intent: { name: null }, entities: [] };
}

/** The message that a `bot` event recorded. */
export function botMessageOf(event: TrackerEvent): BotMessage {
  const data = (event['data'] ?? {}) as Readonly<Record<string, JsonValue>>;
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

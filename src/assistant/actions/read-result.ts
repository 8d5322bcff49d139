import { readBodyOf } from '../../net/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { BotMessage, Button } from '../bot-message.ts';
import type { EventDraft } from '../tracker/events.ts';
import type { ActionMessage, ActionResult } from './runner.ts';

/** Maximum number of messages and events of one action. */
const MAX_ITEMS = 1_000;

/**
 * Decodes the response of an action server: `{events: [...], responses: [...]}`. Servers in many
 * languages fill unused fields with null and empty lists; both count as absent.
 */
export function readActionResult(body: string, where: string): ActionResult {
  const answer = parse(body, where);
  return {
    messages: listOf(answer, 'responses', where).flatMap((item) => readMessage(item)),
    events: listOf(answer, 'events', where).map((item) => readEvent(item, where)),
  };
}

/** Decodes one message of an NLG server; undefined when it is empty. */
export function readResponse(body: string, where: string): BotMessage | undefined {
  const [message] = readMessage(parse(body, where));
  if (message === undefined) return undefined;
  const { response: _, values: __, ...said } = message;
  return Object.keys(said).length === 0 ? undefined : said;
}

function parse(body: string, where: string): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch (error) {
    throw new Error(`${where} answered with invalid JSON`, { cause: error });
  }
  if (!isJsonObject(answer)) throw new Error(`${where} answered with JSON that isn't an object`);
  return answer;
}

function listOf(answer: JsonObject, field: string, where: string): readonly JsonObject[] {
  const list = answer[field] ?? [];
  if (!Array.isArray(list) || !list.every(isJsonObject)) {
    throw new Error(`${where} answered with "${field}", which must be a list of objects`);
  }
  if (list.length > MAX_ITEMS) throw new Error(`${where} answered more than ${MAX_ITEMS} ${field}`);
  return list;
}

function readEvent(item: JsonObject, where: string): EventDraft {
  const { event, timestamp, ...fields } = item;
  if (typeof event !== 'string') throw new Error(`${where} answered an event without a name`);
  const time = typeof timestamp === 'number' && Number.isFinite(timestamp) ? { timestamp } : {};
  return { ...fields, ...time, event };
}

const known = new Set([
  'text',
  'image',
  'custom',
  'buttons',
  'elements',
  'quick_replies',
  'attachment',
  'template',
  'response',
]);

/** One message; none when every field of it is empty. */
function readMessage(item: JsonObject): readonly ActionMessage[] {
  const present = Object.fromEntries(Object.entries(item).filter(([, value]) => !isEmpty(value)));
  const { text, image, custom, buttons, elements, attachment } = present;
  const response = present['response'] ?? present['template'];
  const quickReplies = present['quick_replies'];
  const values = Object.fromEntries(Object.entries(present).filter(([key]) => !known.has(key)));
  const message: ActionMessage = {
    ...(typeof text === 'string' && { text }),
    ...(typeof image === 'string' && { image }),
    ...(custom !== undefined && { custom }),
    ...(Array.isArray(buttons) && { buttons: buttons.flatMap(readButton) }),
    ...(Array.isArray(elements) && { elements }),
    ...(Array.isArray(quickReplies) && { quickReplies }),
    ...(attachment !== undefined && { attachment }),
    ...(typeof response === 'string' && { response, values }),
  };
  return Object.keys(message).length === 0 ? [] : [message];
}

function readButton(item: JsonValue): readonly Button[] {
  if (!isJsonObject(item)) return [];
  const { title, payload } = item;
  if (typeof title !== 'string') return [];
  return [{ title, payload: typeof payload === 'string' ? payload : title }];
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The text of a response up to a size limit. */
export async function readBounded(
  response: Response,
  maxBytes: number,
  where: string,
): Promise<string> {
  const { bytes, isCut } = await readBodyOf(response, maxBytes);
  if (isCut) throw new Error(`${where} answered more than ${maxBytes} bytes`);
  return bytes.toString('utf8');
}

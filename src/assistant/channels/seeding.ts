import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Message,
} from '../../protocol/index.ts';

/**
 * A user message: its text, and the slot values that the sender already knows.
 * @example
 * const seeded: SeededMessage = { text: 'Transfer money', slots: { amount: 5 }, metadata: {} };
 */
export interface SeededMessage {
  /** Without the markers that carried slots. */
  readonly text: string;
  readonly slots: Readonly<Record<string, JsonValue>>;
  readonly metadata: JsonObject;
}

/** Longest tail of a text that is searched for slots, in characters. */
const maxTail = 64 * 1024;

/**
 * Reads the slots that an orchestrator sends along. Later sources override earlier ones: the end of
 * the text (`SLOTS: {...}` on a line of its own, or a fenced block of JSON), `slots` of the metadata,
 * `slots` of a data part. Which of them exist, and what fits them, is for the domain to say.
 * @example readSeeds(message('Transfer money\nSLOTS: {"amount": 5}'), {}).slots // { amount: 5 }
 */
export function readSeeds(message: Message, requestMetadata: JsonObject): SeededMessage {
  const spoken = message.parts.map((part) => part.text ?? '').filter((text) => text !== '');
  const { text, slots: written } = splitText(spoken.join('\n'));
  const metadata = { ...requestMetadata, ...message.metadata };
  const slots: Record<string, JsonValue> = {
    ...written,
    ...slotsOf(requestMetadata),
    ...slotsOf(message.metadata),
  };
  for (const part of message.parts) Object.assign(slots, slotsOf(part.data));
  return { text, slots, metadata };
}

function slotsOf(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) return {};
  return isJsonObject(value['slots']) ? value['slots'] : {};
}

const slotsLine = /^[ \t]*SLOTS:[ \t]*(\{.*\})[ \t]*$/m;
const fencedBlock = /\n?```(?:json)?[ \t]*\n([^`]*)\n?```\s*$/;

function splitText(whole: string): { text: string; slots: JsonObject } {
  const head = whole.slice(0, -maxTail);
  let tail = whole.slice(-maxTail);
  let slots: JsonObject = {};
  for (const marker of [fencedBlock, slotsLine]) {
    const match = marker.exec(tail);
    const found = match === null ? undefined : parse(match[1] ?? '');
    if (match === null || found === undefined) continue;
    slots = { ...found, ...slots };
    tail = tail.slice(0, match.index) + tail.slice(match.index + match[0].length);
  }
  return { text: (head + tail).trim(), slots };
}

/** Text that only looks like slots stays part of the message. */
function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

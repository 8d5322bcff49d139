import {
  data,
  file,
  type JsonObject,
  type JsonValue,
  type Part,
  text,
} from '../../../src/protocol/index.ts';
import { parseJsonOr } from '../api/json.ts';
import { type Pair, pairsObject } from '../ui/text.ts';

/** A message draft. */
export interface Draft {
  readonly text: string;
  readonly files: readonly Attachment[];
  /** JSON of a data part; empty for none. */
  readonly json: string;
  readonly metadata: readonly Pair[];
}

export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export const emptyDraft: Draft = { text: '', files: [], json: '', metadata: [] };

/** The server would reject larger files, once they are encoded. */
export const maxAttached = 7_000_000;

export function isEmpty({ text, files, json }: Draft): boolean {
  return text.trim() === '' && files.length === 0 && json.trim() === '';
}

/** A draft that was not sent, with what was written since. */
export function joined(draft: Draft, newer: Draft): Draft {
  return {
    text: [draft.text, newer.text].filter((text) => text !== '').join('\n'),
    files: [...draft.files, ...newer.files],
    json: newer.json === '' ? draft.json : newer.json,
    metadata: newer.metadata,
  };
}

/** The parts of the message; throws on invalid JSON. */
export function partsOf(draft: Draft): readonly Part[] {
  const parts: Part[] = [];
  if (draft.text.trim() !== '') parts.push(text(draft.text));
  if (draft.json.trim() !== '') parts.push(data(JSON.parse(draft.json)));
  for (const { name, mediaType, bytes } of draft.files) {
    parts.push(file({ bytes, filename: name, mediaType }));
  }
  return parts;
}

/** Values that parse as JSON are sent as JSON: numbers, lists, objects. */
export function metadataOf({ metadata }: Draft): JsonObject | undefined {
  const entries = Object.entries(pairsObject(metadata)).map(
    ([name, value]) => [name, valueOf(value)] as const,
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function valueOf(text: string): JsonValue {
  if (!/^(?:[[{"\d-]|true$|false$|null$)/.test(text.trim())) return text;
  return parseJsonOr(text, text);
}

export async function attach(chosen: File): Promise<Attachment> {
  const bytes = new Uint8Array(await chosen.arrayBuffer());
  return { name: chosen.name, mediaType: chosen.type || 'application/octet-stream', bytes };
}

import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { z } from 'zod';
import { isJsonObject, type JsonObject, type Part } from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { json, part } from '../stored.ts';

const provider = z.custom<SharedV4ProviderMetadata>(isJsonObject).exactOptional();

export const thought = z.object({ text: z.string(), provider }).readonly();

/** A tool call as the model requested it. */
export const requestedCall = z.object({
  id: z.string(),
  name: z.string(),
  input: json,
  /** Why the input could not be parsed. */
  problem: z.string().exactOptional(),
  provider,
});
export type RequestedCall = Readonly<z.infer<typeof requestedCall>>;

export const callOutput = z.discriminatedUnion('type', [
  z.object({ type: z.literal('value'), value: json }).readonly(),
  z.object({ type: z.literal('error'), value: z.string() }).readonly(),
  z.object({ type: z.literal('denied'), value: z.string() }).readonly(),
]);

/**
 * The output of a tool: a result, an error or a denial.
 * @example const output: CallOutput = { type: 'error', value: 'unknown order A-17' };
 */
export type CallOutput = z.infer<typeof callOutput>;

const callResult = z.object({ id: z.string(), name: z.string(), output: callOutput }).readonly();

/**
 * A tool call with its output.
 * @example
 * const isOrdered = ({ name, output }: CallResult) => name === 'place_order' && output.type === 'value';
 * llmAgent({ name: 'clerk', model, stopWhen: ({ results }) => results.some(isOrdered) });
 */
export type CallResult = z.infer<typeof callResult>;

export const entry = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), parts: z.array(part).readonly() }).readonly(),
  z
    .object({
      role: z.literal('assistant'),
      text: z.string().exactOptional(),
      /** Sent back to the model during its turn; never logged or shown. */
      thoughts: z.array(thought).readonly().exactOptional(),
      calls: z.array(requestedCall.readonly()).readonly().exactOptional(),
    })
    .readonly(),
  z.object({ role: z.literal('tool'), results: z.array(callResult).readonly() }).readonly(),
]);

/** A message of the conversation as an agent stores it: plain JSON, independent of the model. */
export type Entry = z.infer<typeof entry>;

/** One turn in the context's log, beside the name of its agent. */
const loggedTurn = new StoredFormat({
  name: 'log of conversation',
  schema: z.array(entry).readonly(),
});

const maxLoggedResultLength = 4_000;

/**
 * Gives each call an id that is unique in the turn. Some models restart their ids with every answer,
 * and an answer to an old question must not match a new one.
 */
export function withOwnIds(
  calls: readonly RequestedCall[],
  entries: readonly Entry[],
): readonly RequestedCall[] {
  const earlier = entries.flatMap((each) => (each.role === 'assistant' ? (each.calls ?? []) : []));
  const taken = new Set(earlier.map(({ id }) => id));
  return calls.map((call) => {
    let { id } = call;
    for (let number = 2; taken.has(id); number += 1) id = `${call.id}_${number}`;
    taken.add(id);
    return id === call.id ? call : { ...call, id };
  });
}

/** A turn of the log, as visible to one agent. */
export interface ReadTurn {
  readonly entries: readonly Entry[];
  /** In characters. */
  readonly size: number;
}

/**
 * Reads a turn of the log for one agent: its own turns in full, the visible text of other agents'
 * turns. Returns undefined for other entries, such as those of sub agents with a conversation of their
 * own.
 */
export function readTurn(
  { agent: author, entries }: JsonObject,
  agent: string,
  contextId: string,
): ReadTurn | undefined {
  if (entries === undefined) return undefined;
  const stored = loggedTurn.decode(entries, contextId);
  const visible = author === agent ? stored : visibleEntries(stored);
  return { entries: visible, size: JSON.stringify(visible).length };
}

/** Maximum characters of a tool result in a prompt that exceeded the model's context. */
const maxShortResult = 2_000;

/** Cuts long tool results in the entries; returns undefined if none is long. */
export function withShortResults(entries: readonly Entry[]): readonly Entry[] | undefined {
  let isCut = false;
  const short = entries.map((each): Entry => {
    if (each.role !== 'tool') return each;
    const results = each.results.map((result) => cutResult(result, maxShortResult));
    isCut ||= results.some((result, index) => result !== each.results[index]);
    return { role: 'tool', results };
  });
  return isCut ? short : undefined;
}

/**
 * Creates the log entry of a turn: without reasoning, with file names in place of files, and with long
 * results cut.
 */
export function toLog(agent: string, entries: readonly Entry[]): JsonObject {
  const slim = entries.map((each): Entry => {
    if (each.role === 'user') return { role: 'user', parts: each.parts.map(withoutBytes) };
    if (each.role === 'tool') {
      const results = each.results.map((result) => cutResult(result, maxLoggedResultLength));
      return { role: 'tool', results };
    }
    const { thoughts: _, ...said } = each;
    return said;
  });
  return { agent, entries: loggedTurn.encode(slim).value };
}

/** Cuts the result to this many characters, as text, if it is longer. */
export function cutResult(result: CallResult, longest: number): CallResult {
  const { output } = result;
  const text = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
  if (text.length <= longest) return result;
  return { ...result, output: { type: output.type, value: `${text.slice(0, longest)} [cut]` } };
}

function visibleEntries(entries: readonly Entry[]): readonly Entry[] {
  return entries.flatMap((each): readonly Entry[] => {
    if (each.role === 'user') return [each];
    if (each.role === 'tool' || (each.text ?? '') === '') return [];
    return [{ role: 'assistant', text: each.text ?? '' }];
  });
}

/** Replaces the bytes of a file by its name. */
export function withoutBytes(given: Part): Part {
  if (given.raw === undefined) return given;
  return { text: `[file ${given.filename ?? given.mediaType ?? 'without a name'}]` };
}

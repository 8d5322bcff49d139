import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { JsonObject, JsonValue, Part } from '../../protocol/index.ts';
import type { Turn } from '../agent.ts';

/** A conversation as an agent keeps it: plain JSON, whatever the model. */
export type Entry =
  | { readonly role: 'user'; readonly parts: readonly Part[] }
  | {
      readonly role: 'assistant';
      readonly text?: string;
      /** Sent back to the model during its turn; never logged or shown. */
      readonly thoughts?: readonly Thought[];
      readonly calls?: readonly RequestedCall[];
    }
  | { readonly role: 'tool'; readonly results: readonly CallResult[] };

export interface Thought {
  readonly text: string;
  readonly provider?: JsonObject;
}

/** A call as the model asked for it. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** Why the input could not be read. */
  readonly problem?: string;
  readonly provider?: JsonObject;
}

/**
 * A tool call with its output.
 * @example
 * const isOrdered = ({ name, output }: CallResult) => name === 'place_order' && output.type === 'value';
 * llmAgent({ name: 'clerk', model, stopWhen: ({ results }) => results.some(isOrdered) });
 */
export interface CallResult {
  readonly id: string;
  readonly name: string;
  readonly output: CallOutput;
}

/**
 * The output of a tool: a result, an error or a denial.
 * @example const output: CallOutput = { type: 'error', value: 'unknown order A-17' };
 */
export type CallOutput =
  | { readonly type: 'value'; readonly value: JsonValue }
  | { readonly type: 'error'; readonly value: string }
  | { readonly type: 'denied'; readonly value: string };

/** One turn in the context's log. */
interface LoggedTurn {
  readonly agent: string;
  readonly entries: readonly Entry[];
}

/** Of all turns that are read. */
const maxCharacters = 200_000;
const maxLoggedResultLength = 4_000;

/**
 * The calls under ids that no other call of the turn has. Some models restart their ids with every answer, and an answer to an old question must not match
 * a new one.
 */
export function withOwnIds(
  calls: readonly RequestedCall[],
  entries: readonly Entry[],
): readonly RequestedCall[] {
  const taken = new Set(
    entries.flatMap((entry) => (entry.role === 'assistant' ? (entry.calls ?? []) : [])).map(idOf),
  );
  return calls.map((call) => {
    let { id } = call;
    for (let number = 2; taken.has(id); number += 1) id = `${call.id}_${number}`;
    taken.add(id);
    return id === call.id ? call : { ...call, id };
  });
}

function idOf({ id }: RequestedCall): string {
  return id;
}

/** The history for one agent: its own turns in full, the visible text of other agents' turns. */
export async function loadHistory(
  turn: Turn,
  agent: string,
  turns: number,
): Promise<readonly Entry[]> {
  if (turns === 0) return [];
  const logged = (await turn.state.log({ last: turns })).flatMap((entry) => readLogged(entry));
  const kept: (readonly Entry[])[] = [];
  let size = 0;
  for (const { agent: author, entries } of logged.toReversed()) {
    const heard = author === agent ? entries : visibleEntries(entries);
    size += JSON.stringify(heard).length;
    if (size > maxCharacters) break;
    kept.push(heard);
  }
  return kept.toReversed().flat();
}

/** A turn for the log: without thoughts, with files by their names only, and long results cut. */
export function toLog(agent: string, entries: readonly Entry[]): JsonObject {
  const slim = entries.map((entry): Entry => {
    if (entry.role === 'user') return { role: 'user', parts: entry.parts.map(withoutBytes) };
    if (entry.role === 'tool') {
      const results = entry.results.map((each) => cutResult(each, maxLoggedResultLength));
      return { role: 'tool', results };
    }
    const { thoughts: _, ...said } = entry;
    return said;
  });
  const logged: LoggedTurn = { agent, entries: slim };
  return logged as unknown as JsonObject;
}

/** The result as text of so many characters, where it is longer. */
export function cutResult(result: CallResult, longest: number): CallResult {
  const { output } = result;
  const text = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
  if (text.length <= longest) return result;
  return { ...result, output: { type: output.type, value: `${text.slice(0, longest)} [cut]` } };
}

function readLogged(entry: JsonObject): readonly LoggedTurn[] {
  const { agent, entries } = entry as { agent?: unknown; entries?: unknown };
  if (typeof agent !== 'string' || !Array.isArray(entries)) return [];
  return [{ agent, entries: entries as readonly Entry[] }];
}

function visibleEntries(entries: readonly Entry[]): readonly Entry[] {
  return entries.flatMap((entry): readonly Entry[] => {
    if (entry.role === 'user') return [entry];
    if (entry.role === 'tool' || (entry.text ?? '') === '') return [];
    return [{ role: 'assistant', text: entry.text ?? '' }];
  });
}

/** Replaces the bytes of a file by its name. */
export function withoutBytes(part: Part): Part {
  if (part.raw === undefined) return part;
  return { text: `[file ${part.filename ?? part.mediaType ?? 'without a name'}]` };
}

/** Converts the conversation to a prompt of the AI SDK. */
export function toPrompt(system: string, entries: readonly Entry[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Message[] = [];
  if (system !== '') prompt.push({ role: 'system', content: system });
  for (const entry of entries) {
    const message = toMessage(entry);
    if (message !== undefined) prompt.push(message);
  }
  return prompt;
}

function toMessage(entry: Entry): LanguageModelV4Message | undefined {
  switch (entry.role) {
    case 'user':
      return { role: 'user', content: entry.parts.map(toContent) };
    case 'tool':
      return {
        role: 'tool',
        content: entry.results.map(({ id, name, output }) => ({
          type: 'tool-result',
          toolCallId: id,
          toolName: name,
          output: toOutput(output),
        })),
      };
    case 'assistant': {
      const content = [
        ...(entry.thoughts ?? []).map(({ text, provider }) => ({
          type: 'reasoning' as const,
          text,
          ...providerOptions(provider),
        })),
        ...((entry.text ?? '') === '' ? [] : [{ type: 'text' as const, text: entry.text ?? '' }]),
        ...(entry.calls ?? []).map(({ id, name, input, provider }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input,
          ...providerOptions(provider),
        })),
      ];
      return content.length === 0 ? undefined : { role: 'assistant', content };
    }
  }
}

function providerOptions(provider: JsonObject | undefined): {
  providerOptions?: SharedV4ProviderOptions;
} {
  return provider === undefined
    ? {}
    : { providerOptions: provider as unknown as SharedV4ProviderOptions };
}

function toOutput(output: CallOutput): LanguageModelV4ToolResultOutput {
  if (output.type === 'error') return { type: 'error-text', value: output.value };
  // Not every provider supports denials; all support errors.
  if (output.type === 'denied') return { type: 'error-text', value: output.value };
  if (typeof output.value === 'string') return { type: 'text', value: output.value };
  return { type: 'json', value: output.value as never };
}

const readable = /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript))/;
const seen = /^(?:image|audio|video)\/|^application\/pdf$/;

function toContent(part: Part): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const { filename, mediaType = '' } = part;
  const name = filename === undefined ? {} : { filename };
  if (part.text !== undefined) return { type: 'text', text: part.text };
  if (part.raw !== undefined) {
    if (readable.test(mediaType)) {
      const text = Buffer.from(part.raw, 'base64').toString('utf8');
      return { type: 'text', text: filename === undefined ? text : `${filename}:\n${text}` };
    }
    if (seen.test(mediaType)) {
      return { type: 'file', mediaType, data: { type: 'data', data: part.raw }, ...name };
    }
    return { type: 'text', text: withoutBytes(part).text ?? '' };
  }
  if (part.url !== undefined) {
    const url = URL.parse(part.url);
    if (url !== null && mediaType.startsWith('image/') && url.protocol === 'https:') {
      return { type: 'file', mediaType, data: { type: 'url', url }, ...name };
    }
    return { type: 'text', text: `[file ${filename ?? ''} at ${part.url}]` };
  }
  return { type: 'text', text: JSON.stringify(part.data) };
}

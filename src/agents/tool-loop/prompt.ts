import type {
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { GeneratedText } from '../../models/index.ts';
import { LegateError, type Part, parseJson } from '../../protocol/index.ts';
import { part } from '../stored.ts';
import { toJsonSchema7 } from '../tools/schema.ts';
import type { Tool } from '../tools/tool.ts';
import { usage } from '../usage.ts';
import {
  type CallOutput,
  type Entry,
  type RequestedCall,
  requestedCall,
  thought,
  withoutBytes,
} from './conversation.ts';

export const modelAnswer = z
  .object({
    text: z.string(),
    thoughts: z.array(thought).readonly(),
    calls: z.array(requestedCall.readonly()).readonly(),
    /** Files that the model generated, and the sources that it names. */
    attachments: z.array(part).readonly().exactOptional(),
    /** `stop`, `length`, `content-filter`, `tool-calls`, `error` or `other`. */
    finishReason: z.string(),
    usage,
  })
  .readonly();

/**
 * The answer of a model in one step, with its reasoning removed from the text.
 * @example
 * const withoutCardNumbers = (answer: ModelAnswer) => ({
 *   ...answer,
 *   text: answer.text.replaceAll(/\b\d{16}\b/g, '(card number)'),
 * });
 * llmAgent({ name: 'clerk', model, afterModel: withoutCardNumbers });
 */
export type ModelAnswer = z.infer<typeof modelAnswer>;

/** Converts generated text for the loop, without calls that the provider executed. */
export function toModelAnswer(generated: GeneratedText): ModelAnswer {
  const { text, reasoning, toolCalls, finishReason, usage: used } = generated;
  const attachments = generated.content.flatMap(toAttachment);
  return {
    text,
    thoughts: reasoning.map((each) => ({ text: each.text, ...providerOf(each) })),
    calls: toolCalls.filter((each) => each.providerExecuted !== true).map(toRequestedCall),
    ...(attachments.length > 0 && { attachments }),
    finishReason,
    usage: { ...used, calls: 1 },
  };
}

/** Converts a generated file or a source to a part for the caller. */
function toAttachment(content: GeneratedText['content'][number]): readonly Part[] {
  if (content.type === 'file') {
    const { mediaType, data } = content;
    if (data.type === 'url') return [{ url: data.url.href, mediaType }];
    const raw =
      typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64');
    return [{ raw, mediaType }];
  }
  if (content.type !== 'source') return [];
  const { id, title } = content;
  const metadata = { source: id };
  if (content.sourceType === 'url') {
    return [{ url: content.url, metadata, ...(title !== undefined && { filename: title }) }];
  }
  // A document has no address of its own.
  const { mediaType, filename = content.title } = content;
  return [{ url: `source:${encodeURIComponent(id)}`, mediaType, filename, metadata }];
}

/** Parses a call. The input that a model generates can be invalid JSON. */
function toRequestedCall(call: LanguageModelV4ToolCall): RequestedCall {
  const base = { id: call.toolCallId, name: call.toolName, ...providerOf(call) };
  try {
    return { ...base, input: call.input.trim() === '' ? {} : parseJson(call.input) };
  } catch (error) {
    const why = error instanceof LegateError ? error.message : 'unreadable';
    return { ...base, input: {}, problem: `the input is not JSON: ${why}` };
  }
}

function providerOf({
  providerMetadata: provider,
}: Pick<LanguageModelV4ToolCall, 'providerMetadata'>): Pick<RequestedCall, 'provider'> {
  return provider === undefined ? {} : { provider };
}

/** The description of a tool for a model. */
export function toFunctionTool(
  tool: Pick<Tool, 'name' | 'description' | 'inputSchema'>,
): LanguageModelV4FunctionTool {
  const { name, description, inputSchema } = tool;
  return { type: 'function', name, description, inputSchema: toJsonSchema7(inputSchema) };
}

/** Converts the conversation to a prompt of the AI SDK. */
export function toPrompt(system: string, entries: readonly Entry[]): LanguageModelV4Prompt {
  const messages = entries.map(toMessage).filter(({ content }) => content.length > 0);
  return system === '' ? messages : [{ role: 'system', content: system }, ...messages];
}

function toMessage(entry: Entry): LanguageModelV4Message {
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
      const { text = '', thoughts = [], calls = [] } = entry;
      return {
        role: 'assistant',
        content: [
          ...thoughts.map((each) => ({
            type: 'reasoning' as const,
            text: each.text,
            ...optionsOf(each),
          })),
          ...(text === '' ? [] : [{ type: 'text' as const, text }]),
          ...calls.map((call) => ({
            type: 'tool-call' as const,
            toolCallId: call.id,
            toolName: call.name,
            input: call.input,
            ...optionsOf(call),
          })),
        ],
      };
    }
  }
}

function optionsOf({ provider }: Pick<RequestedCall, 'provider'>) {
  return provider === undefined ? {} : { providerOptions: provider };
}

function toOutput({ type, value }: CallOutput): LanguageModelV4ToolResultOutput {
  // Not every provider supports denials; all support errors.
  if (type !== 'value') return { type: 'error-text', value };
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value };
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

import type { LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider';
import { type JsonObject, type JsonValue, LegateError, parseJson } from '../../protocol/index.ts';
import type { RequestedCall, Thought } from './conversation.ts';
import type { Usage } from '../usage.ts';

/**
 * What a model answered in one step, without thoughts in its text.
 * @example
 * const withoutCardNumbers = (answer: ModelAnswer) => ({
 *   ...answer,
 *   text: answer.text.replaceAll(/\b\d{16}\b/g, '(card number)'),
 * });
 * llmAgent({ name: 'clerk', model, afterModel: withoutCardNumbers });
 */
export interface ModelAnswer {
  readonly text: string;
  readonly thoughts: readonly Thought[];
  readonly calls: readonly RequestedCall[];
  /** `stop`, `length`, `content-filter`, `tool-calls`, `error` or `other`. */
  readonly finishReason: string;
  readonly usage: Usage;
}

/**
 * Takes a piece of text as it arrives; resolves when there is room for more. `isStart`: what came
 * before it in this step is void.
 */
export type Show = (text: string, isStart: boolean) => Promise<void>;

/** A call as we keep it. What the model made up for its input may be no JSON at all. */
export function toRequestedCall(call: LanguageModelV4ToolCall): RequestedCall {
  const provider = call.providerMetadata as JsonObject | undefined;
  const base = {
    id: call.toolCallId,
    name: call.toolName,
    ...(provider !== undefined && { provider }),
  };
  try {
    const input = call.input.trim() === '' ? {} : (parseJson(call.input) as JsonValue);
    return { ...base, input };
  } catch (error) {
    const why = error instanceof LegateError ? error.message : 'unreadable';
    return { ...base, input: {}, problem: `the input is not JSON: ${why}` };
  }
}

export function toUsage(usage: LanguageModelV4Usage): Usage {
  return {
    input: usage.inputTokens.total ?? 0,
    output: usage.outputTokens.total ?? 0,
    cachedInput: usage.inputTokens.cacheRead ?? 0,
    reasoning: usage.outputTokens.reasoning ?? 0,
    calls: 1,
  };
}

import type { LanguageModelV4FunctionTool, LanguageModelV4ToolCall } from '@ai-sdk/provider';
import type { GeneratedText } from '../../models/index.ts';
import { type JsonObject, type JsonValue, LegateError, parseJson } from '../../protocol/index.ts';
import type { RequestedCall, Thought } from './conversation.ts';
import type { Tool } from '../tools/tool.ts';
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

/** Reads a call. The input that a model generates may be invalid JSON. */
function toRequestedCall(call: LanguageModelV4ToolCall): RequestedCall {
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

/** Converts generated text for the loop, without calls that the provider executed itself. */
export function toModelAnswer(generated: GeneratedText): ModelAnswer {
  const { text, reasoning, toolCalls, finishReason, usage } = generated;
  return {
    text,
    thoughts: reasoning.map((part) => {
      const provider = part.providerMetadata as JsonObject | undefined;
      return { text: part.text, ...(provider !== undefined && { provider }) };
    }),
    calls: toolCalls.filter((each) => each.providerExecuted !== true).map(toRequestedCall),
    finishReason,
    usage: { ...usage, calls: 1 },
  };
}

/** The description of a tool for a model. */
export function toFunctionTool(
  tool: Pick<Tool, 'name' | 'description' | 'inputSchema'>,
): LanguageModelV4FunctionTool {
  const { name, description, inputSchema } = tool;
  return { type: 'function', name, description, inputSchema: inputSchema as never };
}

import type { JsonObject, JsonValue } from '../../../src/protocol/index.ts';
import { objectOf, textOf } from './tracker-json.ts';

/** A call of a language model to understand a message. */
export interface ModelCall {
  readonly component: string;
  readonly model: string;
  readonly prompt: string;
  readonly answer: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly milliseconds: number | undefined;
  /** The error code; empty on success. */
  readonly error: string;
}

/**
 * The model calls of a user event: `prompts` of its `parse_data`, or of its metadata. Each has a
 * prompt and, if known, the component, the model, the answer, tokens and time.
 */
export function modelCallsIn(event: JsonObject): readonly ModelCall[] {
  for (const holder of [event['parse_data'], event['metadata']]) {
    const prompts = objectOf(holder)['prompts'];
    if (Array.isArray(prompts)) return prompts.map((one: JsonValue) => modelCall(objectOf(one)));
  }
  return [];
}

function modelCall(one: JsonObject): ModelCall {
  const usage = objectOf(one['usage']);
  const system = textOf(one['system_prompt']);
  const user = textOf(one['prompt']) || textOf(one['user_prompt']);
  return {
    component: textOf(one['component']) || textOf(one['component_name']),
    model: textOf(one['model']),
    prompt: system === '' ? user : `${system}\n\n${user}`,
    answer: textOf(one['answer']) || textOf(one['response']),
    inputTokens: firstNumber(usage['input_tokens'], usage['prompt_tokens'], usage['inputTokens']),
    outputTokens: firstNumber(
      usage['output_tokens'],
      usage['completion_tokens'],
      usage['outputTokens'],
    ),
    milliseconds: firstNumber(one['duration_ms'], one['latency_ms']),
    error: textOf(one['error']),
  };
}

function firstNumber(...values: readonly (JsonValue | undefined)[]): number | undefined {
  return values.find((value) => typeof value === 'number');
}

import type { JsonObject, JsonValue } from '../../../src/protocol/index.ts';
import { objectOf, textOf } from './tracker-json.ts';

/** A question that was put to a language model in order to understand a message. */
export interface ModelCall {
  readonly component: string;
  readonly model: string;
  readonly prompt: string;
  readonly answer: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly milliseconds: number | undefined;
  /** The code of what went wrong; empty where nothing did. */
  readonly error: string;
}

/**
 * The questions that a user event tells of: `prompts` of its `parse_data`, or of its metadata. Each has
 * a prompt and, as far as it is known, the component, the model, the answer, tokens and time.
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

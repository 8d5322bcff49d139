import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { offersStructuredOutput } from '../../models/index.ts';
import { type JsonValue, LegateError, parseJson } from '../../protocol/index.ts';
import { type Parsed, toJsonSchema7, type ValueSchema } from '../tools/schema.ts';

type ResponseFormat = NonNullable<LanguageModelV4CallOptions['responseFormat']>;

/** The schema as response format, for models that support it. */
export function responseFormat(
  model: LanguageModelV4,
  { jsonSchema }: ValueSchema,
): ResponseFormat | undefined {
  if (!offersStructuredOutput(model)) return undefined;
  return { type: 'json', name: 'answer', schema: toJsonSchema7(jsonSchema) };
}

/** The instruction for models without structured output. */
export function formatInstruction(schema: ValueSchema): string {
  return `Give your final answer as JSON only, without any other text, in the form of this JSON Schema:\n${JSON.stringify(schema.jsonSchema)}`;
}

/** Parses the value in a model's answer, which can be in a code fence. */
export async function readOutput(text: string, schema: ValueSchema): Promise<Parsed<JsonValue>> {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(text)?.[1];
  let value: JsonValue;
  try {
    value = parseJson(fenced ?? text);
  } catch (error) {
    const why = error instanceof LegateError ? error.message : 'unreadable';
    return { ok: false, problem: `it is not JSON: ${why}` };
  }
  const parsed = await schema.parse(value);
  return parsed.ok ? { ok: true, value: toJsonValue(parsed.value) } : parsed;
}

function toJsonValue(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value ?? null));
}

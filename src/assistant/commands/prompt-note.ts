import type { JsonObject } from '../../protocol/index.ts';

/** A question that a generator put to a model, and what came of it. */
export interface PromptNote {
  /** Who asked: the generator's name. */
  readonly component: string;
  readonly model: string;
  /** All that the model was told, in one text. */
  readonly prompt: string;
  /** Absent where the model failed. */
  readonly answer?: string;
  readonly usage?: { readonly input: number; readonly output: number };
  readonly durationMs: number;
  /** The code of what went wrong. */
  readonly error?: string;
}

/** Of texts that the log keeps, in characters: the log is read whole by those who look at it. */
const MAX_PROMPT = 24_000;
const MAX_ANSWER = 4_000;

/** The note as `parse_data.prompts` of the user event has it. */
export function promptJson(note: PromptNote): JsonObject {
  const { component, model, prompt, answer, usage, durationMs, error } = note;
  return {
    component,
    model,
    prompt: cut(prompt, MAX_PROMPT),
    ...(answer !== undefined && { answer: cut(answer, MAX_ANSWER) }),
    ...(usage !== undefined && {
      usage: { input_tokens: usage.input, output_tokens: usage.output },
    }),
    duration_ms: durationMs,
    ...(error !== undefined && { error }),
  };
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}

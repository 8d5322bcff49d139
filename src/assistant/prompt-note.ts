import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Clock } from '../agents/index.ts';
import type { GeneratedText } from '../models/index.ts';
import { type JsonObject, LegateError } from '../protocol/index.ts';

/** A call of a model: prompt, answer or error, and usage. */
export interface PromptNote {
  /** The caller: the generator, a sub agent, the rephraser. */
  readonly component: string;
  readonly model: string;
  /** The whole prompt as one text. */
  readonly prompt: string;
  /** Absent if the model failed. */
  readonly answer?: string;
  readonly usage?: { readonly input: number; readonly output: number };
  readonly durationMs: number;
  /** The error code. */
  readonly error?: string;
}

/** Receives a note of each call of a model. */
export interface PromptNoting {
  readonly onPrompt?: ((note: PromptNote) => void) | undefined;
  readonly clock: Clock;
}

/** Calls a model and reports the prompt, the answer and the usage. */
export async function noted(
  { onPrompt, clock }: PromptNoting,
  request: {
    readonly component: string;
    readonly model: string;
    readonly prompt: string | LanguageModelV4Prompt;
  },
  ask: () => Promise<GeneratedText>,
): Promise<GeneratedText> {
  if (onPrompt === undefined) return ask();
  const { component, model } = request;
  const prompt = typeof request.prompt === 'string' ? request.prompt : promptText(request.prompt);
  const startedAt = clock.now();
  const note = (came: Pick<PromptNote, 'answer' | 'usage' | 'error'>): void =>
    onPrompt({ component, model, prompt, durationMs: clock.now() - startedAt, ...came });
  try {
    const answer = await ask();
    note({ answer: answerText(answer), usage: answer.usage });
    return answer;
  } catch (error) {
    note({ error: error instanceof LegateError ? error.code : 'INTERNAL' });
    throw error;
  }
}

/** Characters of an answer that the log keeps: readers load the whole log. */
const MAX_ANSWER = 4_000;

/** The note in the log: an entry of `prompts` of the user event or of the event that ends the turn. */
export function promptJson(note: PromptNote, maxPrompt: number): JsonObject {
  const { component, model, prompt, answer, usage, durationMs, error } = note;
  return {
    component,
    model,
    prompt: cut(prompt, maxPrompt),
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

/** A prompt as readable text. Roles are only named if the prompt has several turns. */
function promptText(prompt: LanguageModelV4Prompt): string {
  const isTalk = prompt.some(({ role }) => role === 'assistant' || role === 'tool');
  return prompt
    .map(({ role, content }) => {
      const text = typeof content === 'string' ? content : content.map(partText).join('\n');
      return isTalk && role !== 'system' ? `${role}: ${text}` : text;
    })
    .join('\n\n');
}

type Part = Exclude<LanguageModelV4Prompt[number]['content'], string>[number];

function partText(part: Part): string {
  if (part.type === 'text') return part.text;
  if (part.type === 'tool-call') return `${part.toolName}(${JSON.stringify(part.input)})`;
  if (part.type === 'tool-result') return `${part.toolName}: ${JSON.stringify(part.output)}`;
  return '';
}

function answerText({ text, toolCalls }: GeneratedText): string {
  const calls = toolCalls.map(({ toolName, input }) => `${toolName}(${input})`);
  return [...(text === '' ? [] : [text]), ...calls].join('\n');
}

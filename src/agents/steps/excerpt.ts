import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { type JsonValue, textOfValue } from '../../protocol/index.ts';
import type { PromptMessage } from './step.ts';

/** Maximum characters of one text in a step. */
const maxText = 4_000;
/** Maximum messages of a prompt in a step: the instruction, and the last ones. */
const maxMessages = 40;

/** A text for people, cut if it is long. */
export function excerpt(text: string): string {
  return text.length > maxText
    ? `${text.slice(0, maxText)} [cut, ${text.length} characters]`
    : text;
}

/** The value, or the start of its JSON if that is long. */
export function excerptOf(value: JsonValue): JsonValue {
  const text = textOfValue(value);
  return text.length > maxText ? excerpt(text) : value;
}

/** The messages of a prompt after the first `from`, and the number of messages before them. */
export function promptExcerpt(
  prompt: LanguageModelV4Prompt,
  from: number,
): { readonly prompt: readonly PromptMessage[]; readonly earlierMessages: number } {
  const recent = prompt.slice(Math.max(from, prompt.length - maxMessages));
  const [first] = prompt;
  const isCut = from === 0 && recent.length < prompt.length && first?.role === 'system';
  const shown = isCut ? [first, ...recent.slice(1)] : recent;
  return { prompt: shown.map(toMessage), earlierMessages: prompt.length - shown.length };
}

function toMessage(message: LanguageModelV4Message): PromptMessage {
  const { role, content } = message;
  const text = typeof content === 'string' ? content : content.map(textOf).join('\n');
  return { role, text: excerpt(text) };
}

type Content = Exclude<LanguageModelV4Message['content'], string>[number];

function textOf(part: Content): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'file':
      return `[${part.filename ?? part.mediaType}]`;
    case 'tool-call':
      return `${part.toolName}(${JSON.stringify(part.input)})`;
    case 'tool-result':
      return `${part.toolName}: ${'value' in part.output ? JSON.stringify(part.output.value) : ''}`;
    default:
      return `[${part.type}]`;
  }
}

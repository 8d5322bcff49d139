import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
} from '@ai-sdk/provider';
import { LegateError } from '../protocol/index.ts';
import { createReasoningFilter } from './reasoning.ts';

/**
 * Told of text as it arrives. `isStart`: an answer begins; what came of one before it is void.
 * @example
 * let shown = '';
 * const onText: OnText = (text, isStart) => {
 *   shown = isStart ? text : shown + text;
 * };
 */
export type OnText = (text: string, isStart: boolean) => void | Promise<void>;

/** An answer that is told as it comes, thoughts left out, and given whole in the end. */
export async function streamText(
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  onText: OnText,
): Promise<LanguageModelV4GenerateResult> {
  const { stream } = await model.doStream(call);
  const filter = createReasoningFilter();
  const content: LanguageModelV4Content[] = [];
  const texts: string[] = [];
  let hasBegun = false;
  const tell = async (text: string): Promise<void> => {
    const shown = hasBegun ? text : text.trimStart();
    if (shown === '') return;
    const isStart = !hasBegun;
    hasBegun = true;
    await onText(shown, isStart);
  };
  let end: Pick<LanguageModelV4GenerateResult, 'finishReason' | 'usage'> | undefined;
  for await (const part of stream) {
    call.abortSignal?.throwIfAborted();
    switch (part.type) {
      case 'text-delta':
        texts.push(part.delta);
        await tell(filter.push(part.delta));
        break;
      case 'tool-call':
        content.push(part);
        break;
      case 'finish':
        end = { finishReason: part.finishReason, usage: part.usage };
        break;
      case 'error':
        throw part.error;
      default:
    }
  }
  await tell(filter.end());
  if (end === undefined) {
    throw new LegateError('UNAVAILABLE', `model ${model.modelId} broke off its answer`);
  }
  const text = texts.join('');
  return {
    ...end,
    content: text === '' ? content : [{ type: 'text', text }, ...content],
    warnings: [],
  };
}

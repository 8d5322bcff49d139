import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4Reasoning,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';
import { present } from '../config/index.ts';
import { LegateError } from '../protocol/index.ts';
import { Deadline, until } from '../time/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { timedOut } from './failure.ts';
import { stripReasoning } from './reasoning.ts';
import { retryModel } from './retry.ts';
import { type OnText, streamText } from './stream-text.ts';

/**
 * The prompt, with settings, timeout and retries.
 * @example
 * const options: GenerateTextOptions = {
 *   system: 'Answer with one word.',
 *   prompt: 'What is the capital of France?',
 *   temperature: 0,
 *   timeoutMs: 5_000,
 * };
 */
export interface GenerateTextOptions extends Omit<
  LanguageModelV4CallOptions,
  'prompt' | 'abortSignal'
> {
  /** One user message, or a whole prompt. */
  readonly prompt: string | LanguageModelV4Prompt;
  /** The system message, added before the prompt. */
  readonly system?: string;
  /**
   * Timeout of the whole call with all attempts and waits, in milliseconds; 0 for no limit.
   * @default 30_000
   */
  readonly timeoutMs?: number;
  /** Longest time between two parts of a streamed answer, in milliseconds; 0 for no limit. @default 0 */
  readonly silenceMs?: number;
  /** Attempts after the first. @default 2 */
  readonly retries?: number;
  /** Aborts the call. */
  readonly signal?: AbortSignal;
  /** Streams the answer; called with its text as it arrives. An error ends the call. */
  readonly onText?: OnText;
  /** Where log lines go. @default none */
  readonly logger?: Logger;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Returns a number in [0, 1), for the jitter of retries. @default Math.random */
  readonly random?: () => number;
  /** Waits between attempts. @default a timer */
  readonly sleep?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * The answer of a model, and its token usage.
 * @example
 * const answer: GeneratedText = await generateText(model, { prompt: 'Tell me a tale' });
 * if (answer.finishReason === 'length') console.log(`cut after ${answer.usage.output} tokens`);
 */
export interface GeneratedText {
  /** All text of the answer, without reasoning. */
  readonly text: string;
  /** The parts of the answer, without reasoning. Text parts are unchanged. */
  readonly content: readonly LanguageModelV4Content[];
  /** Reasoning that the provider sent in separate parts. */
  readonly reasoning: readonly LanguageModelV4Reasoning[];
  readonly toolCalls: readonly LanguageModelV4ToolCall[];
  readonly finishReason: LanguageModelV4FinishReason['unified'];
  readonly usage: TokenUsage;
  readonly attempts: number;
}

/**
 * Tokens of one answer; 0 if the provider did not report them.
 * @example
 * const usage: TokenUsage = { input: 1_240, output: 85, cachedInput: 1_024, reasoning: 60 };
 * const fresh = usage.input - usage.cachedInput; // 216: `input` includes cached tokens
 */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
  readonly reasoning: number;
}

/**
 * Calls a model. Retries transient failures (network, 408, 409, 429, 5xx) with exponential backoff, or
 * after the time in `Retry-After`, within one time budget. Rejects with a `LegateError`, with the
 * signal's reason when it aborts, or with the error of `onText`.
 * @example const { text } = await generateText(model, { prompt: 'Say hello', timeoutMs: 5_000 })
 */
export async function generateText(
  model: LanguageModelV4,
  options: GenerateTextOptions,
): Promise<GeneratedText> {
  const {
    prompt,
    system,
    onText,
    timeoutMs = 30_000,
    silenceMs = 0,
    retries = 2,
    ...rest
  } = options;
  const { logger = silentLogger, now = Date.now, random = Math.random, sleep, ...others } = rest;
  const { signal: outer, ...settings } = others;
  using budget = new Deadline({
    signal: outer,
    milliseconds: timeoutMs,
    reason: () => timedOut(model, timeoutMs),
  });
  const { signal } = budget;
  const call = {
    // An undefined setting must not override the one in the model's configuration.
    ...present(settings),
    prompt: toPrompt(prompt, system),
    abortSignal: signal,
  };
  const deadline = timeoutMs > 0 ? now() + timeoutMs : undefined;
  const consume = onText && abortingOnError(onText, budget);
  // Awaited, since the time budget ends when this function returns.
  return await retryModel(
    model,
    { retries, signal, logger, now, random, sleep, deadline },
    async (attempt) => {
      const asking =
        consume === undefined
          ? model.doGenerate(call)
          : streamText(model, call, { signal, silenceMs, onText: consume });
      const result = await until(asking, signal);
      const { unified, raw = 'no reason given' } = result.finishReason;
      // For example, the provider cannot parse a tool call: another attempt may succeed.
      if (unified === 'error')
        throw new LegateError('UNAVAILABLE', `model ${model.modelId} failed in its answer: ${raw}`);
      return toGeneratedText(result, attempt);
    },
  );
}

/** An error of the consumer ends the call with that error. The model did not fail, so nothing is retried. */
function abortingOnError(onText: OnText, budget: Deadline): OnText {
  return async (text, isStart) => {
    if (budget.signal.aborted) return;
    try {
      await onText(text, isStart);
    } catch (error) {
      budget.abort(error);
    }
  };
}

function toPrompt(
  prompt: string | LanguageModelV4Prompt,
  system: string | undefined,
): LanguageModelV4Prompt {
  const messages: LanguageModelV4Prompt =
    typeof prompt === 'string'
      ? [{ role: 'user', content: [{ type: 'text', text: prompt }] }]
      : prompt;
  return system === undefined ? messages : [{ role: 'system', content: system }, ...messages];
}

function toGeneratedText(result: LanguageModelV4GenerateResult, attempts: number): GeneratedText {
  const content = result.content.filter(
    (part) => part.type !== 'reasoning' && part.type !== 'reasoning-file',
  );
  const text =
    result.structuredOutputText ??
    content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return {
    text: stripReasoning(text),
    content,
    reasoning: result.content.filter((part) => part.type === 'reasoning'),
    toolCalls: content.filter((part) => part.type === 'tool-call'),
    finishReason: result.finishReason.unified,
    usage: {
      input: result.usage.inputTokens.total ?? 0,
      output: result.usage.outputTokens.total ?? 0,
      cachedInput: result.usage.inputTokens.cacheRead ?? 0,
      reasoning: result.usage.outputTokens.reasoning ?? 0,
    },
    attempts,
  };
}

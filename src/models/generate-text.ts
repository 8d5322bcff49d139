import { setTimeout as delay } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';
import { Deadline, until } from '../time/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { describeFailure, timedOut } from './failure.ts';
import { meterModelCall } from './model-meter.ts';
import { stripReasoning } from './reasoning.ts';
import { type OnText, streamText } from './stream-text.ts';

/** What is passed to the model as it is. */
const settingKeys = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'stopSequences',
  'seed',
  'responseFormat',
  'tools',
  'toolChoice',
  'reasoning',
  'headers',
  'providerOptions',
] as const satisfies readonly (keyof LanguageModelV4CallOptions)[];

type ModelSettings = Pick<LanguageModelV4CallOptions, (typeof settingKeys)[number]>;

/**
 * What a model is asked, and how patiently.
 * @example
 * const options: GenerateTextOptions = {
 *   system: 'Answer with one word.',
 *   prompt: 'What is the capital of France?',
 *   temperature: 0,
 *   timeoutMs: 5_000,
 * };
 */
export interface GenerateTextOptions extends ModelSettings {
  /** One user message, or a whole prompt. */
  readonly prompt: string | LanguageModelV4Prompt;
  /** Put before the prompt. */
  readonly system?: string;
  /** Milliseconds for the whole call, all attempts and waits included. @default 30_000 */
  readonly timeoutMs?: number;
  /** Attempts after the first. @default 2 */
  readonly retries?: number;
  readonly signal?: AbortSignal;
  /** Streams the answer, and is told of its text as it arrives. */
  readonly onText?: OnText;
  readonly logger?: Logger;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** In [0, 1), for the spread of waits. @default Math.random */
  readonly random?: () => number;
  /** @default a timer */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/**
 * What a model answered, and at what cost.
 * @example
 * const answer: GeneratedText = await generateText(model, { prompt: 'Tell me a tale' });
 * if (answer.finishReason === 'length') console.log(`cut after ${answer.usage.output} tokens`);
 */
export interface GeneratedText {
  /** All text of the answer, without thoughts. */
  readonly text: string;
  /** The answer's parts without thoughts; text parts are as the model wrote them. */
  readonly content: readonly LanguageModelV4Content[];
  readonly toolCalls: readonly LanguageModelV4ToolCall[];
  readonly finishReason: LanguageModelV4FinishReason['unified'];
  readonly usage: TokenUsage;
  readonly attempts: number;
}

/**
 * Tokens of one answer; 0 where the model did not tell.
 * @example
 * const usage: TokenUsage = { input: 1_240, output: 85, cachedInput: 1_024, reasoning: 60 };
 * const fresh = usage.input - usage.cachedInput; // 216: what was cached counts as input too
 */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
  readonly reasoning: number;
}

const firstWaitMs = 250;
const longestWaitMs = 8_000;

/**
 * Asks a model once, patiently: retries what is worth retrying (network, 408, 409, 429, 5xx) with
 * growing waits or as long as `Retry-After` says, within one time budget. Rejects with a
 * `LegateError`, or with the signal's reason when it aborts.
 * @example const { text } = await generateText(model, { prompt: 'Say hello', timeoutMs: 5_000 })
 */
export async function generateText(
  model: LanguageModelV4,
  options: GenerateTextOptions,
): Promise<GeneratedText> {
  const { timeoutMs = 30_000, retries = 2, now = Date.now, random = Math.random } = options;
  const logger = options.logger ?? silentLogger;
  const sleep = options.sleep ?? pause;
  const name = model.modelId;
  const deadline = now() + timeoutMs;
  using budget = new Deadline({
    signal: options.signal,
    milliseconds: timeoutMs,
    reason: () => timedOut(name, timeoutMs),
  });
  const { signal } = budget;
  const call = toCallOptions(options, signal);
  const meter = meterModelCall(name, now);
  let usage: TokenUsage | undefined;

  try {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        const { onText } = options;
        const asking =
          onText === undefined ? model.doGenerate(call) : streamText(model, call, onText);
        const result = await until(asking, signal);
        const generated = toGeneratedText(result, attempt);
        usage = generated.usage;
        return generated;
      } catch (thrown) {
        signal.throwIfAborted();
        const failure = describeFailure(thrown, model, now());
        if (!failure.isRetryable || attempt > retries) throw failure.error;
        const backoff = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1));
        const wait = failure.retryAfterMs ?? backoff * (0.5 + random() / 2);
        // Waiting past the deadline helps nobody: say now what would be said later.
        if (now() + wait >= deadline) throw failure.error;
        logger.warn(
          { model: name, attempt, waitMs: wait, code: failure.error.code },
          'model.retry',
        );
        await sleep(wait, signal);
      }
    }
  } finally {
    meter.end(usage);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal });
  } catch {
    // Woken by the signal: the caller's next look at it tells the reason.
  }
}

function toCallOptions(
  options: GenerateTextOptions,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const { prompt, system } = options;
  const settings = Object.fromEntries(
    settingKeys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]),
  ) as ModelSettings;
  const messages: LanguageModelV4Prompt =
    typeof prompt === 'string'
      ? [{ role: 'user', content: [{ type: 'text', text: prompt }] }]
      : prompt;
  return {
    ...settings,
    prompt: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
    abortSignal,
  };
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

import { setTimeout as delay } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import {
  describeFailure,
  generateText,
  meterModelCall,
  type ModelFailure,
} from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Clock } from '../agent.ts';
import type { Logger } from '../../telemetry/index.ts';
import { type ModelAnswer, type Show, toRequestedCall } from './model-answer.ts';
import { streamAnswer } from './stream-answer.ts';

export interface AskOptions {
  readonly model: LanguageModelV4;
  readonly call: LanguageModelV4CallOptions;
  readonly isStreamed: boolean;
  /** Attempts after the first. */
  readonly retries: number;
  /** Milliseconds: of silence in a stream, or for a whole answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly show: Show;
}

const firstWaitMs = 250;
const longestWaitMs = 8_000;
/** A service that asks for more is as good as gone. */
const longestRetryAfterMs = 60_000;

/**
 * Asks a model and shows its text as it arrives. What is worth another try is tried again, even in
 * the midst of an answer: the text then starts anew. Throws a `LegateError`, or the signal's reason.
 */
export function askModel(options: AskOptions): Promise<ModelAnswer> {
  return options.isStreamed ? askStreaming(options) : askWhole(options);
}

async function askWhole(options: AskOptions): Promise<ModelAnswer> {
  const { model, call, retries, timeoutMs, signal, clock, random, logger } = options;
  const now = (): number => clock.now();
  const patience = { retries, timeoutMs, signal, now, random, logger };
  const answer = await generateText(model, { ...call, ...patience });
  if (answer.text !== '') await options.show(answer.text, true);
  return {
    text: answer.text,
    thoughts: [],
    calls: answer.toolCalls
      .filter((each) => each.providerExecuted !== true)
      .map((each) => toRequestedCall(each)),
    finishReason: answer.finishReason,
    usage: { ...answer.usage, calls: 1 },
  };
}

async function askStreaming(options: AskOptions): Promise<ModelAnswer> {
  const { model, clock } = options;
  const meter = meterModelCall(model.modelId, () => clock.now());
  let answer: ModelAnswer | undefined;
  try {
    answer = await streamPatiently(options);
    return answer;
  } finally {
    meter.end(answer?.usage);
  }
}

async function streamPatiently(options: AskOptions): Promise<ModelAnswer> {
  const { model, call, retries, timeoutMs, signal, clock, random, logger, show } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await streamAnswer(model, call, { signal, silenceMs: timeoutMs, show });
    } catch (thrown) {
      signal.throwIfAborted();
      const failure = judge(thrown, model, clock.now());
      if (!failure.isRetryable || attempt > retries) throw failure.error;
      const backoff = Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1));
      const wait = failure.retryAfterMs ?? backoff * (0.5 + random() / 2);
      if (wait > longestRetryAfterMs) throw failure.error;
      logger.warn(
        { model: model.modelId, attempt, waitMs: wait, code: failure.error.code },
        'model.retry',
      );
      await delay(wait, undefined, { signal }).catch(() => undefined);
      signal.throwIfAborted();
    }
  }
}

/** A connection that breaks in the midst of an answer shows as an error of no known kind. */
function judge(thrown: unknown, model: LanguageModelV4, now: number): ModelFailure {
  const failure = describeFailure(thrown, model, now);
  const isBreak = thrown instanceof TypeError && failure.error.code === 'UNAVAILABLE';
  const isSilence = thrown instanceof LegateError && thrown.code === 'REQUEST_TIMEOUT';
  return isBreak || isSilence ? { ...failure, isRetryable: true } : failure;
}

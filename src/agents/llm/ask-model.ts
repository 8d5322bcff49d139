import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { generateText, retryModel } from '../../models/index.ts';
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
  const attempts = { retries, timeoutMs, signal, now, random, logger };
  const answer = await generateText(model, { ...call, ...attempts });
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

function askStreaming(options: AskOptions): Promise<ModelAnswer> {
  const { model, call, retries, timeoutMs, signal, clock, random, logger, show } = options;
  const now = (): number => clock.now();
  return retryModel(model, { retries, signal, logger, now, random }, () =>
    streamAnswer(model, call, { signal, silenceMs: timeoutMs, show }),
  );
}

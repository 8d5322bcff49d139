import { backoff, retry } from '../time/index.ts';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Logger } from '../telemetry/index.ts';
import { describeFailure } from './failure.ts';
import { meterModelCall } from './model-meter.ts';

/**
 * How often a model is asked again, and for how long.
 * @example
 * const options: ModelRetryOptions = {
 *   retries: 2, signal, logger, now: Date.now, random: Math.random,
 * };
 */
export interface ModelRetryOptions {
  /** Attempts after the first. */
  readonly retries: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** In [0, 1), for the spread of waits. */
  readonly random: () => number;
  /** When the call must be over, in milliseconds since 1970. @default no wait is longer than 60 s */
  readonly deadline?: number | undefined;
  /** @default a timer */
  readonly sleep?: ((milliseconds: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

const policy = { initialMs: 250, maximumMs: 8_000 };
/** Without a deadline: a service that asks for a longer wait is as good as gone. */
const longestRetryAfterMs = 60_000;

/**
 * Asks a model until it answers: retries what is worth retrying (network, 408, 409, 429, 5xx) with
 * growing waits, or as long as `Retry-After` says. Counts as one call in the metrics. Rejects with a
 * `LegateError`, or with the signal's reason when it aborts.
 * @example const answer = await retryModel(model, options, (attempt) => ask(model, attempt));
 */
export async function retryModel<
  Answer extends { readonly usage: { readonly input: number; readonly output: number } },
>(
  model: LanguageModelV4,
  options: ModelRetryOptions,
  ask: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const { retries, signal, logger, now, random, deadline, sleep } = options;
  const meter = meterModelCall(model.modelId, now);
  let usage: Answer['usage'] | undefined;
  const delayAfter = (failures: number, thrown: unknown): number | undefined => {
    const { isRetryable, retryAfterMs } = describeFailure(thrown, model, now());
    if (!isRetryable || failures > retries) return undefined;
    const waitMs = retryAfterMs ?? backoff(failures, { ...policy, random });
    // Waiting past the deadline helps nobody: say now what would be said later.
    const isTooLong =
      deadline === undefined ? waitMs > longestRetryAfterMs : now() + waitMs >= deadline;
    return isTooLong ? undefined : waitMs;
  };
  try {
    const answer = await retry(ask, {
      delays: delayAfter,
      signal,
      sleep,
      onRetry({ attempt, delayMs: waitMs, error }) {
        const { code } = describeFailure(error, model, now()).error;
        logger.warn({ model: model.modelId, attempt, waitMs, code }, 'model.retry');
      },
    });
    ({ usage } = answer);
    return answer;
  } catch (thrown) {
    signal.throwIfAborted();
    throw describeFailure(thrown, model, now()).error;
  } finally {
    meter.end(usage);
  }
}

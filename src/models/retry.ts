import { backoff, retry } from '../time/index.ts';
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';
import { counter, endSpan, histogram, inSpan, type Logger, startSpan } from '../telemetry/index.ts';
import { LegateError } from '../protocol/index.ts';
import { describeFailure } from './failure.ts';

/** How often a model is asked again, and for how long. */
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

const calls = counter('legate.model.calls');
const seconds = histogram('legate.model.duration');
const tokens = counter('legate.model.tokens');

const policy = { initialMs: 250, maximumMs: 8_000 };
/** Without a deadline: a service that asks for a longer wait counts as unavailable. */
const maxRetryAfterMs = 60_000;

/**
 * Calls a model with retries: transient failures (network, 408, 409, 429, 5xx) are retried with
 * exponential backoff, or as `Retry-After` says. Counts as one call in metrics and traces. Rejects
 * with a `LegateError`, or with the signal's reason when it aborts.
 */
export async function retryModel<
  Answer extends { readonly usage: { readonly input: number; readonly output: number } },
>(
  model: LanguageModelV4 | EmbeddingModelV4,
  options: ModelRetryOptions,
  ask: (attempt: number) => Promise<Answer>,
  operation: 'chat' | 'embeddings' = 'chat',
): Promise<Answer> {
  const { modelId } = model;
  const startedAt = options.now();
  const count = (outcome: 'ok' | 'error'): void => {
    calls.add(1, { model: modelId, outcome });
    seconds.record((options.now() - startedAt) / 1000, { model: modelId, outcome });
  };
  const span = startSpan('legate.model', {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': model.provider,
      'gen_ai.request.model': modelId,
    },
  });
  try {
    const answer = await inSpan(span, () => attempts(model, options, ask));
    const { input, output } = answer.usage;
    span.setAttribute('gen_ai.usage.input_tokens', input);
    span.setAttribute('gen_ai.usage.output_tokens', output);
    endSpan(span);
    count('ok');
    tokens.add(input, { model: modelId, direction: 'input' });
    tokens.add(output, { model: modelId, direction: 'output' });
    return answer;
  } catch (error) {
    endSpan(span, error instanceof LegateError ? { code: error.code } : {});
    count('error');
    throw error;
  }
}

async function attempts<Answer>(
  model: LanguageModelV4 | EmbeddingModelV4,
  options: ModelRetryOptions,
  ask: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const { retries, signal, logger, now, random, deadline, sleep } = options;
  const delayAfter = (failures: number, thrown: unknown): number | undefined => {
    const { isRetryable, retryAfterMs } = describeFailure(thrown, model, now());
    if (!isRetryable || failures > retries) return undefined;
    const waitMs = retryAfterMs ?? backoff(failures, { ...policy, random });
    // A wait beyond the deadline would fail anyway: fail now.
    const isTooLong =
      deadline === undefined ? waitMs > maxRetryAfterMs : now() + waitMs >= deadline;
    return isTooLong ? undefined : waitMs;
  };
  try {
    return await retry(ask, {
      delays: delayAfter,
      signal,
      sleep,
      onRetry({ attempt, delayMs: waitMs, error }) {
        const { code } = describeFailure(error, model, now()).error;
        logger.warn({ model: model.modelId, attempt, waitMs, code }, 'model.retry');
      },
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw describeFailure(thrown, model, now()).error;
  }
}

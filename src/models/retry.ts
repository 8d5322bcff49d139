import { backoff, retry } from '../time/index.ts';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { counter, type Logger, traced } from '../telemetry/index.ts';
import { describeModelFailure } from './failure.ts';

/** Limits of the retries of a model call. */
export interface ModelRetryOptions {
  /** Attempts after the first. */
  readonly retries: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns a number in [0, 1), for the jitter of waits. */
  readonly random: () => number;
  /** Deadline of the call, in milliseconds since 1970. @default none; no wait is longer than 60 s */
  readonly deadline?: number | undefined;
  /** @default a timer */
  readonly sleep?: ((milliseconds: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

const ofModels = {
  subject: 'gen_ai.request.model',
  label: 'model',
  calls: 'legate.model.calls',
  duration: 'legate.model.duration',
} as const;
const operations = {
  chat: traced({ span: 'chat', ...ofModels }),
  embeddings: traced({ span: 'embeddings', ...ofModels }),
};
const tokens = counter('legate.model.tokens');

const policy = { initialMs: 250, maximumMs: 8_000 };
/** Without a deadline, a call fails if the service requests a longer wait. */
const maxRetryAfterMs = 60_000;

/**
 * Calls a model with retries: transient failures (network, 408, 409, 429, 5xx) are retried with
 * exponential backoff, or after the time in `Retry-After`. Counts as one call in metrics and traces.
 * Rejects with a `LegateError`, or with the signal's reason when it aborts.
 */
export async function retryModel<
  Answer extends {
    readonly usage: { readonly input: number; readonly output: number };
    readonly finishReason?: string;
  },
>(
  model: Pick<LanguageModelV4, 'provider' | 'modelId'>,
  options: ModelRetryOptions,
  ask: (attempt: number) => Promise<Answer>,
  operation: 'chat' | 'embeddings' = 'chat',
): Promise<Answer> {
  const { modelId: name, provider } = model;
  const { now, signal } = options;
  const run = operations[operation];
  return run(
    name,
    async (span) => {
      const answer = await attempts(model, options, ask);
      const { usage, finishReason } = answer;
      span.setAttributes({
        'gen_ai.usage.input_tokens': usage.input,
        'gen_ai.usage.output_tokens': usage.output,
        ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
      });
      tokens.add(usage.input, { model: name, direction: 'input' });
      tokens.add(usage.output, { model: name, direction: 'output' });
      return answer;
    },
    {
      kind: 'client',
      attributes: { 'gen_ai.provider.name': providerName(provider) },
      signal,
      now,
    },
  );
}

/** Provider names of the GenAI semantic conventions, where those of the AI SDK differ. */
const providerNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  'azure-openai': 'azure.ai.openai',
  'amazon-bedrock': 'aws.bedrock',
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** Returns `openai` for `openai.chat`. */
function providerName(provider: string): string {
  const name = provider.split('.', 1)[0] ?? provider;
  return providerNames[name] ?? name;
}

async function attempts<Answer>(
  model: Pick<LanguageModelV4, 'provider' | 'modelId'>,
  options: ModelRetryOptions,
  ask: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const { retries, signal, logger, now, random, deadline, sleep } = options;
  const delayAfter = (failures: number, thrown: unknown): number | undefined => {
    const { isRetryable, retryAfterMs } = describeModelFailure(thrown, model, now());
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
        const { code, message: reason } = describeModelFailure(error, model, now()).error;
        logger.warn({ model: model.modelId, attempt, waitMs, code, reason }, 'model.retry');
      },
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw describeModelFailure(thrown, model, now()).error;
  }
}

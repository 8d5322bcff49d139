import { type JsonObject, LegateError } from '../../protocol/index.ts';

const errorTypes: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'model_rate_limited',
  REQUEST_TIMEOUT: 'model_timeout',
};

/** The model call failed after all retries. */
export class ModelFailed extends Error {
  override readonly name = 'ModelFailed';

  constructor(cause: unknown) {
    super('the model gave no answer', { cause });
  }

  get errorType(): string {
    const code = this.cause instanceof LegateError ? this.cause.code : '';
    return errorTypes[code] ?? 'model_unavailable';
  }

  /** Details for the caller: when to retry. */
  get details(): JsonObject {
    const seconds = this.cause instanceof LegateError ? this.cause.retryAfter : undefined;
    return seconds === undefined ? {} : { retry_after: seconds };
  }
}

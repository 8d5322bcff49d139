import { type JsonObject, LegateError } from '../../protocol/index.ts';

const errorTypes: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'model_rate_limited',
  REQUEST_TIMEOUT: 'model_timeout',
};

/** The model gave no answer, for all the patience it was shown. */
export class ModelFailed extends Error {
  override readonly name = 'ModelFailed';

  constructor(cause: unknown) {
    super('the model gave no answer', { cause });
  }

  get errorType(): string {
    const code = this.cause instanceof LegateError ? this.cause.code : '';
    return errorTypes[code] ?? 'model_unavailable';
  }

  /** What the caller may know of it: when to come again. */
  get details(): JsonObject {
    const seconds = this.cause instanceof LegateError ? this.cause.retryAfter : undefined;
    return seconds === undefined ? {} : { retry_after: seconds };
  }
}

import { STATUS_CODES } from 'node:http';
import { APICallError } from '@ai-sdk/provider';
import { type ErrorCode, isJsonObject, LegateError, shortened } from '../protocol/index.ts';
import { retryAfterMs } from '../time/index.ts';
import { packageKeyHint } from './providers.ts';

/**
 * Why a model call failed, and whether a retry can succeed.
 * @example
 * const { error, isRetryable }: ModelFailure = describeModelFailure(thrown, 'gpt-5', Date.now());
 */
export interface ModelFailure {
  readonly error: LegateError;
  readonly isRetryable: boolean;
  /** The wait that the service requested, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The model that failed, and what to check when it rejects the key. */
interface FailedModel {
  readonly modelId: string;
  readonly provider?: string;
  /** `check OPENAI_API_KEY in the environment` */
  readonly keyHint?: string | undefined;
}

/**
 * Converts any error of a model call to a `LegateError`. The message of the service is shortened, and
 * keys in it are masked. The request is left out, since it can contain messages of users.
 * @example
 * const { error } = describeModelFailure(thrown, 'gpt-5', Date.now());
 * console.error(error.code, error.message); // RATE_LIMITED model gpt-5 answered 429: ...
 */
export function describeModelFailure(
  thrown: unknown,
  model: string | FailedModel,
  now: number,
): ModelFailure {
  const asked: FailedModel = typeof model === 'string' ? { modelId: model } : model;
  if (thrown instanceof LegateError) {
    const inner = thrown.cause === undefined ? undefined : apiError(thrown.cause);
    const askedMs = inner === undefined ? undefined : retryAfter(inner, now);
    const isRetryable = ['UNAVAILABLE', 'RATE_LIMITED', 'REQUEST_TIMEOUT'].includes(thrown.code)
      ? (inner?.isRetryable ?? true)
      : false;
    return { error: thrown, isRetryable, ...(askedMs !== undefined && { retryAfterMs: askedMs }) };
  }
  const api = apiError(thrown);
  if (api === undefined) {
    const text = messageIn(thrown) ?? 'unknown failure';
    const error = new LegateError('UNAVAILABLE', `${named(asked)} failed: ${shorten(text)}`, {
      cause: thrown,
    });
    // `fetch` reports a connection that breaks during an answer as a TypeError.
    return { error, isRetryable: thrown instanceof TypeError };
  }
  const askedMs = retryAfter(api, now);
  const error = new LegateError(codeOf(api), toMessage(api, asked), {
    cause: thrown,
    ...(askedMs !== undefined && { retryAfter: Math.ceil(askedMs / 1000) }),
  });
  return {
    error,
    // A retry cannot succeed while the account has no credit.
    isRetryable: api.isRetryable && !/insufficient_quota/.test(api.responseBody ?? ''),
    ...(askedMs !== undefined && { retryAfterMs: askedMs }),
  };
}

/** Messages of providers for an overlong prompt. Each provider has its own, and the status is ambiguous. */
const tooLong =
  /context[_ -]?(?:length|window|size)|(?:prompt|input|request)(?: token count)?(?: is)? too (?:long|large)|too many (?:input )?tokens|maximum (?:number of |allowed )?(?:input )?tokens|exceeds? the (?:maximum|available|model'?s?) (?:\w+ )?(?:context|tokens?)|input token count/i;

/** Google answers 400 to an invalid key. */
const badKey = /api[ _-]?key (?:not valid|invalid|expired)|invalid api[ _-]?key/i;

function codeOf(error: APICallError): ErrorCode {
  const { statusCode, responseBody = '' } = error;
  if (statusCode === 429) return 'RATE_LIMITED';
  if (statusCode === 413) return 'CONTEXT_TOO_LONG';
  const isRequest = statusCode === 400 || statusCode === 422;
  const isLong =
    isRequest && (tooLong.test(wordsOf(error)) || /context_length_exceeded/.test(responseBody));
  return isLong ? 'CONTEXT_TOO_LONG' : 'UNAVAILABLE';
}

/**
 * The error message of the service. If the adapter cannot parse the error, for example that of a proxy,
 * it reports only the name of the status, and the message is read from the body.
 */
function wordsOf({ statusCode = 0, message, responseBody = '' }: APICallError): string {
  if (message !== '' && message !== STATUS_CODES[statusCode]) return message;
  try {
    const body: unknown = JSON.parse(responseBody);
    const said = isJsonObject(body) ? (body['error'] ?? body['detail'] ?? body) : body;
    return messageIn(said) ?? message;
  } catch {
    return message;
  }
}

function toMessage(error: APICallError, model: FailedModel): string {
  const { keyHint = packageKeyHint(model.provider ?? '') ?? 'check its API key' } = model;
  const { statusCode } = error;
  const words = wordsOf(error);
  const why = shorten(words);
  if (statusCode === undefined) return `${named(model)} could not be reached: ${why}`;
  // The service sent a success status, then the connection broke or the body was not a valid answer.
  if (statusCode < 300) return `${named(model)} broke off its answer: ${shorten(rootOf(error))}`;
  const answered = `${named(model)} answered ${statusCode}: ${why}`;
  const isRefused = statusCode === 401 || statusCode === 403 || badKey.test(words);
  if (isRefused) return `${answered}; ${keyHint}`;
  return statusCode === 404 ? `${answered}; check the name of the model and the URL` : answered;
}

/**
 * The message of the root cause. The adapter's own message, "Failed to process successful response",
 * gives no reason.
 */
function rootOf(error: Error): string {
  const { cause, message } = error;
  return cause instanceof Error && cause.message !== '' ? rootOf(cause) : message;
}

/**
 * A model in an error message: `model gpt-5 of openai.responses`.
 * @example throw new LegateError('UNAVAILABLE', `${named(model)} gave no answer`);
 */
export function named({ modelId, provider }: FailedModel): string {
  return provider === undefined ? `model ${modelId}` : `model ${modelId} of ${provider}`;
}

export function timedOut(model: FailedModel, timeoutMs: number): LegateError {
  return new LegateError('REQUEST_TIMEOUT', `${named(model)} gave no answer in ${timeoutMs} ms`);
}

function apiError(thrown: unknown): APICallError | undefined {
  if (APICallError.isInstance(thrown)) return thrown;
  // After its own retries, the AI SDK throws an error that wraps the last one.
  const isAround = thrown instanceof Error && 'lastError' in thrown;
  return isAround ? apiError(thrown.lastError) : undefined;
}

/**
 * Whether a model call threw the error, rather than the code around it.
 * @example if (!isModelError(error)) throw error;
 */
export function isModelError(thrown: unknown): boolean {
  return apiError(thrown) !== undefined;
}

/** `Retry-After` in seconds or as a date, or the more exact `retry-after-ms` of some services. */
function retryAfter(error: APICallError, now: number): number | undefined {
  const headers = error.responseHeaders ?? {};
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds;
  return retryAfterMs(headers['retry-after'], now);
}

/** The message of an error in any form: error parts of streams can be strings or plain objects. */
function messageIn(thrown: unknown): string | undefined {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown === 'object' && thrown !== null) {
    if ('message' in thrown && typeof thrown.message === 'string') return thrown.message;
    if ('error' in thrown) return messageIn(thrown.error);
  }
  return undefined;
}

/**
 * Converts a failure that the provider reported within its answer. It is transient, like a broken
 * connection.
 */
export function failedMidway(thrown: unknown, model: FailedModel): unknown {
  if (thrown instanceof LegateError || apiError(thrown) !== undefined) return thrown;
  const message = `${named(model)} failed in its answer: ${shorten(messageIn(thrown) ?? 'unknown failure')}`;
  const code = tooLong.test(message) ? 'CONTEXT_TOO_LONG' : 'UNAVAILABLE';
  return new LegateError(code, message, { cause: thrown });
}

function shorten(text: string): string {
  // Services quote keys in error messages: keep only their first characters.
  const masked = text.replaceAll(
    /\b(?:(?:sk|pk|key)[-_]|Bearer |key (?=\S*\d))[\w.-]{8,}/g,
    (run) => `${run.slice(0, 6)}...`,
  );
  return shortened(masked, 300);
}

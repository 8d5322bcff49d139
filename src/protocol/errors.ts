/**
 * Every error of Legate is a `LegateError` with a stable `code`. `errorTable` is the only mapping of
 * codes to the numbers of each wire.
 */

interface ErrorRow {
  /** JSON-RPC error code. */
  readonly jsonRpc: number;
  /** HTTP status, by specification 1.0.1. */
  readonly http: number;
  /** gRPC status name, as AIP-193 error bodies spell it. */
  readonly grpc: GrpcStatus;
  /** Where 1.0.0 differs from 1.0.1. */
  readonly v100?: { readonly http?: number; readonly grpc?: GrpcStatus };
  /** Exit code of the `legate` command, by the A2A CLI specification 0.2, section 11.6. */
  readonly exit: number;
  /**
   * Values of `error_type` with which agents report this error in a failed task, besides the code in
   * lower case.
   */
  readonly errorTypes?: readonly string[];
}

/** The gRPC statuses of errors. */
export type GrpcStatus =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'UNAUTHENTICATED';

/** The codes -32001 to -32009 are the specification's; -32050 and below are Legate's own. */
export const errorTable = {
  TASK_NOT_FOUND: { jsonRpc: -32001, http: 404, grpc: 'NOT_FOUND', exit: 1 },
  TASK_NOT_CANCELABLE: {
    jsonRpc: -32002,
    http: 400,
    grpc: 'FAILED_PRECONDITION',
    v100: { http: 409 },
    exit: 1,
  },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    jsonRpc: -32003,
    http: 400,
    grpc: 'FAILED_PRECONDITION',
    v100: { grpc: 'UNIMPLEMENTED' },
    exit: 1,
  },
  UNSUPPORTED_OPERATION: {
    jsonRpc: -32004,
    http: 400,
    grpc: 'FAILED_PRECONDITION',
    v100: { grpc: 'UNIMPLEMENTED' },
    exit: 1,
    errorTypes: ['skill_not_supported'],
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    jsonRpc: -32005,
    http: 400,
    grpc: 'INVALID_ARGUMENT',
    v100: { http: 415 },
    exit: 1,
  },
  INVALID_AGENT_RESPONSE: {
    jsonRpc: -32006,
    http: 500,
    grpc: 'INTERNAL',
    v100: { http: 502 },
    exit: 1,
    errorTypes: ['invalid_output'],
  },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
    jsonRpc: -32007,
    http: 400,
    grpc: 'FAILED_PRECONDITION',
    exit: 1,
  },
  EXTENSION_SUPPORT_REQUIRED: { jsonRpc: -32008, http: 400, grpc: 'FAILED_PRECONDITION', exit: 1 },
  VERSION_NOT_SUPPORTED: {
    jsonRpc: -32009,
    http: 400,
    grpc: 'FAILED_PRECONDITION',
    v100: { grpc: 'UNIMPLEMENTED' },
    exit: 1,
  },

  PARSE_ERROR: { jsonRpc: -32700, http: 400, grpc: 'INVALID_ARGUMENT', exit: 1 },
  INVALID_REQUEST: { jsonRpc: -32600, http: 400, grpc: 'INVALID_ARGUMENT', exit: 1 },
  METHOD_NOT_FOUND: { jsonRpc: -32601, http: 404, grpc: 'UNIMPLEMENTED', exit: 1 },
  INVALID_PARAMS: { jsonRpc: -32602, http: 400, grpc: 'INVALID_ARGUMENT', exit: 1 },
  INTERNAL: { jsonRpc: -32603, http: 500, grpc: 'INTERNAL', exit: 1 },

  /** A message with this id is being processed. */
  MESSAGE_IN_FLIGHT: { jsonRpc: -32050, http: 409, grpc: 'ABORTED', exit: 1 },
  /** The message id was already used for other content. */
  MESSAGE_ID_REUSED: { jsonRpc: -32051, http: 409, grpc: 'ALREADY_EXISTS', exit: 1 },
  UNAUTHENTICATED: { jsonRpc: -32060, http: 401, grpc: 'UNAUTHENTICATED', exit: 4 },
  PERMISSION_DENIED: {
    jsonRpc: -32061,
    http: 403,
    grpc: 'PERMISSION_DENIED',
    exit: 4,
    errorTypes: ['not_trusted', 'not_approved'],
  },
  RATE_LIMITED: {
    jsonRpc: -32062,
    http: 429,
    grpc: 'RESOURCE_EXHAUSTED',
    exit: 1,
    errorTypes: ['model_rate_limited'],
  },
  UNAVAILABLE: {
    jsonRpc: -32063,
    http: 503,
    grpc: 'UNAVAILABLE',
    exit: 3,
    errorTypes: ['model_unavailable', 'agent_not_ready', 'interrupted'],
  },
  PAYLOAD_TOO_LARGE: { jsonRpc: -32064, http: 413, grpc: 'RESOURCE_EXHAUSTED', exit: 1 },
  UNSUPPORTED_ENCODING: { jsonRpc: -32065, http: 415, grpc: 'INVALID_ARGUMENT', exit: 1 },
  ROUTE_NOT_FOUND: { jsonRpc: -32601, http: 404, grpc: 'NOT_FOUND', exit: 1 },
  METHOD_NOT_ALLOWED: { jsonRpc: -32600, http: 405, grpc: 'UNIMPLEMENTED', exit: 1 },
  REQUEST_TIMEOUT: {
    jsonRpc: -32066,
    http: 408,
    grpc: 'DEADLINE_EXCEEDED',
    exit: 5,
    errorTypes: ['model_timeout', 'timeout', 'inactivity'],
  },

  /** The prompt exceeds the context window of the language model. */
  CONTEXT_TOO_LONG: {
    jsonRpc: -32067,
    http: 413,
    grpc: 'RESOURCE_EXHAUSTED',
    exit: 1,
    errorTypes: ['context_length'],
  },

  /** Errors of this process. Callers get only a general text (`toPublicError`). */
  CONFIGURATION_INVALID: { jsonRpc: -32603, http: 500, grpc: 'INTERNAL', exit: 2 },
  STORE_FAILED: { jsonRpc: -32063, http: 503, grpc: 'UNAVAILABLE', exit: 1 },
  STORE_VERSION: { jsonRpc: -32603, http: 500, grpc: 'INTERNAL', exit: 2 },
  /** A peer could not be reached, or its response was not A2A. */
  PEER_UNREACHABLE: { jsonRpc: -32063, http: 503, grpc: 'UNAVAILABLE', exit: 3 },
  PEER_INVALID: { jsonRpc: -32006, http: 502, grpc: 'INTERNAL', exit: 1 },
} as const satisfies Record<string, ErrorRow>;

/**
 * The code of an error: stable, and the same on every wire.
 * @example
 * const passing: readonly ErrorCode[] = ['RATE_LIMITED', 'UNAVAILABLE', 'PEER_UNREACHABLE'];
 * if (error instanceof LegateError && passing.includes(error.code)) await again(error.retryAfter);
 */
export type ErrorCode = keyof typeof errorTable;

const codesByType: ReadonlyMap<string, ErrorCode> = new Map(
  Object.entries<ErrorRow>(errorTable).flatMap(([code, { errorTypes = [] }]) =>
    isErrorCode(code) ? errorTypes.map((type) => [type, code] as const) : [],
  ),
);

/** The code of a task that failed with this `error_type`; `INTERNAL` for an unknown type. */
export function codeOfErrorType(errorType: string): ErrorCode {
  const code = errorType.toUpperCase();
  return isErrorCode(code) ? code : (codesByType.get(errorType.toLowerCase()) ?? 'INTERNAL');
}

/** Whether a text is an error code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorTable, text);
}

/**
 * One invalid field of a request.
 * @example
 * const violation: FieldViolation = { field: 'message.parts[0].url', description: 'must be https' };
 */
export interface FieldViolation {
  /** As a path: `message.parts[0].text`. */
  readonly field: string;
  readonly description: string;
}

/**
 * The fields of an error besides its code and its text.
 * @example
 * const options: ErrorOptions = { retryAfter: 30, metadata: { warehouse: 'north' } };
 * throw new LegateError('UNAVAILABLE', 'the warehouse is taking stock', options);
 */
export interface ErrorOptions {
  /** Details of this error, shown to the caller: no secrets, no data of other callers. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The fields of the request that are invalid. */
  readonly violations?: readonly FieldViolation[];
  /** Seconds to wait before a retry. */
  readonly retryAfter?: number;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/**
 * The base class of all errors.
 * @example throw new LegateError('TASK_NOT_FOUND', `no task ${id}`, { metadata: { taskId: id } })
 */
export class LegateError extends Error {
  override readonly name = 'LegateError';
  readonly code: ErrorCode;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** The fields of the request that are invalid. */
  readonly violations: readonly FieldViolation[] | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.metadata = options.metadata;
    this.violations = options.violations;
    this.retryAfter = options.retryAfter;
  }
}

/**
 * Converts any thrown value to a `LegateError`; the texts of other errors are hidden.
 * @example await run().catch((error) => console.error(toLegateError(error).code));
 */
export function toLegateError(thrown: unknown): LegateError {
  if (thrown instanceof LegateError) return thrown;
  return new LegateError('INTERNAL', 'Internal error', { cause: thrown });
}

/**
 * The error for an invalid option or configuration file.
 * @example if (port > 65_535) throw invalidConfiguration(`port: ${port} is not a port`);
 */
export function invalidConfiguration(message: string, cause?: unknown): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message, { cause });
}

/** The text of a thrown value: its message, or the code of a system error without one. */
export function errorMessage(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message || (errorCode(thrown) ?? thrown.name);
}

/** A thrown value as an `Error`. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The `code` of a thrown value, such as `ENOENT`. */
export function errorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error && 'code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** The task does not exist, or belongs to another caller: both cases have the same error. */
export function taskNotFound(taskId: string): LegateError {
  return new LegateError('TASK_NOT_FOUND', `task ${taskId} not found`, { metadata: { taskId } });
}

/**
 * A request with missing or invalid fields, with the path of each.
 * @example throw invalidParams({ field: 'message.parts', description: 'must not be empty' });
 */
export function invalidParams(...violations: FieldViolation[]): LegateError {
  const first = violations[0];
  const where = first === undefined || first.field === '' ? '' : `${first.field}: `;
  const text = where + (first?.description ?? 'Invalid parameters');
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : '';
  return new LegateError('INVALID_PARAMS', text + more, { violations });
}

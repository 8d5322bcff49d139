import { isObject, type Wire } from './decode/reader.ts';
import { errorDetails, readErrorDetails, textOf, toPublicError } from './error-details.ts';
import { type ErrorCode, errorTable, invalidParams, isErrorCode, LegateError } from './errors.ts';
import type { JsonObject } from './model.ts';

/** Correlates a response with its request. */
export type JsonRpcId = string | number | null;

/** A decoded request. */
export interface JsonRpcRequest {
  /** Undefined for a notification. */
  readonly id: JsonRpcId | undefined;
  readonly method: string;
  /** Empty when the request has none. */
  readonly params: Wire;
}

/** A request that cannot be served. `id` is the id of the response: null if the request's is unknown. */
export class JsonRpcRequestError extends LegateError {
  readonly id: JsonRpcId;

  constructor(id: JsonRpcId, error: LegateError) {
    super(error.code, error.message, { ...(error.violations && { violations: error.violations }) });
    this.id = id;
  }
}

/** The longest string id, in characters. */
const maxIdLength = 256;

/**
 * Checks the envelope of a JSON-RPC 2.0 request; throws a `JsonRpcRequestError`. Batches are rejected,
 * because a response can be a stream.
 */
export function parseJsonRpcRequest(value: unknown): JsonRpcRequest {
  if (Array.isArray(value)) throw invalid(null, 'batches are not supported: send one request');
  if (!isObject(value)) throw invalid(null, 'the request must be an object');
  const { id, method, params } = value;
  if (id !== undefined && !isId(id)) {
    throw invalid(
      null,
      `id must be a string of at most ${maxIdLength} characters, a number up to ${Number.MAX_SAFE_INTEGER}, or null`,
    );
  }
  const known = id ?? null;
  if (value.jsonrpc !== '2.0') throw invalid(known, 'jsonrpc must be "2.0"');
  if (typeof method !== 'string' || method === '') throw invalid(known, 'method must be a string');
  if (params === undefined || params === null) return { id, method, params: {} };
  if (!isObject(params)) {
    const error = invalidParams({ field: 'params', description: 'must be an object' });
    throw new JsonRpcRequestError(known, error);
  }
  return { id, method, params };
}

function isId(value: unknown): value is JsonRpcId {
  if (typeof value === 'string') return value.length <= maxIdLength;
  // JSON.parse rounds larger numbers, and the response would have another id than the request.
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return value === null;
}

function invalid(id: JsonRpcId, message: string): JsonRpcRequestError {
  return new JsonRpcRequestError(id, new LegateError('INVALID_REQUEST', message));
}

/** The `error` member of a JSON-RPC response. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data: readonly JsonObject[];
}

/**
 * Converts any thrown value to a JSON-RPC error object with details in `data`. Both versions share the
 * form: 1.x requires the details, and 0.3 allows any data.
 */
export function toJsonRpcError(thrown: unknown): JsonRpcError {
  const error = toPublicError(thrown);
  const { jsonRpc: code } = errorTable[error.code];
  return { code, message: error.message, data: errorDetails(error) };
}

/** Several codes share a number: a peer's number is read as the first such code in the table. */
const codesByNumber = new Map<number, ErrorCode>();
for (const [code, row] of Object.entries(errorTable)) {
  if (isErrorCode(code) && !codesByNumber.has(row.jsonRpc)) codesByNumber.set(row.jsonRpc, code);
}

export function codeOfJsonRpc(number: unknown): ErrorCode | undefined {
  return typeof number === 'number' ? codesByNumber.get(number) : undefined;
}

/**
 * Reads a peer's JSON-RPC error object. The reason in its details determines the code, otherwise its
 * number; an unknown number is `INTERNAL`. The details can be missing or of another form.
 */
export function fromJsonRpcError(value: unknown): LegateError {
  if (!isObject(value)) return new LegateError('INTERNAL', 'the peer answered with an empty error');
  const { code: reason, ...details } = readErrorDetails(value.data);
  const code = reason ?? codeOfJsonRpc(value.code) ?? 'INTERNAL';
  const message = textOf(value.message) || `the peer answered with error ${numberOf(value.code)}`;
  return new LegateError(code, message, details);
}

function numberOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : 'of unknown code';
}

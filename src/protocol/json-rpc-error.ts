import { isObject } from './decode/reader.ts';
import { errorDetails, readErrorDetails, textOf, toPublicError } from './error-details.ts';
import { type ErrorCode, errorTable, LegateError } from './errors.ts';
import type { JsonObject } from './model.ts';

/**
 * The `error` member of a JSON-RPC response.
 * @example
 * const error: JsonRpcError = toJsonRpcError(taskNotFound('task-17'));
 * error.code; // -32001
 * error.data[0]?.['reason']; // 'TASK_NOT_FOUND'
 */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data: readonly JsonObject[];
}

/**
 * Anything thrown, as a JSON-RPC error object with its details in `data`. The same form serves
 * both versions: 1.x demands the details, and 0.3 allows any data.
 * @example const { code, message, data } = toJsonRpcError(error);
 */
export function toJsonRpcError(thrown: unknown): JsonRpcError {
  const error = toPublicError(thrown);
  const { jsonRpc: code } = errorTable[error.code];
  return { code, message: error.message, data: errorDetails(error) };
}

/** Several of our codes share a number; the first of the table is the one that others mean by it. */
const codesByNumber = new Map<number, ErrorCode>();
for (const [code, row] of Object.entries(errorTable)) {
  if (!codesByNumber.has(row.jsonRpc)) codesByNumber.set(row.jsonRpc, code as ErrorCode);
}

export function codeOfJsonRpc(number: unknown): ErrorCode | undefined {
  return typeof number === 'number' ? codesByNumber.get(number) : undefined;
}

/**
 * A JSON-RPC error object of a peer: known by the reason in its details, else by its number. Peers
 * that send no details, or other data, are understood too; an unknown number is `INTERNAL`.
 * @example throw fromJsonRpcError(answer.error);
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

import { isObject } from './decode/reader.ts';
import {
  type ErrorCode,
  errorTable,
  type FieldViolation,
  type GrpcStatus,
  isErrorCode,
  LegateError,
  toLegateError,
} from './errors.ts';
import type { JsonObject } from './model.ts';

/** The revision of the specification's error table that responses follow. @default '1.0.1' */
export type ErrorProfile = '1.0.1' | '1.0.0';

const domain = 'a2a-protocol.org';
const typeErrorInfo = 'type.googleapis.com/google.rpc.ErrorInfo';
const typeBadRequest = 'type.googleapis.com/google.rpc.BadRequest';
const typeRetryInfo = 'type.googleapis.com/google.rpc.RetryInfo';

/** Texts for codes whose own message can name files, hosts or code. */
const hidden: { readonly [code in ErrorCode]?: string } = {
  INTERNAL: 'Internal error',
  CONFIGURATION_INVALID: 'Internal error',
  STORE_VERSION: 'Internal error',
  STORE_FAILED: 'The store is not available; try again later',
  PEER_UNREACHABLE: 'An agent that this one depends on is not available; try again later',
  PEER_INVALID: 'An agent that this one depends on gave an invalid answer',
};

/**
 * Converts any thrown value to an error for callers, without its cause and internal details.
 */
export function toPublicError(thrown: unknown): LegateError {
  const error = toLegateError(thrown);
  const text = hidden[error.code];
  if (text === undefined) return error;
  return new LegateError(error.code, text, {
    ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }),
  });
}

/** HTTP and gRPC status of a code. */
export function statusOf(
  code: ErrorCode,
  profile: ErrorProfile = '1.0.1',
): { readonly http: number; readonly grpc: GrpcStatus } {
  const row: {
    readonly http: number;
    readonly grpc: GrpcStatus;
    readonly v100?: { readonly http?: number; readonly grpc?: GrpcStatus };
  } = errorTable[code];
  const older = profile === '1.0.0' ? row.v100 : undefined;
  return { http: older?.http ?? row.http, grpc: older?.grpc ?? row.grpc };
}

/** The details that JSON-RPC, REST and gRPC share; the first is always an ErrorInfo. */
export function errorDetails(error: LegateError): readonly JsonObject[] {
  const { metadata, violations, retryAfter } = error;
  const details: JsonObject[] = [
    { '@type': typeErrorInfo, reason: error.code, domain, ...(metadata && { metadata }) },
  ];
  if (violations !== undefined && violations.length > 0) {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    details.push({ '@type': typeBadRequest, fieldViolations });
  }
  if (retryAfter !== undefined) {
    details.push({ '@type': typeRetryInfo, retryDelay: `${retryAfter}s` });
  }
  return details;
}

export interface ReadDetails {
  readonly code?: ErrorCode;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  readonly retryAfter?: number;
}

/** Entries that are read from a peer's details; the others are ignored. */
const maxEntries = 64;

/** Reads details of a peer; unknown ones are ignored. */
export function readErrorDetails(value: unknown): ReadDetails {
  const list: readonly unknown[] = Array.isArray(value) ? value.slice(0, maxEntries) : [value];
  let result: ReadDetails = {};
  for (const item of list) {
    if (!isObject(item)) continue;
    const code = reasonOf(item);
    if (code !== undefined && result.code === undefined) result = { ...result, code };
    const metadata = stringsOf(item.metadata);
    if (metadata !== undefined && result.metadata === undefined) result = { ...result, metadata };
    const violations = violationsOf(item.fieldViolations ?? item.field_violations);
    if (violations !== undefined) result = { ...result, violations };
    const delay = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(textOf(item.retryDelay))?.[1];
    if (delay !== undefined) result = { ...result, retryAfter: Number(delay) };
  }
  return result;
}

function reasonOf(item: { readonly [field: string]: unknown }): ErrorCode | undefined {
  const isOurs = item.domain === undefined || item.domain === domain;
  return isOurs ? toErrorCode(item.reason) : undefined;
}

/** The code of a reason (`TASK_NOT_FOUND`) or of an error's class name (`TaskNotFoundError`). */
export function toErrorCode(name: unknown): ErrorCode | undefined {
  if (typeof name !== 'string' || name.length > 64) return undefined;
  if (isErrorCode(name)) return name;
  const upper = name
    .replace(/Error$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase();
  return isErrorCode(upper) ? upper : undefined;
}

function stringsOf(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value)
    .slice(0, maxEntries)
    .filter(
      (entry): entry is [string, string] =>
        entry[0] !== '__proto__' && typeof entry[1] === 'string',
    );
  return Object.fromEntries(entries);
}

function violationsOf(value: unknown): readonly FieldViolation[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value
    .slice(0, maxEntries)
    .filter(isObject)
    .map((item) => ({ field: textOf(item.field), description: textOf(item.description) }));
}

/** A peer's text, limited in length; empty for other values. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 2000) : '';
}

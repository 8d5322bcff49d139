import { type Metadata, status } from '@grpc/grpc-js';
import { type ErrorCode, fromRestError, LegateError } from '../../protocol/index.ts';
import type { Statuses } from '../status.ts';

/** The fields of grpc-js errors that are read. */
interface CallError {
  readonly code?: number;
  readonly details?: string;
  readonly metadata?: Metadata;
}

/** Error codes by gRPC status, for errors without details. Other statuses are invalid A2A responses. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  [status.CANCELLED]: 'PEER_UNREACHABLE',
  [status.INVALID_ARGUMENT]: 'INVALID_PARAMS',
  [status.DEADLINE_EXCEEDED]: 'REQUEST_TIMEOUT',
  [status.NOT_FOUND]: 'TASK_NOT_FOUND',
  [status.ALREADY_EXISTS]: 'INVALID_REQUEST',
  [status.PERMISSION_DENIED]: 'PERMISSION_DENIED',
  [status.RESOURCE_EXHAUSTED]: 'RATE_LIMITED',
  [status.FAILED_PRECONDITION]: 'INVALID_REQUEST',
  [status.ABORTED]: 'INVALID_REQUEST',
  [status.OUT_OF_RANGE]: 'INVALID_PARAMS',
  [status.UNIMPLEMENTED]: 'METHOD_NOT_FOUND',
  [status.INTERNAL]: 'INTERNAL',
  [status.UNAVAILABLE]: 'PEER_UNREACHABLE',
  [status.UNAUTHENTICATED]: 'UNAUTHENTICATED',
};

const maxTextLength = 500;

/**
 * Converts the failure of a call to an error: by its details, else by the error name at the start of its
 * text, which peers of 0.3 send, else by its status.
 */
export function failureOf(thrown: unknown, statuses: Statuses, target: string): LegateError {
  if (thrown instanceof LegateError) return thrown;
  const error = (thrown instanceof Error ? thrown : {}) as CallError;
  const { code = status.UNKNOWN } = error;
  const text = (error.details ?? '').slice(0, maxTextLength);
  const reported = reportedBy(error, statuses) ?? namedBy(text);
  const meant = codeOfStatus[code] ?? 'PEER_INVALID';
  if (reported !== undefined) {
    // A peer without a specific error code can still send a specific status.
    if (reported.code !== 'INTERNAL' || meant === 'PEER_INVALID') return reported;
    if (meant === 'INTERNAL') return reported;
    return new LegateError(meant, reported.message, { cause: reported });
  }
  const made = madeHere(text);
  const ended = `${target} ${wordsFor(made ?? meant)}`;
  // Without the cause: it contains the peer's response, which can repeat the request.
  return new LegateError(made ?? meant, text === '' ? ended : `${ended}: ${text}`, {
    metadata: { status: status[code] ?? String(code) },
  });
}

function reportedBy({ metadata }: CallError, statuses: Statuses): LegateError | undefined {
  try {
    return metadata === undefined ? undefined : statuses.read(metadata);
  } catch {
    // Invalid details: the status decides.
    return undefined;
  }
}

function namedBy(text: string): LegateError | undefined {
  const [, name, message] = /^([A-Za-z]+Error): *(.*)$/s.exec(text) ?? [];
  if (name === undefined || message === undefined) return undefined;
  const named = fromRestError(500, { error: { name, message } });
  return named.code === 'INTERNAL' ? undefined : named;
}

/** Codes for statuses that grpc-js generates for invalid responses and broken connections. */
function madeHere(text: string): ErrorCode | undefined {
  if (text.startsWith('Received RST_STREAM')) return 'PEER_UNREACHABLE';
  if (/^Received (?:HTTP status code (?!401|403|429|50[234])|message larger)/.test(text)) {
    return 'PEER_INVALID';
  }
  return undefined;
}

function wordsFor(code: ErrorCode): string {
  switch (code) {
    case 'PEER_UNREACHABLE':
      return 'did not answer';
    case 'REQUEST_TIMEOUT':
      return 'was not answered in time';
    case 'PEER_INVALID':
      return 'sent an invalid A2A response';
    case 'UNAUTHENTICATED':
      return 'asks for credentials, or for other ones';
    case 'METHOD_NOT_FOUND':
      return 'has no such method; check the address in the agent card';
    default:
      return 'failed';
  }
}

import { DatabaseError } from 'pg';
import { errorMessage, LegateError } from '../../protocol/index.ts';

/** Seconds after which a caller can retry. */
const retryAfter = 1;

/** Whether a transaction lost a race against another one, so that a retry can succeed. */
export function isLostRace(thrown: unknown): boolean {
  const code = sqlState(thrown);
  if (code === '40001' || code === '40P01') return true;
  // Another replica admitted the same message at the same moment: a retry finds it.
  return code === '23505' && constraintOf(thrown) === 'messages_owner_key_key';
}

/** Whether a lock timed out or caused a deadlock. */
export function isLockDenied(thrown: unknown): boolean {
  const code = sqlState(thrown);
  return code === '55P03' || code === '40P01';
}

/**
 * Whether the connection ended with this error, so that the outcome of the statement is unknown. Any
 * other error of the server means that its transaction was rolled back.
 */
export function isBreak(thrown: unknown): boolean {
  const code = sqlState(thrown);
  return code === undefined || code.startsWith('08') || code.startsWith('57P');
}

/** Whether the id of a new task exists already. */
export function isTaskIdTaken(thrown: unknown): boolean {
  const isTasks = /^(open|ended)_tasks_pkey$/.test(constraintOf(thrown) ?? '');
  return sqlState(thrown) === '23505' && isTasks;
}

export function sqlState(thrown: unknown): string | undefined {
  return thrown instanceof DatabaseError ? thrown.code : undefined;
}

function constraintOf(thrown: unknown): string | undefined {
  return thrown instanceof DatabaseError ? thrown.constraint : undefined;
}

/** The error for the database at `place`, with a fix. */
export function storeFailure(place: string, thrown: unknown): LegateError {
  if (thrown instanceof LegateError) return thrown;
  const code = sqlState(thrown);
  const kind = code?.slice(0, 2);
  if (kind === '22' || kind === '23') {
    const message = `store ${place}: the database rejected a value; this is a bug in Legate`;
    return new LegateError('INTERNAL', message, { cause: thrown });
  }
  const text = explain(code, errorMessage(thrown));
  return new LegateError('STORE_FAILED', `store ${place}: ${text}`, { cause: thrown, retryAfter });
}

export function unreachable(place: string, cause: unknown): LegateError {
  const why = cause instanceof Error ? ` (${reasonOf(cause)})` : '';
  return new LegateError(
    'STORE_FAILED',
    `store ${place}: cannot be reached${why}; check that PostgreSQL runs there and takes connections`,
    { cause, retryAfter },
  );
}

/** The response to a write did not arrive, so that its outcome is unknown. */
export function unanswered(place: string, cause: unknown): LegateError {
  return new LegateError(
    'STORE_FAILED',
    `store ${place}: the connection broke before the answer came; try again`,
    { cause, retryAfter },
  );
}

/** The error when too many operations wait for the database. */
export function overrun(place: string): LegateError {
  return new LegateError(
    'STORE_FAILED',
    `store ${place}: too many operations are waiting; check for a slow disk, or reduce the load`,
    { retryAfter },
  );
}

export function closed(place: string): LegateError {
  return new LegateError('STORE_FAILED', `store ${place} is closed`);
}

/** Why the store cannot be written, in a few words. */
export function outageReason({ cause }: LegateError): string {
  switch (sqlState(cause)) {
    case '53100':
      return 'the disk of the database is full';
    case '25006':
      return 'the database is read-only';
    case undefined:
      return 'the database cannot be reached';
    default:
      return 'the database refuses writes';
  }
}

/** A host with several addresses fails with an `AggregateError` without a message. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError && error.message === '') {
    const [first] = error.errors as readonly unknown[];
    return first instanceof Error ? first.message : 'no address answers';
  }
  return error.message;
}

function explain(code: string | undefined, message: string): string {
  switch (code) {
    case '57014':
      return 'a statement took longer than statementTimeoutMs; look for locks and for a slow disk';
    case '53100':
      return 'its disk is full; stored data is intact; free some space';
    case '53300':
      return 'it has no connection left; raise max_connections there, or lower maxConnections here';
    case '25006':
      return 'it is read-only, as a standby is; give the address of the primary';
    case '3D000':
      return 'there is no such database; create it, or correct the url';
    case '28P01':
    case '28000':
      return `it refuses the user or the password (${message}); correct the url`;
    case '42501':
      return `the user lacks a right (${message}); grant it, or migrate as another user`;
    case '3F000':
    case '42883':
    case '42P01':
      return `its tables are missing or of another version (${message}); run the migrations`;
    default:
      return message;
  }
}

import { LegateError } from '../../protocol/index.ts';

/** SQLite's primary result codes. */
const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  constraint: 19,
  notADatabase: 26,
} as const;

function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode & 0xff : undefined;
}

export function isBusy(thrown: unknown): boolean {
  const code = primaryCode(thrown);
  return code === codes.busy || code === codes.locked;
}

export function isConstraint(thrown: unknown): boolean {
  return primaryCode(thrown) === codes.constraint;
}

/** Whether the file is damaged, or not a database. */
export function isDamage(thrown: unknown): boolean {
  const code = primaryCode(thrown);
  return code === codes.corrupt || code === codes.notADatabase;
}

/**
 * The error for the file at `path`, with a fix. Failures that do not come from the storage medium are
 * bugs, which a retry does not fix.
 */
export function storeFailure(path: string, thrown: unknown): unknown {
  if (thrown instanceof LegateError) return thrown;
  const code = primaryCode(thrown);
  if (code === undefined) return thrown;
  const text = explain(code);
  if (text === undefined) {
    return new LegateError('INTERNAL', `store ${path}: ${String(thrown)}`, { cause: thrown });
  }
  return new LegateError('STORE_FAILED', `store ${path}: ${text}`, { cause: thrown });
}

/** Why the store cannot be written, in a few words. */
export function outageReason({ cause }: LegateError): string {
  switch (primaryCode(cause)) {
    case codes.full:
      return 'the disk of the store is full';
    case codes.readOnly:
      return 'the store is read-only';
    case codes.busy:
    case codes.locked:
      return 'the store is locked by another process';
    default:
      return 'the store fails to write';
  }
}

function explain(code: number): string | undefined {
  switch (code) {
    case codes.full:
      return 'the disk is full; stored data is intact: free some space (or raise maxBytes)';
    case codes.readOnly:
      return 'cannot be written; make the file and its directory writable for this user';
    case codes.cannotOpen:
      return 'cannot be opened; check that its directory exists and is writable for this user';
    case codes.corrupt:
    case codes.notADatabase:
      return 'the file is damaged or not a store; restore a backup, or move the file to start with an empty store';
    case codes.busy:
    case codes.locked:
    case codes.protocol:
      return 'another process keeps it locked; end that process, or give this one a path of its own';
    case codes.ioError:
      return 'the disk failed to read or write; check the disk and its file system';
    default:
      return undefined;
  }
}

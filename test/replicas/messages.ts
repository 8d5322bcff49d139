/** What the parent and its replicas tell each other. */
export interface ReplicaSettings {
  readonly database: string;
  /** Where notices are heard, if `database` is the address of a pooler. */
  readonly listenUrl?: string;
  readonly leaseMs?: number;
  readonly pollIntervalMs?: number;
  readonly maxContexts?: number;
  readonly retentionMs?: number;
  readonly sweepIntervalMs?: number;
  readonly taskTimeoutMs?: number;
  /** @default 5_000 */
  readonly drainMs?: number;
  readonly onInterrupted?: 'fail' | 'run-again';
  readonly serialise?: 'task';
  /** The longest a statement may take. */
  readonly statementTimeoutMs?: number;
  /** Keeps its tasks in this SQLite file, and not in the database. */
  readonly sqlite?: string;
  readonly callerLimits?: { readonly requestsPerSecond: number; readonly burst: number };
}

export interface TurnBegan {
  readonly began: string;
  readonly messageId: string;
  readonly attempt: number;
}

export type ToParent = { readonly port: number } | TurnBegan;

/** Opens the gate of that name, sets by how much the wall clock is wrong, fills or frees the disk. */
export type ToReplica =
  | { readonly open: string }
  | { readonly clockShiftMs: number }
  | { readonly isDiskFull: boolean };

import type { Json, JsonValue } from '../protocol/index.ts';
import type { ContextWrite, TurnRecord } from './contract.ts';
import type { RecordWrite } from './record-contract.ts';

/** How a command came to its end. `next`: the turn of its key that now runs under the same replica. */
export type CommandEnd =
  | { readonly kind: 'ended'; readonly next?: TurnRecord }
  /** The turn no longer runs under this replica. Nothing was written. */
  | { readonly kind: 'fenced' }
  /** An `ifVersion` of `records` did not hold. Nothing was written. */
  | { readonly kind: 'version-conflict' };

/**
 * Commands: turns without a task. They wait in the queue of their key like every other turn and are
 * taken over like them; `taskId` of their turn is the command's own id, which names no task.
 */
export interface CommandStore {
  queue(command: {
    readonly agent: string;
    readonly key: string;
    /** New among all ids of commands and tasks. */
    readonly id: string;
    readonly replica: string;
    readonly request: Json<JsonValue>;
  }): Promise<{
    readonly turn: TurnRecord;
    /** Running under this replica; else queued behind others of its key. */
    readonly running: boolean;
  }>;
  /** Ends a running command with everything that it changes, in one transaction. */
  end(end: {
    readonly turn: Pick<TurnRecord, 'id' | 'taskId'>;
    readonly replica: string;
    readonly context?: ContextWrite | undefined;
    readonly records?: readonly RecordWrite[] | undefined;
    readonly now: number;
  }): Promise<CommandEnd>;
  /** Ends all commands of a key without effect, running ones included, and gives their ids. */
  drop(
    key: string,
    replica: string,
  ): Promise<{ readonly ids: readonly string[]; readonly next?: TurnRecord }>;
}

import { isJsonObject, type JsonObject, type Message } from '../protocol/index.ts';
import type { ContextState, Journal, Turn } from './agent.ts';
import type { Steps } from './steps/step-log.ts';

export interface ChildTurnOptions {
  /** Unique among the children: identifies the child's part of the log and of the journal. */
  readonly name: string;
  /**
   * The name in the journal, for a child with several turns within one turn of its parent.
   * @default name
   */
  readonly journalName?: string;
  /** @default the parent's */
  readonly message?: Message;
  /** The saved state of the child. */
  readonly value: JsonObject | undefined;
  /** Entries that the child logged earlier in this turn. @default [] */
  readonly pendingLog?: readonly JsonObject[];
  /** @default the parent's */
  readonly isContinuation?: boolean;
  /**
   * Whether the child shares the parent's conversation, instead of having its own log.
   * @default false
   */
  readonly sharesConversation?: boolean;
  /** @default the parent's */
  readonly signal?: AbortSignal | undefined;
  /** The steps of the step that runs the child. @default the parent's */
  readonly steps?: Steps | undefined;
}

/** Bounds the cost of filtering a shared log. */
const maxLogEntries = 500;

/**
 * The turn that one agent passes to another: the same task, caller and session, but with its own
 * message, saved value, and part of log and journal.
 */
export function childTurn(parent: Turn, options: ChildTurnOptions): Turn {
  const { name, journalName = name, message, isContinuation, signal } = options;
  const { taskId, contextId, caller, metadata, acceptedOutputModes, extensions } = parent;
  const { attempt, session, journal, clock, peers } = parent;
  const seen = {
    message: message ?? parent.message,
    isContinuation: isContinuation ?? parent.isContinuation,
  };
  return {
    ...seen,
    taskId,
    contextId,
    caller,
    metadata,
    acceptedOutputModes,
    extensions,
    attempt,
    state: childState(parent, options),
    session,
    peers: peers.within(journalName, seen),
    journal: journal && childJournal(journal, journalName),
    steps: options.steps ?? parent.steps,
    signal: signal ?? parent.signal,
    clock,
    logger: parent.logger.child({ agent: name }),
    history: async () => (message === undefined ? parent.history() : []),
  };
}

function childState(parent: Turn, options: ChildTurnOptions): ContextState {
  const { name, value, sharesConversation = false, pendingLog = [] } = options;
  return {
    load: async () => value,
    log: async (range) => {
      if (sharesConversation) return parent.state.log(range);
      const entries = await parent.state.log({ last: maxLogEntries });
      const stored = entries.flatMap(({ branch, entry }) =>
        branch === name && isJsonObject(entry) ? [entry] : [],
      );
      const own = [...stored, ...pendingLog];
      return range?.last === undefined ? own : own.slice(Math.max(0, own.length - range.last));
    },
  };
}

/** Wraps a child's log entries for its parent's log. */
export function inBranch(name: string, log: readonly JsonObject[]): readonly JsonObject[] {
  return log.map((entry) => ({ branch: name, entry }));
}

function childJournal(parent: Journal, name: string): Journal {
  return {
    read: (key) => parent.read(`${name}/${key}`),
    claim: (key, value) => parent.claim(`${name}/${key}`, value),
    write: (key, value) => parent.write(`${name}/${key}`, value),
  };
}

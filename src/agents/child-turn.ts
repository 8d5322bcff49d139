import { isJsonObject, type JsonObject, type JsonValue, type Message } from '../protocol/index.ts';
import type { Caller, Clock, ContextState, Journal, Session, Turn } from './agent.ts';
import type { Logger } from '../telemetry/index.ts';
import { sessionOf } from './sessions/transient-session.ts';

export interface ChildTurnOptions {
  /** Unique among the children: names the child's part of the log and of the journal. */
  readonly name: string;
  /** For a child that may take several turns within one of its parent's. @default name */
  readonly journalName?: string;
  /** @default the parent's */
  readonly message?: Message;
  /** What was saved for the child. */
  readonly value: JsonObject | undefined;
  /** What the child logged earlier in this very turn. @default [] */
  readonly pendingLog?: readonly JsonObject[];
  /** @default the parent's */
  readonly isContinuation?: boolean;
  /**
   * Whether the child takes part in the parent's conversation or has a log of its own.
   * @default false
   */
  readonly sharesConversation?: boolean;
  /** @default the parent's */
  readonly signal?: AbortSignal;
}

/** Filtering a shared log must not cost more with its length. */
const maxLogEntries = 500;

/**
 * A turn as one agent gives it to another: the same task, caller and session, but its own message,
 * its own saved value, and its own part of log and journal.
 */
export class ChildTurn implements Turn {
  readonly message: Message;
  readonly taskId: string;
  readonly contextId: string;
  readonly caller: Caller;
  readonly metadata: JsonObject;
  readonly acceptedOutputModes: readonly string[];
  readonly extensions: readonly string[];
  readonly isContinuation: boolean;
  readonly attempt: number;
  readonly state: ContextState;
  readonly session: Session;
  readonly journal?: Journal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly #parent: Turn;
  readonly #options: ChildTurnOptions;

  constructor(parent: Turn, options: ChildTurnOptions) {
    this.#parent = parent;
    this.#options = options;
    this.message = options.message ?? parent.message;
    this.taskId = parent.taskId;
    this.contextId = parent.contextId;
    this.caller = parent.caller;
    this.metadata = parent.metadata;
    this.acceptedOutputModes = parent.acceptedOutputModes;
    this.extensions = parent.extensions;
    this.isContinuation = options.isContinuation ?? parent.isContinuation;
    this.attempt = parent.attempt;
    this.state = childState(parent, options);
    this.session = sessionOf(parent);
    if (parent.journal !== undefined)
      this.journal = childJournal(parent.journal, options.journalName ?? options.name);
    this.signal = options.signal ?? parent.signal;
    this.clock = parent.clock;
  }

  get logger(): Logger {
    return this.#parent.logger.child({ agent: this.#options.name });
  }

  async history(): Promise<readonly Message[]> {
    return this.#options.message === undefined ? this.#parent.history() : [];
  }
}

function childState(parent: Turn, options: ChildTurnOptions): ContextState {
  const { name, value, sharesConversation, pendingLog = [] } = options;
  return {
    load: async () => value,
    log: async ({ last } = {}) => {
      if (sharesConversation === true) {
        return parent.state.log(last === undefined ? undefined : { last });
      }
      const entries = await parent.state.log({ last: maxLogEntries });
      const stored = entries.flatMap(({ branch, entry }) =>
        branch === name && isJsonObject(entry) ? [entry] : [],
      );
      const own = [...stored, ...pendingLog];
      return last === undefined ? own : own.slice(Math.max(0, own.length - last));
    },
  };
}

/** Wraps a child's log entries for its parent's log. */
export function inBranch(name: string, log: readonly JsonObject[]): readonly JsonObject[] {
  return log.map((entry) => ({ branch: name, entry }));
}

function childJournal(parent: Journal, name: string): Journal {
  const own = (key: string): string => `${name}/${key}`;
  return {
    read: (key) => parent.read(own(key)),
    claim: (key, value: JsonValue) => parent.claim(own(key), value),
    write: (key, value: JsonValue) => parent.write(own(key), value),
  };
}

import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { CallState } from '../tool-loop/call-state.ts';
import { type Entry, withoutBytes } from '../tool-loop/conversation.ts';
import type { Usage } from '../usage.ts';

/** Where a task stopped to ask. */
export interface Pause {
  /** The turn so far, from the caller's first message on. */
  readonly entries: readonly Entry[];
  /** Answers of the model so far. */
  readonly iteration: number;
  readonly usage: Usage;
  /** The calls of the last step. */
  readonly calls?: readonly CallState[];
  /** What the model said beside them. */
  readonly text?: string;
  readonly endsTurn?: boolean;
  readonly escalates?: boolean;
  /** The sub agent that asks. */
  readonly delegate?: string;
}

/** Tasks of one conversation that may wait for their caller at one time. */
const mostPauses = 32;
const largestPause = 2 * 1024 * 1024;

/** What an agent keeps of a conversation beside its log. */
export class SavedState {
  readonly pauses: Map<string, Pause>;
  /** What sub agents keep, by their names. */
  readonly children: Map<string, JsonObject>;
  /** The sub agent that has the conversation. */
  active: string | undefined;
  readonly #isNew: boolean;

  constructor(value: JsonObject | undefined) {
    const { pauses, children, active } = value ?? {};
    this.pauses = new Map(entriesOf(pauses) as [string, unknown][] as [string, Pause][]);
    this.children = new Map(entriesOf(children) as [string, JsonObject][]);
    this.active = typeof active === 'string' ? active : undefined;
    this.#isNew = value === undefined;
  }

  /**
   * Notes where a task stopped. Files are kept as long as they fit. Tasks that ended without their
   * agent leave their pauses behind, so the oldest give way; a task that lost its pause hears the
   * answer as an ordinary message.
   */
  pause(taskId: string, pause: Pause): void {
    const [oldest] = this.pauses.keys();
    if (this.pauses.size >= mostPauses && oldest !== undefined) this.pauses.delete(oldest);
    const isLarge = JSON.stringify(pause).length > largestPause;
    this.pauses.set(taskId, isLarge ? withoutFiles(pause) : pause);
  }

  /** The value to save; undefined where there is nothing to save and nothing was. */
  toValue(): JsonObject | undefined {
    const isEmpty = this.pauses.size === 0 && this.children.size === 0 && this.active === undefined;
    if (isEmpty && this.#isNew) return undefined;
    return {
      ...(this.pauses.size > 0 && {
        pauses: Object.fromEntries(this.pauses) as unknown as JsonObject,
      }),
      ...(this.children.size > 0 && { children: Object.fromEntries(this.children) }),
      ...(this.active !== undefined && { active: this.active }),
    };
  }
}

function entriesOf(value: JsonValue | undefined): [string, JsonValue][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function withoutFiles(pause: Pause): Pause {
  const entries = pause.entries.map((entry) =>
    entry.role === 'user' ? { ...entry, parts: entry.parts.map(withoutBytes) } : entry,
  );
  return { ...pause, entries };
}

import type { JsonObject } from '../../protocol/index.ts';
import { SavedTasks } from '../saved-tasks.ts';
import type { CallState, LoopState } from '../tool-loop/call-state.ts';
import { type Entry, withoutBytes } from '../tool-loop/conversation.ts';

/** Where a task stopped to ask. */
export interface Pause
  extends
    Pick<LoopState, 'iteration' | 'usage'>,
    Partial<Pick<LoopState, 'endsTurn' | 'escalates'>> {
  readonly entries: readonly Entry[];
  /** The calls of the last step. */
  readonly calls?: readonly CallState[];
  /** What the model said beside them. */
  readonly text?: string;
  /** The sub agent that asks. */
  readonly delegate?: string;
}

const maxPauseSize = 2 * 1024 * 1024;

/** The saved state of a conversation, beside its log. */
export class SavedState extends SavedTasks<Pause> {
  /** The sub agent that has the conversation. */
  active: string | undefined;
  readonly #isNew: boolean;

  constructor(value: JsonObject | undefined) {
    const { pauses, children, active } = value ?? {};
    super(pauses, children);
    this.active = typeof active === 'string' ? active : undefined;
    this.#isNew = value === undefined;
  }

  /** Drops the bytes of files from a pause that is too large. */
  override stop(taskId: string, pause: Pause): void {
    const isLarge = JSON.stringify(pause).length > maxPauseSize;
    super.stop(taskId, isLarge ? withoutFiles(pause) : pause);
  }

  /** The value to save; undefined where there is nothing to save and nothing was. */
  value(): JsonObject | undefined {
    const saved = this.toValue('pauses');
    const value = this.active === undefined ? saved : { ...saved, active: this.active };
    return Object.keys(value).length === 0 && this.#isNew ? undefined : value;
  }
}

function withoutFiles(pause: Pause): Pause {
  const entries = pause.entries.map((entry) =>
    entry.role === 'user' ? { ...entry, parts: entry.parts.map(withoutBytes) } : entry,
  );
  return { ...pause, entries };
}

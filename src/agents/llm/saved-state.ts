import { z } from 'zod';
import type { JsonObject } from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { SavedTasks } from '../stored.ts';
import { callState, loopState } from '../tool-loop/call-state.ts';
import { withoutBytes } from '../tool-loop/conversation.ts';

/** The state of a task that waits for its caller. */
const pause = loopState.extend({
  /** The calls of the last step. */
  calls: z.array(callState).readonly().exactOptional(),
  /** The text of the model beside these calls. */
  text: z.string().default(''),
  /** The sub agent that asks. */
  delegate: z.string().exactOptional(),
});
export type Pause = z.infer<typeof pause>;

const format = new StoredFormat({ name: 'pause of task', schema: pause });
const maxPauseSize = 2 * 1024 * 1024;

/** The saved state of a conversation, without its log. */
export class SavedState extends SavedTasks<Pause> {
  /** The sub agent that currently has the conversation. */
  active: string | undefined;
  readonly #isNew: boolean;

  constructor(value: JsonObject | undefined) {
    const { pauses, children, active } = value ?? {};
    super(format, pauses, children);
    this.active = typeof active === 'string' ? active : undefined;
    this.#isNew = value === undefined;
  }

  /** Drops the bytes of files from a pause that is too large. */
  override stop(taskId: string, stopped: Pause): void {
    const isLarge = JSON.stringify(stopped).length > maxPauseSize;
    super.stop(taskId, isLarge ? withoutFiles(stopped) : stopped);
  }

  /** The value to save; undefined if there is nothing to save and nothing was saved before. */
  value(): JsonObject | undefined {
    const saved = this.toValue('pauses');
    const value = this.active === undefined ? saved : { ...saved, active: this.active };
    return Object.keys(value).length === 0 && this.#isNew ? undefined : value;
  }
}

function withoutFiles(stopped: Pause): Pause {
  const entries = stopped.entries.map((entry) =>
    entry.role === 'user' ? { ...entry, parts: entry.parts.map(withoutBytes) } : entry,
  );
  return { ...stopped, entries };
}

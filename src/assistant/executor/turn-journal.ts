import { z, type ZodType } from 'zod';
import type { Journal } from '../../agents/index.ts';
import { errorMessage, isJsonObject } from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { jsonObject } from '../conversation.ts';
import type { ActionResult } from '../actions/runner.ts';
import type { CallOutcome } from './call-handler.ts';

/** Something that a turn does outside of the conversation. */
export interface Effect<T> {
  /** Its kind and name, such as `action action_transfer`; several of one name are numbered. */
  readonly name: string;
  /** Reads the result back. */
  readonly schema: ZodType<T>;
  /**
   * Whether it may run again when an earlier attempt of the turn started it and died before its end.
   * @default false
   */
  readonly isRepeatable?: () => boolean | Promise<boolean>;
  /** `journal`: for the parts of the effect; undefined where the turn never runs again. */
  readonly run: (journal: Journal | undefined) => Promise<T>;
}

/** An earlier attempt of the turn started an effect and died: whether it took place is unknown. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/**
 * The effects of a turn that may run again after its process died: each takes place at most once.
 *
 * - **started**: journaled before the effect runs. An attempt that finds it so throws `OutcomeUnknown`,
 *   unless the effect is repeatable.
 * - **ended**: journaled with the result, or with the failure, which later attempts reuse.
 *
 * Effects are found again by their name and their number among those of that name, so a rerun must do the
 * same things in the same order. It does: what the message was understood as is journaled too.
 */
export class TurnJournal {
  readonly #journal: Journal | undefined;
  readonly #numbers = new Map<string, number>();

  constructor(journal: Journal | undefined) {
    this.#journal = journal;
  }

  async once<T>({ name, schema, isRepeatable, run }: Effect<T>): Promise<T> {
    const journal = this.#journal;
    if (journal === undefined) return run(undefined);
    const number = (this.#numbers.get(name) ?? 0) + 1;
    this.#numbers.set(name, number);
    const key = `${name} ${number}`;
    const format = entryFormat(schema);
    if (!(await journal.claim(key, {}))) {
      const entry = format.decode((await journal.read(key)) ?? {}, key);
      if (entry.result !== undefined) return entry.result;
      if (entry.failure !== undefined) throw new Error(entry.failure);
      if ((await isRepeatable?.()) !== true) throw new OutcomeUnknown(`${name} was interrupted`);
    }
    try {
      const result = await run(within(journal, key));
      await journal.write(key, format.encode({ result }).value);
      return result;
    } catch (error) {
      // A turn that is aborted leaves the effect open: it may have taken place.
      if (!isAbort(error)) {
        const failure = errorMessage(error);
        await journal.write(key, format.encode({ failure }).value);
      }
      throw error;
    }
  }
}

function entryFormat<T>(schema: ZodType<T>) {
  return new StoredFormat<{
    readonly result?: T | undefined;
    readonly failure?: string | undefined;
  }>({
    name: 'journal entry',
    schema: z.object({ result: schema.optional(), failure: z.string().optional() }),
  });
}

function within(journal: Journal, place: string): Journal {
  return {
    read: (key) => journal.read(`${place}/${key}`),
    claim: (key, value) => journal.claim(`${place}/${key}`, value),
    write: (key, value) => journal.write(`${place}/${key}`, value),
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TurnStopped');
}

/** Journaled by this process or one before it, from a value of this type. */
const ours = <T extends object>() => z.custom<T>(isJsonObject);

export const actionResult: ZodType<ActionResult> = z.object({
  messages: z.array(jsonObject),
  events: z.array(ours<ActionResult['events'][number]>()),
});

export const callOutcome: ZodType<CallOutcome> = ours<CallOutcome>();

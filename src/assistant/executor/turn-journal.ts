import { z, type ZodType } from 'zod';
import type { Journal } from '../../agents/index.ts';
import { errorMessage, isJsonObject } from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { jsonObject } from '../conversation.ts';
import type { ActionResult } from '../actions/runner.ts';
import type { CallOutcome } from './call-handler.ts';

/** An effect of a turn outside of the conversation. */
export interface Effect<T> {
  /** Kind and name, such as `action action_transfer`. The journal numbers effects of the same name. */
  readonly name: string;
  /** Decodes the journaled result. */
  readonly schema: ZodType<T>;
  /**
   * Whether the effect may run again if an earlier attempt of the turn started it and died before its end.
   * @default false
   */
  readonly isRepeatable?: () => boolean | Promise<boolean>;
  /** `journal`: for the parts of the effect; undefined if the turn never runs again. */
  readonly run: (journal: Journal | undefined) => Promise<T>;
}

/** The effect may have happened: an earlier attempt died during it, or its result could not be journaled. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/**
 * Runs each effect of a turn at most once, even if the turn runs again after its process died.
 *
 * - **started**: journaled before the effect runs. A later attempt that finds this entry throws
 *   `OutcomeUnknown`, unless the effect is repeatable.
 * - **ended**: journaled with the result or the failure, which later attempts reuse.
 *
 * The key of an effect is its name and its number among effects of that name, so a rerun must run the
 * same effects in the same order. Therefore, the commands of the message are journaled too.
 */
export class TurnJournal {
  readonly #journal: Journal | undefined;
  /** The signal of the turn. */
  readonly #signal: AbortSignal;
  readonly #numbers = new Map<string, number>();

  constructor(journal: Journal | undefined, signal: AbortSignal) {
    this.#journal = journal;
    this.#signal = signal;
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
    let result: T;
    try {
      result = await run(within(journal, key));
    } catch (error) {
      // After an abort the effect stays started: it may have happened.
      if (!this.#signal.aborted) {
        const failure = errorMessage(error);
        await journal.write(key, format.encode({ failure }).value);
      }
      throw error;
    }
    try {
      await journal.write(key, format.encode({ result }).value);
    } catch (cause) {
      // The effect happened and stays started: a failure would invite the user to repeat it.
      throw new OutcomeUnknown(`the result of ${name} could not be journaled`, { cause });
    }
    return result;
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

/** Accepts any object: only this code writes these entries, from values of this type. */
const ours = <T extends object>() => z.custom<T>(isJsonObject);

export const actionResult: ZodType<ActionResult> = z.object({
  messages: z.array(jsonObject),
  events: z.array(ours<ActionResult['events'][number]>()),
});

export const callOutcome: ZodType<CallOutcome> = ours<CallOutcome>();

import { z } from 'zod';
import { isJsonObject, type JsonValue } from '../../protocol/index.ts';
import { digestOf, RecordSpace, type RecordStore } from '../../store/index.ts';
import { type Invocation, invocationSchema, type InvocationSession, isDone } from './invocation.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Version 1 had other names for two fields. */
function fromVersion1(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const { reach, isTold, ...rest } = value;
  return {
    ...rest,
    ...(reach !== undefined && { transportKind: reach }),
    ...(isTold !== undefined && { isNotified: isTold }),
  };
}

/** The index entry of an invocation; entries of earlier versions have no process. */
const openEntry = z
  .object({ isOver: z.boolean(), process: z.string().exactOptional() })
  .catch({ isOver: false });

type Entry = z.infer<typeof openEntry> & { readonly id: string };

/**
 * The stored invocations of one agent, so that an answer finds its invocation after a restart.
 *
 * Invariant: an invocation has an entry in the index of its conversation exactly while it is not
 * done. Both are written in one transaction.
 */
export class InvocationStore {
  readonly #all: RecordSpace<Invocation>;
  /** An entry for each unfinished invocation, by conversation. */
  readonly #open: RecordSpace<z.infer<typeof openEntry>>;
  readonly #prefix: string;
  readonly #clock: { now(): number };

  constructor(records: RecordStore, agent: string, clock: { now(): number }) {
    this.#all = new RecordSpace({
      records,
      clock,
      space: 'invocations',
      schema: invocationSchema,
      version: 2,
      upgrades: { 1: fromVersion1 },
    });
    this.#open = new RecordSpace({ records, clock, space: 'invocations.open', schema: openEntry });
    this.#prefix = `${agent}\n`;
    this.#clock = clock;
  }

  async find(id: string): Promise<Invocation | undefined> {
    return (await this.#all.get(this.#prefix + id))?.value;
  }

  /** False if the id exists already. */
  create(invocation: Invocation): Promise<boolean> {
    const { value, expiresAt, also } = this.#changeTo(invocation);
    const key = this.#prefix + invocation.id;
    return this.#all.write(this.#all.toWrite(key, value, { expiresAt, ifVersion: 0 }), ...also);
  }

  /**
   * Updates an invocation with optimistic locking: `change` runs again on a conflict, and returns
   * undefined to keep the invocation. Resolves with the stored invocation.
   */
  async change(
    id: string,
    change: (invocation: Invocation) => Invocation | undefined,
  ): Promise<{ readonly invocation: Invocation; readonly isChanged: boolean } | undefined> {
    let isChanged = false;
    const invocation = await this.#all.change(this.#prefix + id, (before) => {
      const changed = before && change(before.value);
      isChanged = changed !== undefined;
      return changed && this.#changeTo(changed, before.value);
    });
    return invocation && { invocation, isChanged };
  }

  /** The open invocations of a conversation, at most `limit`. */
  async open(session: InvocationSession, limit: number): Promise<readonly Invocation[]> {
    const entries = await this.#entries(this.#openPrefix(session), limit);
    const found = await Promise.all(entries.map(({ id }) => this.find(id)));
    return found.filter((each) => each !== undefined).filter(({ state }) => state !== 'ended');
  }

  /** The number of open invocations of a conversation, counted up to `limit`. */
  async countOpen(session: InvocationSession, limit: number): Promise<number> {
    const entries = await this.#entries(this.#openPrefix(session), limit);
    return entries.filter(({ isOver }) => !isOver).length;
  }

  /** The unfinished invocations of all conversations, with the replica that claimed each. */
  unfinished(limit?: number): Promise<readonly Entry[]> {
    return this.#entries(this.#prefix, limit);
  }

  /** All invocations, ended ones included. */
  all(): Promise<readonly Invocation[]> {
    return this.#all.values(this.#prefix);
  }

  #entries(prefix: string, limit = Infinity): Promise<readonly Entry[]> {
    return Array.fromAsync(this.#open.list(prefix, { limit }), ({ key, value }) => ({
      id: key.slice(key.lastIndexOf('\n') + 1),
      ...value,
    }));
  }

  #changeTo(invocation: Invocation, before?: Invocation) {
    const { id, session, state, deadline, process } = invocation;
    const isOver = state === 'ended';
    // An ended one is kept for late answers.
    const expiresAt = (isOver ? this.#clock.now() : deadline) + dayMs;
    const key = this.#openPrefix(session) + id;
    const entry = { isOver, ...(process !== undefined && { process }) };
    const wasDone = before === undefined || isDone(before);
    const removed = wasDone ? [] : [this.#open.toWrite(key)];
    const also = isDone(invocation) ? removed : [this.#open.toWrite(key, entry, { expiresAt })];
    return { value: invocation, expiresAt, also };
  }

  /** A digest keeps keys short for callers with long names. */
  #openPrefix({ id, caller: { tenant, subject } }: InvocationSession): string {
    return `${this.#prefix}${digestOf(id, tenant, subject)}\n`;
  }
}

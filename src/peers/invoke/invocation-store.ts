import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isJsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore, type SpaceRecord } from '../../store/index.ts';
import { type Invocation, invocationSchema, type InvocationSession, isDone } from './invocation.ts';

const attempts = 20;
const day = 24 * 60 * 60 * 1000;

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
 * The invocations of one agent, in the store: an answer finds its question after any restart.
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
    return this.#write(invocation, undefined);
  }

  /**
   * Updates an invocation with optimistic locking: `change` runs again on a conflict, and returns
   * undefined to keep the invocation. Resolves with the stored invocation.
   */
  async change(
    id: string,
    change: (invocation: Invocation) => Invocation | undefined,
  ): Promise<{ readonly invocation: Invocation; readonly isChanged: boolean } | undefined> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const stored = await this.#all.get(this.#prefix + id);
      if (stored === undefined) return undefined;
      const invocation = change(stored.value);
      if (invocation === undefined) return { invocation: stored.value, isChanged: false };
      if (await this.#write(invocation, stored)) return { invocation, isChanged: true };
    }
    throw new LegateError('UNAVAILABLE', `invocation ${id} is being changed by others; try again`);
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
  unfinished(): Promise<readonly Entry[]> {
    return this.#entries(this.#prefix);
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

  #write(invocation: Invocation, before: SpaceRecord<Invocation> | undefined): Promise<boolean> {
    const { id, session, state, deadline, process } = invocation;
    const isOver = state === 'ended';
    // An ended one is kept for late answers.
    const expiresAt = (isOver ? this.#clock.now() : deadline) + day;
    const ifVersion = before?.version ?? 0;
    const write = this.#all.toWrite(this.#prefix + id, invocation, { expiresAt, ifVersion });
    const key = this.#openPrefix(session) + id;
    if (!isDone(invocation)) {
      const entry = { isOver, ...(process !== undefined && { process }) };
      return this.#all.write(write, this.#open.toWrite(key, entry, { expiresAt }));
    }
    const wasDone = before === undefined || isDone(before.value);
    return this.#all.write(write, ...(wasDone ? [] : [this.#open.toWrite(key)]));
  }

  /** A digest keeps keys short, whatever callers are called. */
  #openPrefix({ id, caller: { tenant, subject } }: InvocationSession): string {
    const text = JSON.stringify([id, tenant, subject]);
    return `${this.#prefix}${createHash('sha256').update(text).digest('base64url')}\n`;
  }
}

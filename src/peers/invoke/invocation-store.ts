import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Json, type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite, StoredRecord } from '../../store/index.ts';
import type { Invocation, InvocationSession } from './invocation.ts';

const space = 'invocations';
/** An entry for each that is not done, by conversation: those that are done are kept for a day. */
const openSpace = 'invocations.open';
const pageSize = 200;
const attempts = 20;
const day = 24 * 60 * 60 * 1000;

/** What the index knows of an invocation; entries of earlier versions do not say whose it is. */
const openEntry = z.object({ isOver: z.boolean(), process: z.string().exactOptional() });

type Entry = z.infer<typeof openEntry> & { readonly id: string };

/**
 * The invocations of one agent, in the store: an answer finds its question after any restart.
 *
 * Invariant: an invocation has an entry in the index of its conversation exactly while it is not
 * done. Both are written in one transaction.
 */
export class InvocationStore {
  readonly #records: RecordStore;
  readonly #prefix: string;
  readonly #clock: { now(): number };

  constructor(records: RecordStore, agent: string, clock: { now(): number }) {
    this.#records = records;
    this.#prefix = `${agent}\n`;
    this.#clock = clock;
  }

  async find(id: string): Promise<Invocation | undefined> {
    const stored = await this.#records.get(space, this.#prefix + id, this.#clock.now());
    return stored?.value.value as unknown as Invocation | undefined;
  }

  /** False when there is one of this id already. */
  create(invocation: Invocation): Promise<boolean> {
    return this.#write(invocation, { ifVersion: 0, wasDone: true });
  }

  /**
   * Changes an invocation; the change sees it as it is now, and is made again when others change it
   * meanwhile. Undefined from the change leaves it alone. Resolves with what there is in the end.
   */
  async change(
    id: string,
    change: (invocation: Invocation) => Invocation | undefined,
  ): Promise<{ readonly invocation: Invocation; readonly isChanged: boolean } | undefined> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const stored = await this.#records.get(space, this.#prefix + id, this.#clock.now());
      if (stored === undefined) return undefined;
      const invocation = stored.value.value as unknown as Invocation;
      const changed = change(invocation);
      if (changed === undefined) return { invocation, isChanged: false };
      const before = { ifVersion: stored.version, wasDone: isDone(invocation) };
      if (await this.#write(changed, before)) return { invocation: changed, isChanged: true };
    }
    throw new LegateError('UNAVAILABLE', `invocation ${id} is being changed by others; try again`);
  }

  /** Those of a conversation that are not over, at most `limit`. */
  async open(session: InvocationSession, limit: number): Promise<readonly Invocation[]> {
    const entries = await this.#entries(this.#openPrefix(session), limit);
    const found = await Promise.all(entries.map(({ id }) => this.find(id)));
    return found.filter((each) => each !== undefined).filter(({ state }) => state !== 'ended');
  }

  /** How many of a conversation are not over, counted up to `limit`: the others are not read. */
  async countOpen(session: InvocationSession, limit: number): Promise<number> {
    const entries = await this.#entries(this.#openPrefix(session), limit);
    return entries.filter(({ isOver }) => !isOver).length;
  }

  /** Those that are not done, over all conversations, and the replica that works on each. */
  unfinished(): Promise<readonly Entry[]> {
    return this.#entries(this.#prefix);
  }

  /** All of them, those that are over included. */
  async all(): Promise<readonly Invocation[]> {
    const found = await this.#list(space, this.#prefix);
    return found.map(({ value }) => value.value as unknown as Invocation);
  }

  async #entries(prefix: string, limit?: number): Promise<readonly Entry[]> {
    const found = await this.#list(openSpace, prefix, limit);
    return found.map(({ key, value: { value } }) => {
      const id = key.slice(key.lastIndexOf('\n') + 1);
      const entry = openEntry.safeParse(value);
      return { id, ...(entry.success ? entry.data : { isOver: false }) };
    });
  }

  async #list(of: string, prefix: string, limit = Infinity): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (let isMore = true; isMore && found.length < limit;) {
      const after = found.at(-1)?.key;
      const page = await this.#records.list({
        space: of,
        prefix,
        limit: Math.min(pageSize, limit - found.length),
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      found.push(...page);
      isMore = page.length === pageSize;
    }
    return found;
  }

  #write(
    invocation: Invocation,
    { ifVersion, wasDone }: { readonly ifVersion: number; readonly wasDone: boolean },
  ): Promise<boolean> {
    const now = this.#clock.now();
    const { id, session, state, deadline, process } = invocation;
    const isOver = state === 'ended';
    // One that is over is kept for answers that come late.
    const expiresAt = (isOver ? now : deadline) + day;
    const value = Json.of<JsonValue>(invocation as unknown as JsonObject);
    const writes: RecordWrite[] = [{ space, key: this.#prefix + id, value, expiresAt, ifVersion }];
    const entry = { space: openSpace, key: this.#openPrefix(session) + id };
    if (!isDone(invocation)) {
      const open = { isOver, ...(process !== undefined && { process }) };
      writes.push({ ...entry, value: Json.of<JsonValue>(open), expiresAt });
    } else if (!wasDone) writes.push(entry);
    return this.#records.write(writes, now);
  }

  /** A digest keeps keys short, whatever callers are called. */
  #openPrefix({ id, caller: { tenant, subject } }: InvocationSession): string {
    const text = JSON.stringify([id, tenant, subject]);
    return `${this.#prefix}${createHash('sha256').update(text).digest('base64url')}\n`;
  }
}

/** Nothing is left to do: it has ended, the conversation knows, and so does the peer. */
export function isDone({ state, isTold, mustCancel }: Invocation): boolean {
  return state === 'ended' && isTold === true && mustCancel !== true;
}

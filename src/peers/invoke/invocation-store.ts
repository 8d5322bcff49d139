import { createHash } from 'node:crypto';
import { Json, type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore, RecordWrite } from '../../store/index.ts';
import type { Invocation, InvocationSession } from './invocation.ts';

const space = 'invocations';
/** An entry for each that is not over, by conversation: those that are over are kept for a day. */
const openSpace = 'invocations.open';
const pageSize = 200;
const attempts = 20;
const day = 24 * 60 * 60 * 1000;

/**
 * The invocations of one agent, in the store: an answer finds its question after any restart.
 *
 * Invariant: an invocation has an entry in the index of its conversation exactly while its state is
 * not `ended`. Both are written in one transaction.
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
    return this.#write(invocation, { ifVersion: 0, wasOpen: false });
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
      const before = { ifVersion: stored.version, wasOpen: invocation.state !== 'ended' };
      if (await this.#write(changed, before)) return { invocation: changed, isChanged: true };
    }
    throw new LegateError('UNAVAILABLE', `invocation ${id} is being changed by others; try again`);
  }

  /** Those of a conversation that are not over, at most `limit`. */
  async open(session: InvocationSession, limit: number): Promise<readonly Invocation[]> {
    const entries = await this.#entries(session, limit);
    const found = await Promise.all(entries.map((id) => this.find(id)));
    return found.filter((each) => each !== undefined).filter(({ state }) => state !== 'ended');
  }

  /** How many of a conversation are not over, counted up to `limit`: the others are not read. */
  async countOpen(session: InvocationSession, limit: number): Promise<number> {
    return (await this.#entries(session, limit)).length;
  }

  /** All of them, those that are over included: for the start of a process. */
  async all(): Promise<readonly Invocation[]> {
    const found: Invocation[] = [];
    let after: string | undefined;
    do {
      const page = await this.#records.list({
        space,
        prefix: this.#prefix,
        limit: pageSize,
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      for (const { value } of page) found.push(value.value as unknown as Invocation);
      after = page.length < pageSize ? undefined : page.at(-1)?.key;
    } while (after !== undefined);
    return found;
  }

  async #entries(session: InvocationSession, limit: number): Promise<readonly string[]> {
    const prefix = this.#openPrefix(session);
    const now = this.#clock.now();
    const entries = await this.#records.list({ space: openSpace, prefix, limit, now });
    return entries.map(({ key }) => key.slice(prefix.length));
  }

  #write(
    invocation: Invocation,
    { ifVersion, wasOpen }: { readonly ifVersion: number; readonly wasOpen: boolean },
  ): Promise<boolean> {
    const now = this.#clock.now();
    const isOpen = invocation.state !== 'ended';
    // One that is over is kept for answers that come late.
    const expiresAt = (isOpen ? invocation.deadline : now) + day;
    const value = Json.of<JsonValue>(invocation as unknown as JsonObject);
    const writes: RecordWrite[] = [
      { space, key: this.#prefix + invocation.id, value, expiresAt, ifVersion },
    ];
    if (isOpen || wasOpen) {
      const key = this.#openPrefix(invocation.session) + invocation.id;
      writes.push({ space: openSpace, key, ...(isOpen && { value: present, expiresAt }) });
    }
    return this.#records.write(writes, now);
  }

  /** A digest keeps keys short, whatever callers are called. */
  #openPrefix({ id, caller: { tenant, subject } }: InvocationSession): string {
    const text = JSON.stringify([id, tenant, subject]);
    return `${this.#prefix}${createHash('sha256').update(text).digest('base64url')}\n`;
  }
}

const present = Json.of<JsonValue>(true);

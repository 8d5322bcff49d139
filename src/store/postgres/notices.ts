import type { Client } from 'pg';
import { LruMap } from '../../protocol/index.ts';
import { repeat } from '../../time/index.ts';
import type { Store } from '../contract.ts';
import { Interest } from './interest.ts';
import type { Statement } from './statement.ts';

type Listener = Parameters<Store['watch']>[0];

interface Watcher {
  readonly listener: Listener;
  readonly onGap: (() => void) | undefined;
}

const channel = 'legate';
export const notifyStatement: Statement = {
  name: 'notify',
  text: `SELECT pg_notify('${channel}', $1)`,
};
/** Maximum notices that wait while the database is unavailable. Readers also poll. */
const waitingLimit = 10_000;
/**
 * Maximum appends that are kept for stores whose interest has not arrived yet: about a second of
 * appends.
 */
const unannouncedLimit = 5_000;
/** Milliseconds between two announcements of a store and the tasks that it follows. */
const greetingMs = 30_000;
/** Milliseconds for which a new store assumes that other stores listen. */
const startupGraceMs = 5_000;

/**
 * Exchanges notices of changes with other replicas. PostgreSQL wakes every listening connection for
 * each notice, so each store announces the tasks that it follows, and an append to a task that no other
 * store follows sends nothing. When a store receives a new interest, it announces its latest append to
 * the task.
 *
 * A notice is sent after its change was committed, outside of any transaction: PostgreSQL serializes
 * the commits of transactions with notices. Notices that arrive while others are in flight are sent
 * together. Notices can be lost: readers that wait for a change also poll the store.
 */
export class Notices {
  readonly #origin = crypto.randomUUID();
  readonly #send: (payload: string) => Promise<unknown>;
  readonly #watchers = new Set<Watcher>();
  readonly #interest: Interest;
  /** The tasks that this store follows, with the number of followers. */
  readonly #followed = new Map<string, number>();
  /** The last versions of tasks that no other store followed. */
  readonly #unannounced = new LruMap<number>(unannouncedLimit);
  readonly #greetings: { stop(): void };
  readonly #now: () => number;
  /**
   * The end of the grace period on the monotonic clock. After it, a store that sent no notice is
   * assumed not to exist.
   */
  readonly #quietFrom: number;
  #waiting = new Map<string, number>();
  #isSending = false;
  #wasOpen = false;

  /** `send` sends a payload to the channel, over any connection. */
  constructor(
    send: (payload: string) => Promise<unknown>,
    options: {
      readonly graceMs?: number;
      /** A monotonic clock. @default that of the process */
      readonly now?: () => number;
      /** @default those of the process */
      readonly timers?: NonNullable<Parameters<typeof repeat>[2]['timers']>;
    } = {},
  ) {
    const { graceMs = startupGraceMs, now = () => performance.now(), timers } = options;
    this.#send = send;
    this.#now = now;
    this.#interest = new Interest(now);
    this.#quietFrom = now() + graceMs;
    const greet = async (): Promise<void> => {
      this.#interest.prune();
      this.#greet();
    };
    // A greeting that fails is followed by the next one.
    const onError = (): void => {};
    this.#greetings = repeat(greetingMs, greet, { onError, ...(timers && { timers }) });
  }

  /** Receives notices of other stores on a new connection. */
  async listen(client: Client): Promise<void> {
    client.on('notification', ({ payload }) => this.receive(payload ?? ''));
    await client.query(`LISTEN ${channel}`);
    // Notices that were sent while the connection was down are lost.
    if (this.#wasOpen) for (const { onGap } of this.#watchers) onGap?.();
    this.#wasOpen = true;
    // Deferred until the connection is in use.
    queueMicrotask(() => this.#greet());
  }

  /** The number of known stores that listen, including this one. */
  get replicas(): number {
    return this.#interest.others + 1;
  }

  watch(listener: Listener, onGap?: () => void): () => void {
    const watcher = { listener, onGap };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  follow(taskId: string): () => void {
    const count = this.#followed.get(taskId) ?? 0;
    this.#followed.set(taskId, count + 1);
    if (count === 0 && !this.#isAlone) {
      this.#broadcast(toInterest(this.#origin, 'follow', [taskId]));
    }
    let isFollowing = true;
    return () => {
      if (!isFollowing) return;
      isFollowing = false;
      const left = (this.#followed.get(taskId) ?? 1) - 1;
      if (left > 0) this.#followed.set(taskId, left);
      else this.#followed.delete(taskId);
      if (left === 0 && !this.#isAlone)
        this.#broadcast(toInterest(this.#origin, 'leave', [taskId]));
    };
  }

  /** Announces a change, if another store follows the task. */
  notify(taskId: string, version: number): void {
    if (this.#interest.isFollowed(taskId)) this.announce(taskId, version);
    else this.#unannounced.set(taskId, version);
  }

  /** Announces a change to all other stores. */
  announce(taskId: string, version: number): void {
    if (this.#isAlone || this.#waiting.size >= waitingLimit) return;
    this.#waiting.set(taskId, Math.max(version, this.#waiting.get(taskId) ?? 0));
    if (!this.#isSending) void this.#sendWaiting();
  }

  close(): void {
    this.#greetings.stop();
    this.#watchers.clear();
  }

  get #isAlone(): boolean {
    return this.#interest.others === 0 && this.#now() >= this.#quietFrom;
  }

  #greet(): void {
    this.#broadcast(toPayloads(this.#origin, new Map()));
    if (this.#followed.size > 0) {
      this.#broadcast(toInterest(this.#origin, 'follow', [...this.#followed.keys()]));
    }
  }

  #broadcast(payloads: readonly string[]): void {
    // The next greeting repeats lost announcements. Until then readers poll.
    Promise.all(payloads.map((payload) => this.#send(payload))).catch(() => {});
  }

  /** Followers have read the log before their interest arrived here. */
  #announceMissed(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      const version = this.#unannounced.get(taskId);
      if (version === undefined) continue;
      this.#unannounced.delete(taskId);
      this.announce(taskId, version);
    }
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#waiting.size > 0) {
        const payloads = toPayloads(this.#origin, this.#waiting);
        this.#waiting = new Map();
        await Promise.all(payloads.map((payload) => this.#send(payload)));
      }
    } catch {
      // Readers also poll the store.
      this.#waiting.clear();
    } finally {
      this.#isSending = false;
    }
  }

  /** A payload of the channel. */
  receive(payload: string): void {
    const notice = fromPayload(payload);
    if (notice === undefined || notice.origin === this.#origin) return;
    const { origin } = notice;
    // The new store may have started to listen after the last greeting of this one.
    if (this.#interest.touch(origin)) this.#greet();
    if (notice.kind === 'changes') {
      for (const [taskId, version] of notice.changes) {
        for (const { listener } of this.#watchers) listener({ taskId, version });
      }
    } else {
      this.#interest[notice.kind](origin, notice.taskIds);
      if (notice.kind === 'follow') this.#announceMissed(notice.taskIds);
    }
  }
}

/** PostgreSQL accepts payloads below 8,000 bytes. */
const payloadLimit = 7_000;

type Change = readonly [taskId: string, version: number];

/** A notice to the other stores. A notice without changes is a greeting. */
type Notice =
  | { readonly kind: 'changes'; readonly origin: string; readonly changes: readonly Change[] }
  | {
      readonly kind: 'follow' | 'leave';
      readonly origin: string;
      readonly taskIds: readonly string[];
    };

/** `[origin, [taskId, version], ...]`, in as many payloads as needed; at least one. */
export function toPayloads(origin: string, changes: ReadonlyMap<string, number>): string[] {
  return inPayloads([origin], [...changes]);
}

/** `[origin, "follow", taskId, ...]`; stores of the previous version ignore it. */
export function toInterest(
  origin: string,
  kind: 'follow' | 'leave',
  taskIds: readonly string[],
): string[] {
  return inPayloads([origin, kind], taskIds);
}

function inPayloads(head: readonly string[], items: readonly unknown[]): string[] {
  const start = JSON.stringify(head).slice(0, -1);
  const payloads: string[] = [];
  let payload = start;
  for (const item of items) {
    const text = `,${JSON.stringify(item)}`;
    if (payload !== start && Buffer.byteLength(payload) + Buffer.byteLength(text) > payloadLimit) {
      payloads.push(`${payload}]`);
      payload = start;
    }
    payload += text;
  }
  return [...payloads, `${payload}]`];
}

/** Undefined for foreign notifications: every client of the database can notify. */
export function fromPayload(payload: string): Notice | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const [origin, ...items] = value as unknown[];
  if (typeof origin !== 'string') return undefined;
  const [kind, ...taskIds] = items;
  if (kind === 'follow' || kind === 'leave') {
    return taskIds.every(isText) ? { kind, origin, taskIds } : undefined;
  }
  return items.every(isChange) ? { kind: 'changes', origin, changes: items } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isChange(value: unknown): value is Change {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}

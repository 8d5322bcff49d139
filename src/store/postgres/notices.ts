import { clearInterval, setInterval } from 'node:timers';
import type { Client, Notification } from 'pg';
import type { Store } from '../contract.ts';
import { Link, type Place } from './link.ts';
import { deadline, send, type Statement } from './statement.ts';
import type { TrafficCount } from './open-postgres.ts';

type Listener = Parameters<Store['watch']>[0];

interface Watcher {
  readonly listener: Listener;
  readonly onGap: (() => void) | undefined;
}

const channel = 'legate';
const notify: Statement = { name: 'notify', text: `SELECT pg_notify('${channel}', $1)` };
/** Notices that may wait while the database is away; readers look again by themselves later. */
const waitingLimit = 10_000;
/** How often a store announces that it listens, and after how much silence it counts as gone. */
const greetingMs = 30_000;
const silenceMs = 100_000;
/** A connection over which a notice takes longer to be sent counts as dead. */
const answerMs = 10_000;
/** How long a new store assumes that others listen, before it has heard of any. */
const startupGraceMs = 5_000;

/**
 * Notifies other replicas of changes, and this one of theirs, over a connection of its own. A notice
 * is sent after its change was committed, outside of any transaction: PostgreSQL commits transactions
 * with notices one by one. Notices that come while others are in flight are sent together.
 *
 * Stores announce themselves when they start to listen and every 30 s, so that a store without others
 * sends nothing. Notices may be lost: readers that wait for a change also poll the store.
 */
export class Notices {
  readonly #origin = crypto.randomUUID();
  readonly #link: Link;
  readonly #traffic: TrafficCount;
  readonly #watchers = new Set<Watcher>();
  /** Other stores that listen, and when they were last heard of. */
  readonly #others = new Map<string, number>();
  readonly #greetings: NodeJS.Timeout;
  /** On the monotonic clock: after this time, a store that was not heard of does not exist. */
  readonly #quietFrom: number;
  #waiting = new Map<string, number>();
  #isSending = false;
  #wasOpen = false;

  constructor(place: Place, traffic: TrafficCount, graceMs = startupGraceMs) {
    this.#traffic = traffic;
    this.#quietFrom = performance.now() + graceMs;
    this.#link = new Link(place, { waitMs: 1_000, prepare: (client) => this.#listen(client) });
    this.#greetings = setInterval(() => this.#greetAgain(), greetingMs).unref();
  }

  /** Resolves once notices of others are heard. */
  async open(): Promise<void> {
    await this.#link.client();
  }

  watch(listener: Listener, onGap?: () => void): () => void {
    const watcher = { listener, onGap };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  notify(taskId: string, version: number): void {
    const isAlone = this.#others.size === 0 && performance.now() >= this.#quietFrom;
    if (isAlone || this.#waiting.size >= waitingLimit) return;
    this.#waiting.set(taskId, Math.max(version, this.#waiting.get(taskId) ?? 0));
    if (!this.#isSending) void this.#send();
  }

  async close(): Promise<void> {
    clearInterval(this.#greetings);
    this.#watchers.clear();
    await this.#link.close();
  }

  async #listen(client: Client): Promise<void> {
    client.on('notification', (notification) => this.#receive(notification));
    await client.query(`LISTEN ${channel}`);
    this.#greet(client);
    // Notices that were sent while the connection was away are lost.
    if (this.#wasOpen) for (const { onGap } of this.#watchers) onGap?.();
    this.#wasOpen = true;
  }

  #greet(client: Client): void {
    for (const payload of toPayloads(this.#origin, new Map())) {
      // A connection that answers nothing breaks, and comes back.
      this.#sent(client, payload).catch(() => {});
    }
  }

  #greetAgain(): void {
    const now = performance.now();
    for (const [origin, heard] of this.#others) {
      if (now - heard > silenceMs) this.#others.delete(origin);
    }
    this.#link.client().then(
      (client) => this.#greet(client),
      // It greets when it is back.
      () => {},
    );
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      const client = await this.#link.client();
      while (this.#waiting.size > 0) {
        const payloads = toPayloads(this.#origin, this.#waiting);
        this.#waiting = new Map();
        this.#traffic.roundTrips += 1;
        this.#traffic.statements += payloads.length;
        await Promise.all(payloads.map((payload) => this.#sent(client, payload)));
      }
    } catch {
      // Others look for themselves after a while.
      this.#waiting.clear();
    } finally {
      this.#isSending = false;
    }
  }

  #sent(client: Client, payload: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timeout = deadline(answerMs, () => this.#link.cut(client));
      send(client, notify, [payload], (error) => {
        timeout.end();
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  #receive({ payload }: Notification): void {
    const notice = fromPayload(payload ?? '');
    if (notice === undefined || notice.origin === this.#origin) return;
    const isNew = !this.#others.has(notice.origin);
    this.#others.set(notice.origin, performance.now());
    // It may have begun to listen after our own greeting.
    if (isNew) this.#greetAgain();
    for (const [taskId, version] of notice.changes) {
      for (const { listener } of this.#watchers) listener({ taskId, version });
    }
  }
}

/** PostgreSQL takes payloads below 8,000 bytes. */
const payloadLimit = 7_000;

/** A notice to the other stores: its sender and the changed tasks; without any it is a greeting. */
interface Notice {
  readonly origin: string;
  readonly changes: readonly (readonly [taskId: string, version: number])[];
}

/** `[origin, [taskId, version], ...]`, in as many payloads as it takes; at least one. */
export function toPayloads(origin: string, changes: ReadonlyMap<string, number>): string[] {
  const start = `[${JSON.stringify(origin)}`;
  const payloads: string[] = [];
  let payload = start;
  for (const change of changes) {
    const text = `,${JSON.stringify(change)}`;
    if (payload !== start && Buffer.byteLength(payload) + Buffer.byteLength(text) > payloadLimit) {
      payloads.push(`${payload}]`);
      payload = start;
    }
    payload += text;
  }
  return [...payloads, `${payload}]`];
}

/** Undefined for foreign notifications: every client of the database may notify. */
export function fromPayload(payload: string): Notice | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const [origin, ...changes] = value as unknown[];
  return typeof origin === 'string' && changes.every(isChange) ? { origin, changes } : undefined;
}

function isChange(value: unknown): value is readonly [string, number] {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}

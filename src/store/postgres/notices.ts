import type { Notification } from 'pg';
import type { Store } from '../contract.ts';
import { Link } from './link.ts';
import type { Place } from './place.ts';
import { send, type Statement } from './statement.ts';
import type { TrafficCount } from './traffic.ts';

type Listener = Parameters<Store['watch']>[0];
type OnGap = () => void;

const channel = 'legate';
const notify: Statement = { name: 'notify', text: `SELECT pg_notify('${channel}', $1)` };
/** PostgreSQL takes payloads below 8,000 bytes. */
const payloadLimit = 7_000;
/** Notices that may wait while the database is away; readers look again by themselves later. */
const waitingLimit = 10_000;

/**
 * Tells other replicas of changes, and this one of theirs, over a connection of its own. A notice is
 * sent after its change was committed, outside of any transaction: PostgreSQL lets transactions with
 * notices commit one by one only. Notices that come while others are under way go out together.
 *
 * A notice says `[origin, [taskId, version], ...]`; its origin ignores it.
 */
export class Notices {
  readonly #origin = crypto.randomUUID();
  readonly #link: Link;
  readonly #traffic: TrafficCount;
  readonly #watchers = new Set<{ readonly listener: Listener; readonly onGap?: OnGap }>();
  #waiting = new Map<string, number>();
  #isSending = false;
  #wasOpen = false;

  constructor(place: Place, traffic: TrafficCount) {
    this.#traffic = traffic;
    this.#link = new Link(place, {
      waitMs: 1_000,
      prepare: async (client) => {
        client.on('notification', (notification) => this.#receive(notification));
        await client.query(`LISTEN ${channel}`);
        // Whatever was told while the connection was away is lost.
        if (this.#wasOpen) for (const { onGap } of this.#watchers) onGap?.();
        this.#wasOpen = true;
      },
    });
  }

  /** Resolves once notices of others are heard. */
  async open(): Promise<void> {
    await this.#link.client();
  }

  watch(listener: Listener, onGap?: OnGap): () => void {
    const watcher = { listener, ...(onGap !== undefined && { onGap }) };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  tell(taskId: string, version: number): void {
    if (this.#waiting.size >= waitingLimit) return;
    this.#waiting.set(taskId, Math.max(version, this.#waiting.get(taskId) ?? 0));
    if (!this.#isSending) void this.#send();
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#link.close();
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
        await Promise.all(
          payloads.map(
            (payload) =>
              new Promise<void>((resolve, reject) => {
                send(client, notify, [payload], (error) =>
                  error === undefined ? resolve() : reject(error),
                );
              }),
          ),
        );
      }
    } catch {
      // Notices may be lost: whoever waits for one looks for himself after a while.
      this.#waiting.clear();
    } finally {
      this.#isSending = false;
    }
  }

  #receive({ payload }: Notification): void {
    const notices = fromPayload(payload ?? '');
    if (notices === undefined || notices.origin === this.#origin) return;
    for (const [taskId, version] of notices.changes) {
      for (const { listener } of this.#watchers) listener({ taskId, version });
    }
  }
}

function toPayloads(origin: string, changes: ReadonlyMap<string, number>): string[] {
  const payloads: string[] = [];
  let payload = '';
  for (const change of changes) {
    const text = JSON.stringify(change);
    const size = Buffer.byteLength(payload) + Buffer.byteLength(text);
    if (payload !== '' && size > payloadLimit) {
      payloads.push(`${payload}]`);
      payload = '';
    }
    payload += payload === '' ? `[${JSON.stringify(origin)},${text}` : `,${text}`;
  }
  return [...payloads, `${payload}]`];
}

/** Undefined for what is no notice of ours: anybody with access may notify. */
function fromPayload(
  payload: string,
): { origin: string; changes: [taskId: string, version: number][] } | undefined {
  try {
    const [origin, ...changes] = JSON.parse(payload) as [string, ...[string, number][]];
    const isValid = changes.every(
      (change) =>
        Array.isArray(change) && typeof change[0] === 'string' && typeof change[1] === 'number',
    );
    return isValid && typeof origin === 'string' ? { origin, changes } : undefined;
  } catch {
    return undefined;
  }
}

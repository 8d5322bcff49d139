import { createHash } from 'node:crypto';
import type { Caller } from '../../agents/index.ts';
import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore, Store } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';

const space = 'bus-cancel-wishes';
const oneDay = 24 * 60 * 60 * 1000;

/** Wishes to cancel tasks that have not come out of the queue yet. */
export class CancelWishes {
  readonly #records: RecordStore;
  readonly #scheduler: Scheduler;
  readonly #agent: string;
  /** Whether there may be any: where nobody else writes, that is known without looking. */
  #mayExist: boolean;

  constructor(options: { store: Store; scheduler: Scheduler; agent: string }) {
    this.#records = options.store.records;
    this.#mayExist = options.store.shared;
    this.#scheduler = options.scheduler;
    this.#agent = options.agent;
  }

  async start(): Promise<void> {
    const kept = await this.#records.list({ space, limit: 1, now: this.#scheduler.now() });
    if (kept.length > 0) this.#mayExist = true;
  }

  /** Otherwise there is no need to ask for one. */
  get mayExist(): boolean {
    return this.#mayExist;
  }

  async keep(correlationId: string, caller: Caller): Promise<void> {
    const now = this.#scheduler.now();
    const key = this.#key(correlationId, caller);
    const value = Json.of<JsonValue>(true);
    this.#mayExist = true;
    await this.#records.write([{ space, key, value, expiresAt: now + oneDay }], now);
  }

  /** Whether the caller wished its task cancelled; asking uses the wish up. */
  async take(correlationId: string | undefined, caller: Caller): Promise<boolean> {
    if (correlationId === undefined || !this.#mayExist) return false;
    const now = this.#scheduler.now();
    const key = this.#key(correlationId, caller);
    const found = await this.#records.get(space, key, now);
    if (found === undefined) return false;
    await this.#records.write([{ space, key }], now);
    return true;
  }

  #key(correlationId: string, { tenant, subject }: Caller): string {
    const parts = JSON.stringify([this.#agent, tenant, subject, correlationId]);
    return createHash('sha256').update(parts).digest('base64url');
  }
}

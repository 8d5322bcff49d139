import { hash } from 'node:crypto';
import type { Caller } from '../../agents/index.ts';
import { z } from 'zod';
import { Json, isJsonObject } from '../../protocol/index.ts';
import { Deadline, KeyedQueue, repeat } from '../../time/index.ts';
import { ownerKey, type RecordWrite, type Store, type StoredRecord } from '../../store/index.ts';
import type { Engine, Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Assistant } from '../assistant.ts';
import { loadState } from '../tracker/state.ts';
import { inactivityCommand, type InactivityTimerFactory } from './conversations.ts';

/**
 * The agent whose conversations have timers, and the dependencies of the timers.
 * @example
 * const options: InactivityTimersOptions = {
 *   agent: 'bank', assistant: () => bank, scheduler: systemScheduler, logger,
 * };
 */
export interface InactivityTimersOptions {
  /** The agent's name in owner keys. */
  readonly agent: string;
  /** The current assistant. Without one, due timers wait. */
  readonly assistant: () => Assistant | undefined;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

const space = 'assistant-inactivity';
/** Milliseconds between two polls for due timers. */
const pollMs = 10_000;
/** Timers read per poll. */
const batch = 100;
/** Maximum number of concurrent commands of timers. */
const maxConcurrent = 8;
/** Milliseconds until a replica's claim on a timer expires; doubled with each attempt. */
const claimMs = 60_000;
const maxDoublings = 8;
/** Milliseconds to wait for the command that records inactivity. A later poll checks a queued command. */
const commandTimeoutMs = 10_000;
/** Milliseconds until the next check of a timer while sessions are configured not to expire. */
const noExpiryMs = 24 * 60 * 60 * 1000;

/** The payload of a timer's record. */
const timerSchema = z.object({
  id: z.string(),
  tenant: z.string(),
  subject: z.string(),
  contextId: z.string(),
  attempts: z.number(),
});
type Timer = z.infer<typeof timerSchema>;

/**
 * Inactivity timers, one per conversation, persisted in the store. They survive restarts, and any replica
 * can claim a due timer. The conversation stores the id of its current timer; other timers are void.
 *
 * - **armed**: a record, sorted by due time. New messages don't change it. When it becomes due, the
 *   replica moves it to the time at which the conversation becomes inactive.
 * - **claimed**: due and claimed by one replica, which moves the due time by `claimMs`.
 * - **deleted**: inactivity is recorded, the conversation is deleted, or it has another timer.
 *
 * Inactivity is recorded exactly once even if two replicas claim a timer: the commands are queued in the
 * conversation, and the second one finds the timer void.
 * @example
 * const assistant = () => bank;
 * const timers = new InactivityTimers({ agent: 'bank', assistant, scheduler: systemScheduler, logger });
 * timers.start({ engine, store });
 */
export class InactivityTimers implements InactivityTimerFactory {
  readonly #options: InactivityTimersOptions;
  #served: { readonly engine: Engine; readonly store: Store } | undefined;
  #polling: { stop(): void } | undefined;
  #currentPoll: Promise<void> = Promise.resolve();
  readonly #queue = new KeyedQueue({ total: maxConcurrent });
  readonly #stopping = new AbortController();

  constructor(options: InactivityTimersOptions) {
    this.#options = options;
  }

  start(served: { readonly engine: Engine; readonly store: Store }): void {
    this.#served = served;
    const { scheduler, logger } = this.#options;
    const poll = (): Promise<void> => (this.#currentPoll = this.#poll());
    this.#polling = repeat(pollMs, poll, {
      timers: scheduler,
      onError: (error) => logger.error({ error }, 'assistant.inactivity.failed'),
    });
  }

  /** Stops polling. Turns that end later still arm timers. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#polling?.stop();
    await this.#currentPoll.catch(() => undefined);
  }

  arm(
    { tenant, subject }: Caller,
    contextId: string,
    at: number,
  ): ReturnType<InactivityTimerFactory['arm']> {
    if (this.#served === undefined || !Number.isFinite(at)) return undefined;
    const id = this.#options.scheduler.uuid();
    const record = recordOf({ id, tenant, subject, contextId, attempts: 0 }, at);
    return { id, record };
  }

  /** Handles due timers with bounded concurrency. */
  async #poll(): Promise<void> {
    const { scheduler, assistant } = this.#options;
    for (let isMore = true; isMore && !this.#stopping.signal.aborted;) {
      if (this.#served === undefined || assistant() === undefined) return;
      const now = scheduler.now();
      const first = await this.#served.store.records.list({ space, limit: batch, now });
      const due = first.filter(({ key }) => timeOf(key) <= now);
      const handled = due.map((record) => this.#queue.run(record.key, () => this.#handle(record)));
      await Promise.all(handled);
      isMore = due.length === batch;
    }
  }

  async #handle(record: StoredRecord): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { scheduler, logger } = this.#options;
    const { data: timer, error: problem } = timerSchema.safeParse(record.value.value);
    if (timer === undefined) {
      logger.error({ key: record.key, error: problem }, 'assistant.inactivity.failed');
      await this.#write([{ space, key: record.key, ifVersion: record.version }]);
      return;
    }
    const claimed = await this.#claim(record, timer);
    if (claimed === undefined) return;
    try {
      if ((await this.#dueAt(timer)) <= scheduler.now()) await this.#record(timer);
      await this.#rearm(claimed, timer);
    } catch (error) {
      const { contextId, attempts } = timer;
      // The timer is retried when the claim expires.
      logger.warn({ contextId, attempts, error }, 'assistant.inactivity.record_failed');
    }
  }

  /** Claims the timer by moving its due time. Undefined if another replica was first. */
  async #claim({ key, version }: StoredRecord, timer: Timer): Promise<string | undefined> {
    const attempts = Math.min(timer.attempts + 1, maxDoublings);
    const until = this.#options.scheduler.now() + claimMs * 2 ** timer.attempts;
    const moved = recordOf({ ...timer, attempts }, until);
    const isOurs = await this.#write([{ space, key, ifVersion: version }, moved]);
    return isOurs ? moved.key : undefined;
  }

  /** When the conversation becomes inactive; undefined if the timer is void. */
  async #inactiveAt({ id, tenant, subject, contextId }: Timer): Promise<number | undefined> {
    const owner = ownerKey({ agent: this.#options.agent, tenant, subject });
    const context = await this.#served?.store.loadContext(owner, contextId);
    const tracker = context?.value?.value;
    if (!isJsonObject(tracker) || loadState(tracker).timer !== id) return undefined;
    const assistant = this.#options.assistant();
    // Without a model, only void timers are known: the others are retried when their claims expire.
    if (assistant === undefined) throw new Error('no model is loaded');
    return assistant.inactiveAt(tracker);
  }

  /** Infinity for a void timer. */
  async #dueAt(timer: Timer): Promise<number> {
    return (await this.#inactiveAt(timer)) ?? Infinity;
  }

  /** Queues the command that records inactivity. */
  async #record({ id, tenant, subject, contextId }: Timer): Promise<void> {
    using deadline = new Deadline({
      signal: this.#stopping.signal,
      milliseconds: commandTimeoutMs,
      reason: () => new Error(`the command did not end within ${commandTimeoutMs} ms`),
    });
    const caller = { tenant, subject, method: 'channel' };
    const { signal } = deadline;
    await this.#served?.engine.command(
      { caller, contextId },
      inactivityCommand,
      { timer: id },
      { signal },
    );
  }

  /** Deletes a void timer; arms any other timer again. */
  async #rearm(claimed: string, timer: Timer): Promise<void> {
    const at = await this.#inactiveAt(timer);
    const later = Number.isFinite(at) ? at : this.#options.scheduler.now() + noExpiryMs;
    await this.#write([
      { space, key: claimed },
      ...(at === undefined ? [] : [recordOf({ ...timer, attempts: 0 }, later ?? 0)]),
    ]);
  }

  async #write(writes: Parameters<Store['records']['write']>[0]): Promise<boolean> {
    const { scheduler } = this.#options;
    return (await this.#served?.store.records.write(writes, scheduler.now())) ?? false;
  }
}

/** The record of a timer. Its key sorts by due time and is unique per timer and time. */
function recordOf(timer: Timer, at: number): RecordWrite & { readonly key: string } {
  const name = hash('sha256', timer.id, 'base64url').slice(0, 22);
  const key = `${String(Math.ceil(at)).padStart(15, '0')}-${name}`;
  return { space, key, value: Json.of(timer) };
}

function timeOf(key: string): number {
  return Number(key.slice(0, key.indexOf('-')));
}

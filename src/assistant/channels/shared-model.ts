import { z } from 'zod';
import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { KeyedQueue, repeat } from '../../time/index.ts';

/** Which model to serve: none, the project folder, or a packed one. */
export type ModelSource = 'none' | 'folder' | { readonly file: string };

/** The record in the store that requests a model of all replicas. */
const changeSchema = z.object({
  id: z.string(),
  wanted: z.union([z.literal('none'), z.literal('folder'), z.object({ file: z.string() })]),
});

export interface SharedModelOptions {
  readonly records: RecordStore;
  /** The fingerprint of the model that the process was started with. */
  readonly base: string;
  /** Serves another model. */
  readonly serve: (wanted: ModelSource) => Promise<void>;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Milliseconds between two polls of the store. @default 1_000 */
  readonly pollMs?: number;
}

const space = 'assistant-model';
/** Milliseconds until a failed change is retried. */
const retryMs = 30_000;

/**
 * The model that all replicas of an assistant serve. The replica that changes it writes a change
 * request to the store, and the others follow. Requests apply to processes that were started with the
 * same model: a rollout of another model ignores them and doesn't affect the old replicas.
 *
 * - **following**: polls the store.
 * - **stopped**: doesn't poll any more.
 */
export class SharedModel {
  readonly #options: SharedModelOptions;
  #polling: { stop(): void } | undefined;
  /** Serializes reading, changing and publishing the model. */
  readonly #queue = new KeyedQueue();
  /** The last change request that was applied, or failed and is not retried before `#retryAt`. */
  #lastChange: string | undefined;
  #retryAt = Infinity;

  constructor(options: SharedModelOptions) {
    this.#options = options;
  }

  /** Polls at once, so that a new replica serves the same model as the others. */
  async start(): Promise<void> {
    const { scheduler, pollMs = 1_000, logger } = this.#options;
    const poll = (): Promise<void> => this.#queue.run('model', () => this.#poll());
    // Keep serving the current model; the next poll retries.
    const onError = (error: unknown): void =>
      logger.error({ error }, 'assistant.model_sync_failed');
    await poll().catch(onError);
    this.#polling = repeat(pollMs, poll, { timers: scheduler, onError });
  }

  async stop(): Promise<void> {
    this.#polling?.stop();
    await this.#queue.idle();
  }

  /** Serves another model and requests it of the other replicas. */
  change(wanted: ModelSource): Promise<void> {
    const { records, base, scheduler, serve } = this.#options;
    return this.#queue.run('model', async () => {
      await serve(wanted);
      const id = scheduler.uuid();
      const value = Json.of<JsonValue>({ id, wanted });
      await records.write([{ space, key: base, value }], scheduler.now());
      this.#lastChange = id;
    });
  }

  async #poll(): Promise<void> {
    const { records, base, scheduler, serve } = this.#options;
    const now = scheduler.now();
    const found = await records.get(space, base, now);
    const change = found && changeSchema.parse(found.value.value);
    if (change === undefined || (change.id === this.#lastChange && now < this.#retryAt)) return;
    this.#lastChange = change.id;
    this.#retryAt = now + retryMs;
    await serve(change.wanted);
    this.#retryAt = Infinity;
  }
}

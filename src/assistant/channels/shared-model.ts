import { z } from 'zod';
import { Json, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { KeyedQueue, repeat } from '../../time/index.ts';

/** Which model is to be served: none, that of the project folder, or a packed one. */
export type WantedModel = 'none' | 'folder' | { readonly file: string };

/** What whoever changed the model leaves in the store. */
const wishSchema = z.object({
  id: z.string(),
  wanted: z.union([z.literal('none'), z.literal('folder'), z.object({ file: z.string() })]),
});

export interface SharedModelOptions {
  readonly records: RecordStore;
  /** The fingerprint of the model that the process was started with. */
  readonly base: string;
  /** Serves another model. */
  readonly serve: (wanted: WantedModel) => Promise<void>;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Milliseconds between two looks at what others wish. @default 1_000 */
  readonly pollMs?: number;
}

const space = 'assistant-model';
/** Milliseconds until a model that could not be served is tried again. */
const retryMs = 30_000;

/**
 * The model that all replicas of an assistant serve. Whoever changes it leaves a wish in the store, and
 * the others follow. Wishes hold among processes that were started with the same model: a rollout of
 * another one begins anew, and leaves those that still run the former alone.
 *
 * - **following**: looks at the store every so often.
 * - **stopped**: no longer.
 */
export class SharedModel {
  readonly #options: SharedModelOptions;
  #polling: { stop(): void } | undefined;
  /** One thing at a time: what is looked at, changed and told must be of one moment. */
  readonly #steps = new KeyedQueue();
  /** The last wish that was fulfilled, or is not to be tried again before `#retryAt`. */
  #known: string | undefined;
  #retryAt = Infinity;

  constructor(options: SharedModelOptions) {
    this.#options = options;
  }

  /** Looks at once, so that a process that comes later serves what the others do. */
  async start(): Promise<void> {
    const { scheduler, pollMs = 1_000, logger } = this.#options;
    const look = (): Promise<void> => this.#steps.run('model', () => this.#look());
    // The present model goes on: it is better than none, and another look follows.
    const onError = (error: unknown): void =>
      logger.error({ error }, 'assistant.model_not_followed');
    await look().catch(onError);
    this.#polling = repeat(pollMs, look, { timers: scheduler, onError });
  }

  async stop(): Promise<void> {
    this.#polling?.stop();
    await this.#steps.idle();
  }

  /** Serves another model, and tells the others. */
  change(wanted: WantedModel): Promise<void> {
    const { records, base, scheduler, serve } = this.#options;
    return this.#steps.run('model', async () => {
      await serve(wanted);
      const id = scheduler.uuid();
      const value = Json.of<JsonValue>({ id, wanted });
      await records.write([{ space, key: base, value }], scheduler.now());
      this.#known = id;
    });
  }

  async #look(): Promise<void> {
    const { records, base, scheduler, serve } = this.#options;
    const now = scheduler.now();
    const found = await records.get(space, base, now);
    const wish = found && wishSchema.parse(found.value.value);
    if (wish === undefined || (wish.id === this.#known && now < this.#retryAt)) return;
    this.#known = wish.id;
    this.#retryAt = now + retryMs;
    await serve(wish.wanted);
    this.#retryAt = Infinity;
  }
}

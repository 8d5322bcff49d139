import type { Embedder } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Neighbour } from '../../search/index.ts';
import type { VectorStore } from '../../store/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { Deadline, until } from '../../time/index.ts';
import type { Clock } from '../agent.ts';
import { embedderLoader, type EmbeddingModelSource } from '../llm/model-source.ts';

/** Options of a search by meaning. */
export interface SemanticIndexOptions {
  readonly vectors: VectorStore;
  /** The kind of texts, which separates their vectors in the store. */
  readonly space: string;
  readonly model: EmbeddingModelSource;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock;
}

/** A text, with a key that is unique for its owner. */
export interface EmbeddedText {
  readonly key: string;
  readonly text: string;
}

/** Maximum characters of a text that are embedded. */
const maxTextLength = 8_000;
/** Number of texts whose vectors are written together. */
const batch = 64;
/** Maximum wait of a caller for the model, in milliseconds. */
const timeoutMs = 15_000;
/** Milliseconds without requests after a failure. */
const pauseMs = 30_000;

/**
 * Finds texts by their meaning: an embedding model computes vectors, the store keeps and compares them.
 * The index is **ready** until the model fails, then **paused** for 30 s. While it is paused, nothing
 * is embedded, `nearest` returns undefined, and the caller searches by words.
 */
export class SemanticIndex {
  readonly #options: SemanticIndexOptions;
  readonly #load: () => Promise<Embedder>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #pausedUntil = 0;

  constructor(options: SemanticIndexOptions) {
    this.#options = options;
    this.#load = embedderLoader(`embeddings of ${options.space}`, options.model);
    this.#clock = options.clock ?? Date;
    this.#logger = options.logger ?? defaultLogger;
  }

  /** Returns false while the model is unavailable; then do not call the other methods. */
  async isReady(): Promise<boolean> {
    if (this.#clock.now() < this.#pausedUntil) return false;
    try {
      await this.#load();
      return true;
    } catch (error) {
      // For example, a key is missing in the environment.
      this.#pause(error);
      return false;
    }
  }

  /**
   * Embeds texts and stores their vectors, in order, until all are stored or the model fails. Resolves
   * with the number of stored texts. A text that is too long for the model counts as stored, and is
   * never found.
   */
  async add(owner: string, texts: readonly EmbeddedText[], signal?: AbortSignal): Promise<number> {
    let stored = 0;
    for (let at = 0; at < texts.length; at += batch) {
      const some = texts.slice(at, at + batch);
      const vectors = await this.#embed(
        some.map(({ text }) => text),
        signal,
      );
      if (vectors === undefined) break;
      const { vectors: store } = this.#options;
      await store.write(
        await this.#scope(owner),
        some.map(({ key }, index) => ({ key, vector: vectors[index] ?? new Float32Array(0) })),
      );
      stored += some.length;
    }
    return stored;
  }

  /** The nearest texts of an owner, best first; undefined while the model is unavailable. */
  async nearest(
    owner: string,
    query: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<readonly Neighbour[] | undefined> {
    const [vector] = (await this.#embed([query], signal)) ?? [];
    if (vector === undefined || vector.length === 0) return undefined;
    return this.#options.vectors.nearest(await this.#scope(owner), vector, limit);
  }

  /** The greatest key of an owner whose vector is stored. */
  async lastKey(owner: string): Promise<string | undefined> {
    return this.#options.vectors.lastKey(await this.#scope(owner));
  }

  /** The keys of an owner whose vectors are stored, up to `limit`. */
  async keys(owner: string, limit: number): Promise<readonly string[]> {
    return this.#options.vectors.keys(await this.#scope(owner), { limit });
  }

  /** Deletes the vectors of an owner: all, or those of the keys. */
  delete(owner: string, keys?: readonly string[]): Promise<void> {
    const { vectors, space } = this.#options;
    return vectors.delete({ space, owner, ...(keys !== undefined && { keys }) });
  }

  async #scope(owner: string) {
    return { space: this.#options.space, owner, model: (await this.#load()).modelId };
  }

  /** Returns an empty vector for a text that is too long for the model; undefined if the model fails. */
  async #embed(
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[] | undefined> {
    if (this.#clock.now() < this.#pausedUntil) return undefined;
    const cut = texts.map((text) => text.slice(0, maxTextLength));
    try {
      return await this.#ask(cut, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTooLong(error)) return this.#pause(error);
    }
    const vectors: Float32Array[] = [];
    for (const text of cut) {
      try {
        vectors.push(...(await this.#ask([text], signal)));
      } catch (error) {
        signal?.throwIfAborted();
        if (!isTooLong(error)) return this.#pause(error);
        vectors.push(new Float32Array(0));
      }
    }
    return vectors;
  }

  async #ask(
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[]> {
    const embedder = await this.#load();
    const reason = () => {
      const message = `the embedding model did not answer within ${timeoutMs / 1000} s`;
      return new LegateError('REQUEST_TIMEOUT', message);
    };
    using deadline = new Deadline({ signal, milliseconds: timeoutMs, reason });
    const embedding = embedder.embed(texts, { signal: deadline.signal, logger: this.#logger });
    return await until(embedding, deadline.signal);
  }

  #pause(error: unknown): undefined {
    this.#pausedUntil = this.#clock.now() + pauseMs;
    const { space } = this.#options;
    this.#logger.warn({ space, error, used: 'words', retryAfterMs: pauseMs }, 'embedding.failed');
  }
}

function isTooLong(error: unknown): boolean {
  return error instanceof LegateError && error.code === 'CONTEXT_TOO_LONG';
}

import type { Embedder } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Neighbour } from '../../search/index.ts';
import type { VectorStore } from '../../store/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import { Deadline } from '../../time/index.ts';
import type { Clock } from '../agent.ts';
import { embedderLoader, type EmbeddingModelSource } from '../llm/model-source.ts';

/** What a search by meaning needs. */
export interface SemanticIndexOptions {
  readonly vectors: VectorStore;
  /** What the vectors are of. */
  readonly space: string;
  readonly model: EmbeddingModelSource;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock;
}

/** A text, by a key that its owner has once. */
export interface EmbeddedText {
  readonly key: string;
  readonly text: string;
}

/** Characters of a text that are embedded. */
const maxTextLength = 8_000;
/** Texts whose vectors are written together. */
const batch = 64;
/** Milliseconds that a caller waits for the model. */
const timeoutMs = 15_000;
/** Milliseconds without a request after a failure. */
const pauseMs = 30_000;

/**
 * Texts, found by their meaning: an embedding model makes vectors of them, the store keeps and compares
 * them. It is **ready** until the model fails, then **paused** for 30 s: nothing is embedded meanwhile,
 * `nearest` returns undefined, and the caller searches by words.
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

  /** False while the model is not available; then nothing else is to be called. */
  async isReady(): Promise<boolean> {
    if (this.#clock.now() < this.#pausedUntil) return false;
    try {
      await this.#load();
      return true;
    } catch (error) {
      // Such as a key that is missing in the environment.
      this.#pause(error);
      return false;
    }
  }

  /**
   * Embeds texts and stores their vectors, in order, until all are stored or the model fails; resolves
   * with how many are. A text that is too long for the model counts as stored, and is never found.
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

  /** The nearest texts of an owner, best first; undefined while the model is not available. */
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

  /** The keys of an owner whose vectors are stored, at most so many. */
  async keys(owner: string, limit: number): Promise<readonly string[]> {
    return this.#options.vectors.keys(await this.#scope(owner), { limit });
  }

  /** Deletes the vectors of an owner: those of the keys, or all. */
  delete(owner: string, keys?: readonly string[]): Promise<void> {
    const { vectors, space } = this.#options;
    return vectors.delete({ space, owner, ...(keys !== undefined && { keys }) });
  }

  async #scope(owner: string) {
    return { space: this.#options.space, owner, model: (await this.#load()).modelId };
  }

  /** An empty vector for a text that the model can't take; undefined when the model fails. */
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
    const reason = () => new LegateError('REQUEST_TIMEOUT', 'the embedding model is too slow');
    using deadline = new Deadline({ signal, milliseconds: timeoutMs, reason });
    return embedder.embed(texts, { signal: deadline.signal, logger: this.#logger });
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

import { setImmediate } from 'node:timers/promises';
import type { Passage } from './passages.ts';
import { SearchIndex } from './search-index.ts';
import { dot, fuse, normalised } from './vectors.ts';

/** Embeds texts. Returns the vectors in the order of the texts. */
export type Embed = (
  texts: readonly string[],
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<readonly Float32Array[]>;

/** A passage that a search found. */
export interface FoundPassage {
  readonly passage: Passage;
  /**
   * From 0 to 1: the similarity of the embeddings, or without embeddings the share of the query that
   * the passage covers.
   */
  readonly score: number;
  /** What the score measures. It is `words` if the query could not be embedded. */
  readonly by: 'meaning' | 'words';
}

/** Passages that are indexed per iteration of the event loop. */
const slice = 20;
const candidates = 20;

/**
 * Searches passages by words (BM25) and, with an embedding model, by meaning. `embedPassages` can
 * return cached vectors, so that the model embeds only changed texts.
 * @example
 * const index = await PassageIndex.build(passagesOf({ source: 'faq.md', text }));
 * const [best] = await index.search('What does a transfer cost?');
 */
export class PassageIndex {
  readonly #words = new SearchIndex<number>((at) => indexedText(this.#passages[at]));
  readonly #passages: readonly Passage[];
  readonly #embed: Embed | undefined;
  /** All normalised vectors, concatenated. */
  #vectors = new Float32Array(0);
  #dimensions = 0;

  private constructor(passages: readonly Passage[], embed: Embed | undefined) {
    this.#passages = passages;
    this.#embed = embed;
  }

  /** Indexes passages without blocking the event loop. */
  static async build(
    passages: readonly Passage[],
    options: {
      /** Embeds the passages for search by meaning. @default none: search by words only */
      readonly embedPassages?: Embed | undefined;
      /** Embeds queries. @default `embedPassages` */
      readonly embedQuery?: Embed | undefined;
      readonly signal?: AbortSignal | undefined;
    } = {},
  ): Promise<PassageIndex> {
    const { embedPassages: embed, embedQuery = embed, signal } = options;
    const index = new PassageIndex(passages, embedQuery);
    for (let at = 0; at < passages.length; at += 1) {
      index.#words.add(at);
      if (at % slice === slice - 1) await setImmediate(undefined, { signal });
    }
    if (embed !== undefined && passages.length > 0) {
      index.#setVectors(await embed(passages.map(indexedText), { signal }));
    }
    return index;
  }

  /** Whether search by meaning is enabled. */
  get isEmbedded(): boolean {
    return this.#dimensions > 0;
  }

  /** Returns the best first. Does no I/O without an embedding model. */
  async search(
    query: string,
    options: { readonly limit?: number; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<readonly FoundPassage[]> {
    const { limit = 5, signal } = options;
    const byWords = this.#words.search(query).slice(0, candidates);
    const fits = new Map(byWords.map(({ document, fit }) => [document, fit]));
    const similar = await this.#similarities(query, signal);
    if (similar === undefined)
      return this.#found(
        byWords.slice(0, limit).map(({ document }) => document),
        fits,
        'words',
      );
    const byMeaning = Array.from(similar.keys())
      .toSorted((one, other) => (similar[other] ?? 0) - (similar[one] ?? 0))
      .slice(0, candidates);
    const merged = fuse([byWords.map(({ document }) => document), byMeaning]).slice(0, limit);
    const scores = new Map(merged.map(({ item: at }) => [at, similar[at] ?? 0]));
    return this.#found([...scores.keys()], scores, 'meaning');
  }

  #found(
    places: readonly number[],
    scores: ReadonlyMap<number, number>,
    by: FoundPassage['by'],
  ): readonly FoundPassage[] {
    return places.flatMap((at) => {
      const passage = this.#passages[at];
      return passage === undefined ? [] : [{ passage, score: scores.get(at) ?? 0, by }];
    });
  }

  /** The cosine similarity of each passage to the query. */
  async #similarities(
    query: string,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array | undefined> {
    const dimensions = this.#dimensions;
    if (this.#embed === undefined || dimensions === 0) return undefined;
    const [vector] = await this.#embed([query], { signal });
    if (vector?.length !== dimensions) return undefined;
    const asked = normalised(vector);
    const vectors = this.#vectors;
    return Float32Array.from(this.#passages, (_, at) =>
      dot(vectors.subarray(at * dimensions, (at + 1) * dimensions), asked),
    );
  }

  #setVectors(vectors: readonly Float32Array[]): void {
    const dimensions = vectors[0]?.length ?? 0;
    if (
      vectors.length !== this.#passages.length ||
      vectors.some(({ length }) => length !== dimensions)
    ) {
      throw new Error(
        `the embedding model returned ${vectors.length} vectors for ${this.#passages.length} texts, ` +
          'or vectors of different lengths',
      );
    }
    this.#dimensions = dimensions;
    this.#vectors = new Float32Array(dimensions * vectors.length);
    vectors.forEach((vector, at) => this.#vectors.set(normalised(vector), at * dimensions));
  }
}

/** The indexed text of a passage. */
export function indexedText(passage: Passage | undefined): string {
  if (passage === undefined) return '';
  return passage.title === '' ? passage.text : `${passage.title}\n${passage.text}`;
}

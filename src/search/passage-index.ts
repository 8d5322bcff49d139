import { setImmediate } from 'node:timers/promises';
import type { Passage } from './passages.ts';
import { SearchIndex } from './search-index.ts';
import { dot, fuse, normalised } from './vectors.ts';

/** Turns texts into vectors, in their order. */
export type Embed = (
  texts: readonly string[],
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<readonly Float32Array[]>;

/** A passage that a search found. */
export interface FoundPassage {
  readonly passage: Passage;
  /** From 0 to 1: the similarity of meaning where texts are embedded, else the covered part of the query. */
  readonly score: number;
}

/** Passages that are added between two turns of the event loop. */
const slice = 20;
const candidates = 20;

/**
 * Passages, found by their words (BM25) and, with an embedding model, by their meaning. The vectors of
 * texts that are known already can be passed in, so that only changed texts are embedded.
 * @example
 * const index = await PassageIndex.build(passagesOf({ source: 'faq.md', text }));
 * const [best] = await index.search('What does a transfer cost?');
 */
export class PassageIndex {
  readonly #words = new SearchIndex<number>((at) => indexedText(this.#passages[at]));
  readonly #passages: readonly Passage[];
  readonly #embed: Embed | undefined;
  /** One normalised vector after the other. */
  #vectors = new Float32Array(0);
  #dimensions = 0;

  private constructor(passages: readonly Passage[], embed: Embed | undefined) {
    this.#passages = passages;
    this.#embed = embed;
  }

  /** Indexes passages without holding up the event loop. */
  static async build(
    passages: readonly Passage[],
    options: {
      /** Embeds the passages, to find them by their meaning, too. @default none: by their words alone */
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

  /** Whether passages are found by their meaning, too. */
  get isEmbedded(): boolean {
    return this.#dimensions > 0;
  }

  /** Best first. Without an embedding model it takes no time besides its own work. */
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
      );
    const byMeaning = Array.from(similar.keys())
      .toSorted((one, other) => (similar[other] ?? 0) - (similar[one] ?? 0))
      .slice(0, candidates);
    const merged = fuse([byWords.map(({ document }) => document), byMeaning]).slice(0, limit);
    const scores = new Map(merged.map(({ item: at }) => [at, similar[at] ?? 0]));
    return this.#found([...scores.keys()], scores);
  }

  #found(places: readonly number[], scores: ReadonlyMap<number, number>): readonly FoundPassage[] {
    return places.flatMap((at) => {
      const passage = this.#passages[at];
      return passage === undefined ? [] : [{ passage, score: scores.get(at) ?? 0 }];
    });
  }

  /** The cosine of each passage with the query. */
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
      throw new Error('the embedding model returned vectors of another number or length');
    }
    this.#dimensions = dimensions;
    this.#vectors = new Float32Array(dimensions * vectors.length);
    vectors.forEach((vector, at) => this.#vectors.set(normalised(vector), at * dimensions));
  }
}

/** What is indexed of a passage. */
export function indexedText(passage: Passage | undefined): string {
  if (passage === undefined) return '';
  return passage.title === '' ? passage.text : `${passage.title}\n${passage.text}`;
}

/** A vector's key and its similarity. */
export interface Neighbour {
  readonly key: string;
  /** The cosine of the angle between both vectors, from -1 to 1. */
  readonly similarity: number;
}

/**
 * Scales a vector to length 1, so that the cosine of two vectors is their dot product.
 * @example normalised(Float32Array.of(3, 4)) // [0.6, 0.8]
 */
export function normalised(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const each of vector) sum += each * each;
  const length = Math.sqrt(sum);
  return length === 0 ? vector : vector.map((each) => each / length);
}

/** The dot product of two vectors of equal length. */
export function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

/**
 * Keeps the nearest neighbours of a vector among all offered vectors. Ignores vectors of another
 * length, which come from another model.
 * @example
 * const nearest = new Nearest(query, 5);
 * for (const { key, vector } of rows) nearest.offer(key, vector);
 * nearest.best[0]?.similarity;
 */
export class Nearest {
  readonly #vector: Float32Array;
  readonly #limit: number;
  /** Best first. */
  readonly #best: Neighbour[] = [];

  constructor(vector: Float32Array, limit: number) {
    this.#vector = normalised(vector);
    this.#limit = limit;
  }

  get best(): readonly Neighbour[] {
    return this.#best;
  }

  /** `vector` must be normalised. */
  offer(key: string, vector: Float32Array): void {
    if (vector.length !== this.#vector.length) return;
    const similarity = dot(vector, this.#vector);
    const at = this.#best.findIndex((each) => each.similarity < similarity);
    if (at < 0 && this.#best.length >= this.#limit) return;
    this.#best.splice(at < 0 ? this.#best.length : at, 0, { key, similarity });
    if (this.#best.length > this.#limit) this.#best.pop();
  }
}

/** Damps the weight of the first ranks. */
const rankOffset = 60;

/**
 * Merges rankings of the same items by reciprocal rank fusion, which needs no comparable scores.
 * Returns the best first.
 * @example fuse([byWords, byMeaning])[0]?.item
 */
export function fuse<T>(
  rankings: readonly (readonly T[])[],
): readonly { readonly item: T; readonly score: number }[] {
  const scores = new Map<T, number>();
  for (const ranking of rankings) {
    ranking.forEach((item, rank) => {
      scores.set(item, (scores.get(item) ?? 0) + 1 / (rankOffset + rank));
    });
  }
  return Array.from(scores, ([item, score]) => ({ item, score })).toSorted(
    (one, other) => other.score - one.score,
  );
}

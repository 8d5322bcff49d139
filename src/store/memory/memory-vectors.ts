import { Nearest, type Neighbour, normalised } from '../../search/index.ts';
import type { StoredVector, VectorScope, VectorStore } from '../contract.ts';
import { compareText, scoped } from '../encoding.ts';

/** Vectors by space and owner, then by model, then by key. */
export class MemoryVectors implements VectorStore {
  readonly #owners = new Map<string, Map<string, Map<string, Float32Array>>>();

  async write(scope: VectorScope, vectors: readonly StoredVector[]): Promise<void> {
    const owner = scoped(scope.space, scope.owner);
    const models = this.#owners.get(owner) ?? new Map<string, Map<string, Float32Array>>();
    const kept = models.get(scope.model) ?? new Map<string, Float32Array>();
    for (const { key, vector } of vectors) kept.set(key, normalised(vector));
    this.#owners.set(owner, models.set(scope.model, kept));
  }

  async keys(
    scope: VectorScope,
    { after, limit }: Parameters<VectorStore['keys']>[1],
  ): Promise<readonly string[]> {
    const keys = this.#keys(scope);
    return keys.filter((key) => after === undefined || compareText(key, after) > 0).slice(0, limit);
  }

  async lastKey(scope: VectorScope): Promise<string | undefined> {
    return this.#keys(scope).at(-1);
  }

  async nearest(
    scope: VectorScope,
    vector: Float32Array,
    limit: number,
  ): Promise<readonly Neighbour[]> {
    const nearest = new Nearest(vector, limit);
    for (const [key, each] of this.#of(scope) ?? []) nearest.offer(key, each);
    return nearest.best;
  }

  async delete({ space, owner, keys }: Parameters<VectorStore['delete']>[0]): Promise<void> {
    const name = scoped(space, owner);
    if (keys === undefined) this.#owners.delete(name);
    for (const vectors of this.#owners.get(name)?.values() ?? []) {
      for (const key of keys ?? []) vectors.delete(key);
    }
  }

  #of({ space, owner, model }: VectorScope): Map<string, Float32Array> | undefined {
    return this.#owners.get(scoped(space, owner))?.get(model);
  }

  #keys(scope: VectorScope): readonly string[] {
    return [...(this.#of(scope)?.keys() ?? [])].toSorted(compareText);
  }
}

import { compareText, lowerBound } from '../encoding.ts';

/** Minimum removed keys before a compaction. */
const mostRemoved = 1_000;

/**
 * New keys are inserted one by one if the sorted list is at least this many times longer. Otherwise the
 * whole list is sorted again.
 */
const fewOf = 16;

/** The position of the first key that is not before another. */
export function positionOf(keys: readonly string[], key: string): number {
  return lowerBound(keys, (each) => compareText(each, key) < 0);
}

/**
 * Keys in list order, sorted lazily on `list`: most spaces of records are written with every turn and
 * never listed, and an insertion into a long list moves all keys behind it.
 *
 * Removed keys stay until they are half of all keys. `has` returns whether a key still exists.
 */
export class SortedKeys {
  readonly #has: (key: string) => boolean;
  #sorted: string[] = [];
  /** Keys added since the last `list`. */
  #added: string[] = [];
  #removed = 0;

  constructor(has: (key: string) => boolean) {
    this.#has = has;
  }

  /** Adds a key that is new or was removed. */
  add(key: string): void {
    this.#added.push(key);
  }

  /** Counts a key that no longer exists. */
  remove(): void {
    this.#removed += 1;
    if (this.#removed < mostRemoved) return;
    if (this.#removed * 2 < this.#sorted.length + this.#added.length) return;
    this.#sorted = this.#sorted.filter(this.#has);
    this.#added = this.#added.filter(this.#has);
    this.#removed = 0;
  }

  /** The keys in order. Can contain removed keys and adjacent duplicates. */
  list(): readonly string[] {
    const added = this.#added;
    this.#added = [];
    if (added.length * fewOf < this.#sorted.length) {
      for (const key of added) this.#sorted.splice(positionOf(this.#sorted, key), 0, key);
    } else if (added.length > 0) {
      this.#sorted = this.#sorted.concat(added).sort(compareText);
    }
    return this.#sorted;
  }
}

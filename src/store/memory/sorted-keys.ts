import { compareText, lowerBound } from '../encoding.ts';

/** Removed keys that are kept before all are looked through. */
const mostRemoved = 1_000;

/** Keys are inserted one by one where there are so many more; else all are sorted. */
const fewOf = 16;

/** The position of the first key that is not before another. */
export function positionOf(keys: readonly string[], key: string): number {
  return lowerBound(keys, (each) => compareText(each, key) < 0);
}

/**
 * Keys in the order of lists, which are put in order when they are listed: most spaces of records are
 * written with every turn and never listed, and one insertion into a long list moves all that follow.
 *
 * Removed keys stay until there are as many as others: `has` says which are left.
 */
export class SortedKeys {
  readonly #has: (key: string) => boolean;
  #sorted: string[] = [];
  /** Since the last list. */
  #added: string[] = [];
  #removed = 0;

  constructor(has: (key: string) => boolean) {
    this.#has = has;
  }

  /** A key that was not there, or was removed. */
  add(key: string): void {
    this.#added.push(key);
  }

  /** Counts a key that `has` denies from now on. */
  remove(): void {
    this.#removed += 1;
    if (this.#removed < mostRemoved) return;
    if (this.#removed * 2 < this.#sorted.length + this.#added.length) return;
    this.#sorted = this.#sorted.filter(this.#has);
    this.#added = this.#added.filter(this.#has);
    this.#removed = 0;
  }

  /** In order. May have removed keys, and some twice, beside each other. */
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

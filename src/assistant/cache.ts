/** An LRU cache keyed by text. */
export class BoundedCache<T> {
  readonly #entries = new Map<string, T>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(text: string, make: () => T): T {
    const known = this.#entries.get(text);
    if (known !== undefined) {
      // A map remembers the order of insertion: moved to the end, the entry is the youngest.
      this.#entries.delete(text);
      this.#entries.set(text, known);
      return known;
    }
    const made = make();
    this.#entries.set(text, made);
    if (this.#entries.size > this.#capacity) {
      const oldest = this.#entries.keys().next();
      if (oldest.done !== true) this.#entries.delete(oldest.value);
    }
    return made;
  }
}

/** Memoizes a function of an object; the result is garbage-collected with the object. */
export function oncePer<Key extends object, T>(make: (key: Key) => T): (key: Key) => T {
  const made = new WeakMap<Key, { readonly value: T }>();
  return (key) => {
    let entry = made.get(key);
    if (entry === undefined) made.set(key, (entry = { value: make(key) }));
    return entry.value;
  };
}

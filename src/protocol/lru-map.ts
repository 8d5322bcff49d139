/** A map of bounded size. It evicts the least recently used entry. */
export class LruMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** The value of a key, which becomes the most recently used. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#move(key, value);
    return value;
  }

  /** The value of a key; creates it if it is missing. */
  getOrMake(key: string, make: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.set(key, made);
    return made;
  }

  set(key: string, value: Value): void {
    this.#move(key, value);
    if (this.#entries.size <= this.#maxEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** A map iterates in the order of insertion, so the most recently used is inserted again. */
  #move(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }
}

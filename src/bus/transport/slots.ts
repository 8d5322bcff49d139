/**
 * The handlers that may run at one time: those of deliveries, and work that reserves its slots. A
 * reservation beyond the last free slot keeps it from the next delivery.
 */
export class Slots {
  readonly #total: number;
  readonly #listeners = new Set<() => void>();
  #running = 0;
  #reserved = 0;

  constructor(total: number) {
    this.#total = total;
  }

  get reserved(): number {
    return this.#reserved;
  }

  get hasRoom(): boolean {
    return this.#running + this.#reserved < this.#total;
  }

  /** Whether there are more reservations than slots that deliveries have left. */
  get isOverbooked(): boolean {
    return this.#running + this.#reserved > this.#total;
  }

  /** Takes a slot for a delivery; false if none is free. */
  take(): boolean {
    if (!this.hasRoom) return false;
    this.#running += 1;
    return true;
  }

  /** The handler of a delivery has ended. */
  give(): void {
    this.#running -= 1;
    this.#changed();
  }

  /** Returns the function that ends the reservation. */
  reserve(): () => void {
    let isReserved = true;
    this.#reserved += 1;
    this.#changed();
    return () => {
      if (!isReserved) return;
      isReserved = false;
      this.#reserved -= 1;
      this.#changed();
    };
  }

  /** Returns the function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

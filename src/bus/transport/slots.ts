/**
 * Limits the handlers that run at one time. Deliveries take slots; other work reserves them. If no slot
 * is free, a reservation gets the next one before any delivery.
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

  /** Whether there are more reservations than slots that deliveries leave free. */
  get isOverbooked(): boolean {
    return this.#running + this.#reserved > this.#total;
  }

  /** Takes a slot for a delivery; false if none is free. */
  take(): boolean {
    if (!this.hasRoom) return false;
    this.#running += 1;
    return true;
  }

  /** Returns the slot of a delivery whose handler has ended. */
  give(): void {
    this.#running -= 1;
    this.#changed();
  }

  /** Reserves a slot; returns the function that ends the reservation. */
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

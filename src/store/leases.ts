/** The leases of replicas, for stores whose replicas are all in one process. */
export class Leases {
  readonly #clock: { now(): number };
  readonly #ends = new Map<string, number>();

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  renew(replica: string, leaseMs: number): void {
    this.#ends.set(replica, this.#clock.now() + leaseMs);
  }

  retire(replica: string): void {
    this.#ends.delete(replica);
  }

  /** With `sparesExpired`, also after the lease has expired, but not once it has retired. */
  isAlive(replica: string, sparesExpired = false): boolean {
    const end = this.#ends.get(replica);
    return end !== undefined && (sparesExpired || end > this.#clock.now());
  }
}

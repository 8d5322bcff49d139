/**
 * Whether other machines can reach the agents of a process. Local at first, where the server listens
 * for this machine only; open for good once any transport listens for others.
 */
export class Reach {
  #isLocalOnly: boolean;

  constructor(isLocalOnly: boolean) {
    this.#isLocalOnly = isLocalOnly;
  }

  get isLocalOnly(): boolean {
    return this.#isLocalOnly;
  }

  /** A further transport listens for other machines. */
  widen(): void {
    this.#isLocalOnly = false;
  }
}

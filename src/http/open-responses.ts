import type { ServerResponse } from 'node:http';

/** The responses of a server that have not been sent to their end. */
export class OpenResponses {
  readonly #open = new Set<ServerResponse>();
  #isClosing = false;
  #finished: (() => void)[] = [];
  #lastAt = performance.now();

  /** When the last request came, by `performance.now()`. */
  get lastAt(): number {
    return this.#lastAt;
  }

  add(response: ServerResponse): void {
    this.#lastAt = performance.now();
    if (this.#isClosing) response.setHeader('connection', 'close');
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) for (const resolve of this.#finished.splice(0)) resolve();
    });
  }

  /** From now on every response closes its connection, also those under way that have no head yet. */
  closeConnections(): void {
    this.#isClosing = true;
    for (const response of this.#open) {
      if (!response.headersSent) response.setHeader('connection', 'close');
    }
  }

  /** Resolves when no response is open. */
  finished(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#finished.push(resolve));
  }
}

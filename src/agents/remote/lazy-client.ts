import type { Client } from '../../client/index.ts';
import { until } from '../../time/index.ts';

/** Connects on first use. All callers share one connection. */
export class LazyClient {
  readonly #connect: () => Promise<Client>;
  #connecting: Promise<Client> | undefined;
  #current: Client | undefined;

  constructor(connect: () => Promise<Client>) {
    this.#connect = connect;
  }

  /** The client, once there is a connection. */
  get current(): Client | undefined {
    return this.#current;
  }

  /** The signal ends the wait only; the connection attempt continues for other callers. */
  get(signal?: AbortSignal): Promise<Client> {
    if (this.#connecting === undefined) {
      const connecting = this.#connect().then(
        (client) => {
          if (this.#connecting === connecting) this.#current = client;
          return client;
        },
        (error: unknown) => {
          // The next call may succeed.
          if (this.#connecting === connecting) this.#connecting = undefined;
          throw error;
        },
      );
      this.#connecting = connecting;
    }
    return until(this.#connecting, signal);
  }

  /**
   * Closes the connection; the next call makes another. Resolves when the messages that were abandoned
   * have been cancelled, which may take no longer than `graceMs`.
   */
  async close(options?: { readonly graceMs?: number }): Promise<void> {
    const [connecting, client] = [this.#connecting, this.#current];
    this.#connecting = undefined;
    this.#current = undefined;
    if (client !== undefined) return client.close(options);
    // Not awaited: fetching a card may take long. Callers of `get` have seen a failure already.
    connecting?.then((late) => late.close()).catch(() => undefined);
    return undefined;
  }
}

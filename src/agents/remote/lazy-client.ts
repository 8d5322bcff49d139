import type { Client, ClientOptions } from '../../client/index.ts';
import { until } from '../../time/index.ts';
import { SignedCard } from './signed-card.ts';

/**
 * Connects on first use. All callers share one connection. With `verifyCard`, each call verifies the card again:
 * once its key is no longer trusted, the client connects anew, with a new card.
 */
export class LazyClient {
  readonly #connect: (options: Pick<ClientOptions, 'verifyCard'>) => Promise<Client>;
  readonly #card: SignedCard | undefined;
  #connecting: Promise<Client> | undefined;
  #current: Client | undefined;

  constructor(
    connect: (options: Pick<ClientOptions, 'verifyCard'>) => Promise<Client>,
    verifyCard?: ClientOptions['verifyCard'],
  ) {
    this.#connect = connect;
    this.#card = verifyCard && new SignedCard(verifyCard);
  }

  /** The client, once there is a connection. */
  get current(): Client | undefined {
    return this.#current;
  }

  /** The signal ends the wait only; the connection attempt continues for other callers. */
  async get(signal?: AbortSignal): Promise<Client> {
    const [known, card] = [this.#current, this.#card];
    if (known !== undefined && card !== undefined && !(await until(card.isTrusted(), signal))) {
      // Calls in flight end first. Another caller may have connected anew already.
      if (this.#current === known) void this.close();
    }
    if (this.#connecting === undefined) {
      const verification = card && { verifyCard: (received: unknown) => card.verify(received) };
      const connecting = this.#connect(verification ?? {}).then(
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

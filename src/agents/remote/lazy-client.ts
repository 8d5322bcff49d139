import type { Client, ClientOptions } from '../../client/index.ts';
import { until } from '../../time/index.ts';
import { SignedCard } from './signed-card.ts';

/**
 * Connects on first use. All callers share one connection. With `verifyCard`, each call verifies the
 * card again: if its key is no longer trusted, the client reconnects with a new card.
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

  /** The client, once connected. */
  get current(): Client | undefined {
    return this.#current;
  }

  /** The signal ends only the wait; the connection attempt continues for other callers. */
  async get(signal?: AbortSignal): Promise<Client> {
    const [known, card] = [this.#current, this.#card];
    if (known !== undefined && card !== undefined && !(await until(card.isTrusted(), signal))) {
      // Closing waits for calls in flight. Another caller may have reconnected already.
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
          // The next call connects again.
          if (this.#connecting === connecting) this.#connecting = undefined;
          throw error;
        },
      );
      this.#connecting = connecting;
    }
    return until(this.#connecting, signal);
  }

  /**
   * Closes the connection; the next call opens another. Resolves when the abandoned messages have been
   * cancelled, after at most `graceMs`.
   */
  async close(options?: { readonly graceMs?: number }): Promise<void> {
    const [connecting, client] = [this.#connecting, this.#current];
    this.#connecting = undefined;
    this.#current = undefined;
    if (client !== undefined) return client.close(options);
    // Not awaited, since fetching a card can take long. Callers of `get` get its failure.
    connecting?.then((late) => late.close()).catch(() => undefined);
    return undefined;
  }
}

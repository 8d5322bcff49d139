import type { Client } from '../../../client/index.ts';
import { connectAgent, type ExternalParts } from './connect-agent.ts';

/** The client of one agent elsewhere, connected when it is first needed. */
export class AgentConnection {
  readonly #parts: ExternalParts;
  #connecting: Promise<Client> | undefined;
  /** What the connecting has led to. */
  #reached: Client | undefined;

  constructor(parts: ExternalParts) {
    this.#parts = parts;
  }

  client(): Promise<Client> {
    if (this.#connecting !== undefined) return this.#connecting;
    const connecting = connectAgent(this.#parts).then(
      (client) => {
        if (this.#connecting === connecting) this.#reached = client;
        return client;
      },
      (error: unknown) => {
        // The next call may find it.
        if (this.#connecting === connecting) this.#connecting = undefined;
        throw error;
      },
    );
    this.#connecting = connecting;
    return connecting;
  }

  /**
   * Closes the connection; the next call makes another. Resolves when the messages that were given up
   * have been cancelled, which may take no longer than `graceMs`.
   */
  async close(options?: { readonly graceMs?: number }): Promise<void> {
    const [connecting, reached] = [this.#connecting, this.#reached];
    this.#connecting = undefined;
    this.#reached = undefined;
    if (reached !== undefined) return reached.close(options);
    // Not waited for: a card may be long in coming. One that failed was told to whoever called.
    connecting?.then((client) => client.close()).catch(() => undefined);
  }
}

import type { ClientOptions } from '../../client/index.ts';
import { toLegateError } from '../../protocol/index.ts';

type VerifyCard = NonNullable<ClientOptions['verifyCard']>;

/** The card of an agent that stays connected: its key can be revoked while it is in use. */
export class SignedCard {
  readonly #verify: VerifyCard;
  /** The card as received when it was verified. */
  #card: { readonly received: unknown } | undefined;

  constructor(verify: VerifyCard) {
    this.#verify = verify;
  }

  /** Verifies a new card; rejects if the verification function does. */
  async verify(received: unknown): Promise<unknown> {
    const verified = await this.#verify(received);
    this.#card = { received };
    return verified;
  }

  /**
   * Whether there is a card whose key is still trusted. If keys can't be fetched now, the card stays
   * trusted.
   */
  async isTrusted(): Promise<boolean> {
    if (this.#card === undefined) return false;
    try {
      await this.#verify(this.#card.received);
      return true;
    } catch (error) {
      return toLegateError(error).code !== 'PEER_INVALID';
    }
  }
}

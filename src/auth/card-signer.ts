import { hash } from 'node:crypto';
import { type AgentCard, LruMap } from '../protocol/index.ts';
import type { SigningKey } from '../push/index.ts';
import { signCard } from './card-signature.ts';

type Keys = readonly [SigningKey, ...SigningKey[]];

/**
 * The keys that sign cards, or a source of rotating keys such as `signingKeyFiles`.
 * @example
 * const keys: CardSigningKeys = signingKeyFiles(['card.pem'], { directory: '.', logger, what: 'card keys' });
 * await using server = await serve(agent, { cardKeys: keys });
 */
export type CardSigningKeys = Keys | { current(): Promise<Keys> };

/** Maximum number of cached cards. Callers with the same scopes share one extended card. */
const maxSigned = 100;

/**
 * Signs cards and caches the result, because signing costs more than the rest of a response. The same
 * content and keys return the same object.
 * @example const signed = await new CardSigner([readSigningKey(pem)]).sign(card);
 */
export class CardSigner {
  readonly #source: { current(): Promise<Keys> };
  /** The keys that signed `#signed`. */
  #keys: Keys | undefined;
  /** Signed cards, keyed by the digest of their content. */
  #signed = new LruMap<Promise<AgentCard>>(maxSigned);

  constructor(keys: CardSigningKeys) {
    this.#source = 'current' in keys ? keys : { current: async () => keys };
  }

  async sign(card: AgentCard): Promise<AgentCard> {
    const keys = await this.#source.current();
    if (keys !== this.#keys) {
      this.#keys = keys;
      this.#signed = new LruMap(maxSigned);
    }
    const signed = this.#signed;
    const { signatures: _former, ...content } = card;
    const id = hash('sha256', JSON.stringify(content), 'base64url');
    const known = signed.get(id);
    if (known !== undefined) return known;
    const signing = signCard(card, { keys });
    signing.catch(() => signed.delete(id));
    signed.set(id, signing);
    return signing;
  }
}

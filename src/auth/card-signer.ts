import { hash } from 'node:crypto';
import { type AgentCard, LruMap } from '../protocol/index.ts';
import type { SigningKey } from '../push/index.ts';
import { signCard } from './card-signature.ts';

type Keys = readonly [SigningKey, ...SigningKey[]];

/**
 * The keys that sign cards, or a source of keys that rotate: `signingKeyFiles` is one.
 * @example
 * const keys: CardSigningKeys = signingKeyFiles(['card.pem'], { directory: '.', logger, what: 'card keys' });
 * await using server = await serve(agent, { cardKeys: keys });
 */
export type CardSigningKeys = Keys | { current(): Promise<Keys> };

/** Signatures that are kept: callers with the same rights see the same extended card. */
const maxSigned = 100;

/**
 * Signs cards and caches the result: the same content and keys give the same object, because
 * signing costs more than the rest of a response.
 * @example const signed = await new CardSigner([readSigningKey(pem)]).sign(card);
 */
export class CardSigner {
  readonly #source: { current(): Promise<Keys> };
  /** Those that signed `#signed`. */
  #keys: Keys | undefined;
  /** Signed cards by what they say. */
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

import { createHash } from 'node:crypto';

/**
 * What a token is about: it holds for this message and for no other.
 * @example
 * const sent: SignedMessage = { topic, body, correlationId: 'order-17', replyTo: undefined };
 * const token = await signer.sign(sent);
 */
export interface SignedMessage {
  readonly topic: string;
  readonly body: string;
  readonly correlationId: string | undefined;
  readonly replyTo: string | undefined;
}

export const tokenType = 'legate-message+jwt';

/** What a token says of its message. */
export function claimsOf({ body, correlationId = '', replyTo = '' }: SignedMessage) {
  return {
    bodyHash: createHash('sha256').update(body).digest('base64url'),
    correlationId,
    replyTo,
  };
}

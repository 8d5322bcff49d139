import { hash } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Caller } from '../../agents/index.ts';
import type { SigningKey } from '../../push/index.ts';
import { checkBusName } from '../transport/checks.ts';

/** The message that a token covers. The token is invalid on any other message. */
export interface SignedMessage {
  readonly topic: string;
  readonly body: string;
  readonly correlationId: string | undefined;
  readonly replyTo: string | undefined;
  /** For replies: the issuer of the request's token, or '' if it had none. */
  readonly requester?: string | undefined;
}

export const tokenType = 'legate-message+jwt';

/** The claims that bind a token to its message. */
export function claimsOf({ body, correlationId = '', replyTo = '' }: SignedMessage) {
  return {
    bodyHash: hash('sha256', body, 'base64url'),
    correlationId,
    replyTo,
  };
}

/** The caller on whose behalf a message is sent. */
export type Principal = Pick<Caller, 'subject' | 'tenant' | 'displayName' | 'scopes'>;

/** The issuer and the key of tokens. */
export interface MessageSignerOptions {
  /** The name by which receivers find the key: that of the agent or the gateway. */
  readonly issuer: string;
  /** The key, or a source of keys that rotate. */
  readonly key: SigningKey | { current(): Promise<SigningKey> };
  /** The lifetime of a token, in seconds: queued messages must be consumed within it. @default 7 days */
  readonly lifetime?: number;
  readonly clock?: { now(): number };
}

const sevenDays = 7 * 24 * 60 * 60;

/**
 * Signs messages, so that receivers can authenticate the sender. The token covers topic, body,
 * correlation id and reply topic: it is invalid on another message, and replies can't be redirected. The
 * token of a reply also names the sender of the request: if another sender copies the ids of a request, the
 * original sender refuses the reply.
 * @example
 * const signer = new MessageSigner({ issuer: 'alice', key: generateSigningKey() });
 * await using host = await hostOnBus(agent, { bus, signer });
 */
export class MessageSigner {
  readonly issuer: string;
  readonly #options: MessageSignerOptions;

  constructor(options: MessageSignerOptions) {
    this.issuer = checkBusName(options.issuer, 'the issuer');
    this.#options = options;
  }

  /** Without a principal, the subject is the issuer itself. */
  async sign(message: SignedMessage, principal?: Principal): Promise<string> {
    const { key: source, lifetime = sevenDays, clock = { now: Date.now } } = this.#options;
    const key = 'current' in source ? await source.current() : source;
    const now = Math.floor(clock.now() / 1000);
    const { tenant = '', displayName, scopes } = principal ?? {};
    const { requester } = message;
    return new SignJWT({
      ...claimsOf(message),
      ...(requester !== undefined && { requester }),
      ...(tenant !== '' && { tenant }),
      ...(displayName !== undefined && { name: displayName }),
      ...(scopes !== undefined && { scope: scopes.join(' ') }),
    })
      .setProtectedHeader({ alg: key.algorithm, kid: key.kid, typ: tokenType })
      .setIssuer(this.issuer)
      .setSubject(principal?.subject ?? this.issuer)
      .setAudience(message.topic)
      .setIssuedAt(now)
      .setExpirationTime(now + lifetime)
      .sign(key.privateKey);
  }
}

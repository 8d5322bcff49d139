import type { Caller } from '../../agents/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { type MessageSigner, type MessageVerifier, selfAsserted } from '../identity/index.ts';
import type { Principal } from '../identity/index.ts';
import {
  type Bus,
  type BusMessage,
  type MessageType,
  type PublishOptions,
  topics,
} from '../transport/index.ts';
import { headerNames } from './payloads.ts';

const responsePrefix = topics.response('x').slice(0, -1);

export interface Identification {
  /** Tells senders by their tokens. Without it nobody is known. */
  readonly verifier?: MessageVerifier;
  /** Refuses messages without a token. @default false */
  readonly requireSigned?: boolean;
}

/** Who sent a message. Throws or rejects with `UNAUTHENTICATED` for a token that does not hold. */
export function identify(
  message: BusMessage,
  { verifier, requireSigned = false }: Identification,
): Caller | Promise<Caller> {
  const token = message.headers[headerNames.token];
  if (token !== undefined && verifier !== undefined) return verifier.verify(token, message);
  if (requireSigned) {
    throw new LegateError(
      'UNAUTHENTICATED',
      'this message proves nothing about its sender, and only signed ones are taken here',
    );
  }
  const named = message.headers[headerNames.from] ?? message.replyTo?.slice(responsePrefix.length);
  return selfAsserted(named);
}

export interface Parcel {
  readonly type: MessageType;
  readonly body: string;
  readonly correlationId?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly persistent?: boolean;
  /** On whose behalf. @default our own */
  readonly principal?: Principal | undefined;
}

/** Publishes under a name, signed where there is a key. */
export class Sender {
  readonly name: string;
  readonly #bus: Bus;
  readonly #signer: MessageSigner | undefined;

  constructor(options: { bus: Bus; name: string; signer?: MessageSigner | undefined }) {
    this.name = options.name;
    this.#bus = options.bus;
    this.#signer = options.signer;
  }

  send(topic: string, parcel: Parcel, options?: PublishOptions): Promise<void> {
    const headers: Record<string, string> = { [headerNames.from]: this.name, ...parcel.headers };
    return this.#signer === undefined
      ? this.#publish(topic, parcel, headers, options)
      : this.#sendSigned(this.#signer, topic, parcel, headers, options);
  }

  async #sendSigned(
    signer: MessageSigner,
    topic: string,
    parcel: Parcel,
    headers: Record<string, string>,
    options: PublishOptions | undefined,
  ): Promise<void> {
    const { body, correlationId, replyTo } = parcel;
    const signed = { topic, body, correlationId, replyTo };
    headers[headerNames.token] = await signer.sign(signed, parcel.principal);
    await this.#publish(topic, parcel, headers, options);
  }

  #publish(
    topic: string,
    { type, body, correlationId, replyTo, persistent }: Parcel,
    headers: Readonly<Record<string, string>>,
    options: PublishOptions | undefined,
  ): Promise<void> {
    const message = { type, body, headers, correlationId, replyTo, persistent };
    return this.#bus.publish(topic, message, options);
  }
}

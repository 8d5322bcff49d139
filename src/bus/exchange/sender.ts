import type { Caller } from '../../agents/index.ts';
import { LegateError, type SendMessageRequest } from '../../protocol/index.ts';
import type { MessageSigner, Principal } from '../identity/signer.ts';
import { type MessageVerifier, selfAsserted } from '../identity/verifier.ts';
import type { Bus, BusMessage, OutgoingMessage, PublishOptions } from '../transport/bus.ts';
import { topics } from '../transport/topics.ts';
import { headerNames } from './payloads.ts';

const responsePrefix = topics.response('x').slice(0, -1);

export interface Identification {
  /** Verifies the tokens of messages. Without it, every sender is anonymous. */
  readonly verifier?: MessageVerifier;
  /** Refuses messages without a token. @default false */
  readonly requireSigned?: boolean;
}

/** The sender of a message. Throws or rejects with `UNAUTHENTICATED` if its token is invalid. */
export function identify(
  message: BusMessage,
  { verifier, requireSigned = false }: Identification,
): Caller | Promise<Caller> {
  const token = message.headers[headerNames.token];
  if (token !== undefined && verifier !== undefined) return verifier.verify(token, message);
  if (requireSigned) {
    throw new LegateError(
      'UNAUTHENTICATED',
      'the message has no token, and this agent accepts signed messages only: set a signing key',
    );
  }
  const name = message.headers[headerNames.from] ?? message.replyTo?.slice(responsePrefix.length);
  return selfAsserted(name);
}

interface SignableMessage extends Omit<OutgoingMessage, 'id'> {
  /** The caller on whose behalf the message is sent. @default the sender itself */
  readonly principal?: Principal | undefined;
}

/** Publishes under a name, signed if there is a key. */
export class Sender {
  readonly name: string;
  readonly #bus: Bus;
  readonly #signer: MessageSigner | undefined;

  constructor(options: { bus: Bus; name: string; signer?: MessageSigner | undefined }) {
    this.name = options.name;
    this.#bus = options.bus;
    this.#signer = options.signer;
  }

  send(topic: string, message: SignableMessage, options?: PublishOptions): Promise<void> {
    const headers: Record<string, string> = { [headerNames.from]: this.name, ...message.headers };
    return this.#signer === undefined
      ? this.#publish(topic, message, headers, options)
      : this.#sendSigned(this.#signer, topic, message, headers, options);
  }

  async #sendSigned(
    signer: MessageSigner,
    topic: string,
    message: SignableMessage,
    headers: Record<string, string>,
    options: PublishOptions | undefined,
  ): Promise<void> {
    const { body, correlationId, replyTo } = message;
    const signed = { topic, body, correlationId, replyTo };
    headers[headerNames.token] = await signer.sign(signed, message.principal);
    await this.#publish(topic, message, headers, options);
  }

  #publish(
    topic: string,
    { type, body, correlationId, replyTo, persistent }: SignableMessage,
    headers: Readonly<Record<string, string>>,
    options: PublishOptions | undefined,
  ): Promise<void> {
    const message = { type, body, headers, correlationId, replyTo, persistent };
    return this.#bus.publish(topic, message, options);
  }
}

/** Which exchange a message belongs to, and where its answers go. */
type Exchange = Pick<SignableMessage, 'correlationId' | 'replyTo' | 'principal' | 'headers'>;

/** Sends a message to an agent; rejects with `PEER_UNREACHABLE` if the agent has no queue. */
export function sendTask(
  sender: Pick<Sender, 'send'>,
  agent: string,
  request: SendMessageRequest,
  exchange: Exchange,
): Promise<void> {
  const body = JSON.stringify(request);
  return sender.send(topics.task(agent), { ...exchange, type: 'task', body }, { mandatory: true });
}

/** Asks an agent to stop a task; its id is the correlation id while the agent's own is unknown. */
export function sendCancel(
  sender: Pick<Sender, 'send'>,
  agent: string,
  id: string,
  exchange: Exchange,
): Promise<void> {
  const body = JSON.stringify({ id });
  const message: SignableMessage = { ...exchange, type: 'cancel', body };
  return sender.send(topics.cancel(agent), message, { mandatory: true });
}

/**
 * The bodies on the bus: A2A 1.x as JSON, decoded with limits.
 *
 * | type | body |
 * |---|---|
 * | `task` | `SendMessageRequest` |
 * | `cancel` | `CancelTaskRequest`; its id is the agent's, or the correlation id while that is unknown |
 * | `update` | `StreamResponse` |
 * | `result` | `SendMessageResponse` |
 * | `error` | `{ error }` with a JSON-RPC error object |
 * | `announce` | `AgentCard` |
 * | `query` | `{}`: asks all agents to announce themselves |
 */
import type { Agent, Caller } from '../agents/index.ts';
import { present } from '../config/index.ts';
import { busInterface } from '../peers/index.ts';
import {
  type AgentCard,
  type AgentInterface,
  type CancelTaskRequest,
  fromJsonRpcError,
  isJsonObject,
  LegateError,
  parseJson,
  readAgentCard,
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  toJsonRpcError,
  v1,
} from '../protocol/index.ts';
import type { MessageSigner, Principal } from './identity/signer.ts';
import { type MessageVerifier, selfAsserted } from './identity/verifier.ts';
import type { Bus, BusMessage, OutgoingMessage, PublishOptions } from './transport/bus.ts';
import { checkBusName } from './transport/checks.ts';
import { topics } from './transport/topics.ts';

/** Headers beside the transport's own. */
export const headerNames = {
  /** Authenticates the sender. */
  token: 'token',
  /** The name that an unauthenticated sender claims. */
  from: 'from',
  /** Which updates the sender wants: `all` (default), `status` or `none`. */
  updates: 'updates',
  /** The series of an update: each delivery of a task message starts a new one. */
  series: 'series',
  /** The number of an update in its series, from 0: a gap means that one was lost. */
  sequence: 'sequence',
  /** `cancel` on the reply to a cancellation request, which is not the task's result. */
  answers: 'answers',
  /** The wire format: `rockbot` on messages from RockBot and on replies to them. @default that of the receiver */
  dialect: 'dialect',
  /** The caller that a RockBot gateway names, as JSON: a claim, not a proof. */
  claims: 'claims',
  /** `gone` on the last announcement of an agent. */
  presence: 'presence',
} as const;

/** Whether an agent is online, and when it announced that. */
interface Presence {
  readonly isGone: boolean;
  /** Milliseconds since 1970, by the agent's clock; undefined if it is missing. */
  readonly at: number | undefined;
}

/**
 * The correlation id of an announcement. Unlike headers it is signed, so an announcement can't be
 * replayed as a departure.
 */
export function presenceMark(isGone: boolean, at: number): string {
  return `${isGone ? 'gone' : 'here'} ${at}`;
}

/** Reads a `presenceMark`, or the header if there is none. */
export function readPresence(
  correlationId: string | undefined,
  headers: Readonly<Record<string, string>>,
): Presence {
  const [, presence, digits] = /^(gone|here) (\d{1,15})$/.exec(correlationId ?? '') ?? [];
  const isGone = headers[headerNames.presence] === 'gone';
  if (digits === undefined) return { isGone, at: undefined };
  return { isGone: presence === 'gone', at: Number(digits) };
}

/** Answers of peers may end an artifact without parts. */
const fromPeer = { allowEmptyParts: true };

export function readTask(body: string): SendMessageRequest {
  return v1.sendMessageRequest.decode(parseJson(body));
}

export function readCancel(body: string): CancelTaskRequest {
  return v1.cancelTaskRequest.decode(parseJson(body));
}

export function readUpdate(body: string): StreamResponse {
  return v1.streamResponse.decode(parseJson(body), fromPeer);
}

export function readResult(body: string): SendMessageResponse {
  return v1.sendMessageResponse.decode(parseJson(body), fromPeer);
}

export function readError(body: string): LegateError {
  const value = parseJson(body);
  return fromJsonRpcError(isJsonObject(value) ? value['error'] : value);
}

export function readCard(body: string): AgentCard {
  return readAgentCard(parseJson(body));
}

export function errorText(thrown: unknown): string {
  return JSON.stringify({ error: toJsonRpcError(thrown) });
}

const responsePrefix = topics.response('x').slice(0, -1);

export interface Identification {
  /** Verifies the tokens of messages. Without it, every sender is anonymous. */
  readonly verifier?: MessageVerifier;
  /** Refuses messages without a token. @default false */
  readonly requireSigned?: boolean;
  /**
   * Senders that are trusted by name alone, because the broker reserves the name for them.
   * @default none
   */
  readonly unsigned?: readonly UnsignedSender[];
}

/**
 * A sender that is trusted without a signature.
 * @example const primary: UnsignedSender = { name: 'RockBot', scopes: ['notes:write'] };
 */
export interface UnsignedSender {
  readonly name: string;
  /** The scopes of its messages. @default none */
  readonly scopes?: readonly string[];
}

/**
 * The sender of a message. Throws or rejects with `UNAUTHENTICATED` if its token is invalid, or if it
 * replies to a request of a sender other than `requester`.
 */
export function identify(
  message: BusMessage,
  { verifier, requireSigned = false, unsigned = [] }: Identification,
  options: { readonly requester?: string | undefined } = {},
): Caller | Promise<Caller> {
  const token = message.headers[headerNames.token];
  if (token !== undefined && verifier !== undefined) {
    return verifier.verify(token, message, options);
  }
  const isUnsigned = unsigned.some(({ name }) => name === message.headers[headerNames.from]);
  if (requireSigned && !isUnsigned) {
    throw new LegateError(
      'UNAUTHENTICATED',
      'the message has no token, and this agent accepts signed messages only: set a signing key',
    );
  }
  const name = message.headers[headerNames.from] ?? message.replyTo?.slice(responsePrefix.length);
  const believed = unsigned.find((each) => each.name === name);
  if (believed === undefined || verifier?.knows(believed.name) === true) return selfAsserted(name);
  const { name: subject, scopes = [] } = believed;
  return { tenant: '', subject, method: 'bus-name', displayName: subject, scopes };
}

interface SignableMessage extends Omit<OutgoingMessage, 'id'> {
  /** The caller on whose behalf the message is sent. @default the sender itself */
  readonly principal?: Principal | undefined;
  /** For replies: the sender of the request, as its token states. */
  readonly requester?: string | undefined;
}

/** Publishes messages under one name, and signs them if there is a key. */
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
    const headers: Record<string, string> = {
      [headerNames.from]: this.name,
      ...(this.#bus.dialect === 'rockbot' && claimsOf(message.principal, this.name)),
      ...message.headers,
    };
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
    const { body, correlationId, replyTo, requester } = message;
    const signed = { topic, body, correlationId, replyTo, requester };
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

/** RockBot identifies the callers of a gateway by these claims. */
function claimsOf(principal: Principal | undefined, issuer: string): Record<string, string> {
  if (principal === undefined || principal.subject === '') return {};
  const { subject: sub, displayName: name, scopes } = principal;
  const scope = scopes?.join(' ');
  return {
    [headerNames.claims]: JSON.stringify({ sub, ...present({ name, scope }), iss: issuer }),
  };
}

/** The exchange that a message belongs to, and the topic for its replies. */
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

/** Requests the cancellation of a task. `id` is the correlation id while the agent's own id is unknown. */
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

/** Asks all agents to announce themselves. It can get lost: agents announce themselves every two minutes. */
export function sendQuery(sender: Pick<Sender, 'send'>): Promise<void> {
  const message: SignableMessage = { type: 'query', body: '{}', persistent: false };
  return sender.send(topics.query, message, { confirm: false });
}

/** The parts of a card on the bus that the agent doesn't define. */
export interface BusCardOptions {
  /** The agent's name on the bus. */
  readonly name: string;
  /** @default '1.0.0' */
  readonly version?: string;
  /** Further interfaces, listed after the bus. */
  readonly moreInterfaces?: readonly AgentInterface[];
}

const defaultModes = ['text/plain', 'application/json'] as const;

/** The card of an agent on the bus. */
export function busCard(agent: Agent, options: BusCardOptions): AgentCard {
  const { version = '1.0.0', moreInterfaces = [] } = options;
  const name = checkBusName(options.name, 'the agent');
  return {
    name,
    description: agent.description,
    version,
    supportedInterfaces: [busInterface(name), ...moreInterfaces],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: agent.inputModes ?? defaultModes,
    defaultOutputModes: agent.outputModes ?? defaultModes,
    skills: agent.skills,
  };
}

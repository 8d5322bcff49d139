import type { Agent, Caller } from '../agents/index.ts';
import { CardSigner, type CardSigningKeys } from '../auth/index.ts';
import {
  type AgentCapabilities,
  type AgentCard,
  type AgentInterface,
  type AgentProvider,
  LegateError,
  type SecurityRequirement,
  type SecurityScheme,
  supersetCard,
  v1,
} from '../protocol/index.ts';
import { etagOf } from '../store/index.ts';

export interface CardOptions {
  /** @default the agent's own */
  name?: string;
  /** @default '1.0.0' */
  version?: string;
  provider?: AgentProvider;
  documentationUrl?: string;
  iconUrl?: string;
  /** Media types of messages; others are refused. @default the agent's own */
  defaultInputModes?: readonly string[];
  /** @default the agent's own */
  defaultOutputModes?: readonly string[];
  /** The URL of this server for callers: scheme, host, port and path prefix, no slash at the end. */
  url: string;
  /** The path of JSON-RPC, below `url`. @default '/' */
  rpcPath?: string;
  capabilities: AgentCapabilities;
  securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  securityRequirements?: readonly SecurityRequirement[];
  /** Interfaces beside the HTTP ones, such as gRPC. */
  moreInterfaces?: readonly AgentInterface[];
}

const defaultModes = ['text/plain', 'application/json'] as const;

/** The card of an agent that Legate serves: both HTTP bindings of 1.0, more interfaces, then 0.3. */
export function cardOf(agent: Agent, options: CardOptions): AgentCard {
  const { url, capabilities, moreInterfaces = [], version = '1.0.0', ...more } = options;
  const { rpcPath = '/', ...rest } = more;
  const rpcUrl = rpcPath === '/' ? url : `${url}${rpcPath}`;
  return {
    name: agent.title ?? agent.name,
    description: agent.description,
    supportedInterfaces: [
      { url: rpcUrl, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ...moreInterfaces,
      { url: rpcUrl, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    ],
    version,
    capabilities,
    defaultInputModes: agent.inputModes ?? defaultModes,
    defaultOutputModes: agent.outputModes ?? defaultModes,
    skills: agent.skills,
    ...rest,
  };
}

/** The extended card of a caller, from the public one. */
export type ExtendedCard = (caller: Caller, card: AgentCard) => AgentCard | Promise<AgentCard>;

/** A card as text. */
export interface Rendering {
  readonly text: string;
  readonly etag: string;
  /** As in `Last-Modified`. */
  readonly modified: string;
}

/** How the cards of an agent are signed and rendered. */
interface CardsOptions {
  readonly extended?: ExtendedCard;
  /** Keys that rotate: the card is signed again with the first request after a change. @default unsigned */
  readonly keys?: CardSigningKeys;
  /** The card for callers that name no version. @default 'superset' */
  readonly unversioned?: 'superset' | '1.0';
}

/**
 * The cards of one agent, rendered once for each version of the card and its signatures: pure 1.x for
 * callers that request it, and for all other callers a card that 0.3 clients can read too.
 */
export class Cards {
  /** The card to serve, before it is signed. */
  #wanted: AgentCard;
  #card: AgentCard;
  #v1: Rendering;
  #superset: Rendering;
  readonly #extended: ExtendedCard | undefined;
  readonly #unversioned: 'superset' | '1.0';
  readonly #signer: CardSigner | undefined;
  #changing: Promise<unknown> | undefined;

  static async open(card: AgentCard, { keys, ...options }: CardsOptions = {}): Promise<Cards> {
    const signer = keys && new CardSigner(keys);
    const signed = (await signer?.sign(card)) ?? card;
    return new Cards(signed, { ...options, signer });
  }

  private constructor(
    card: AgentCard,
    options: Pick<CardsOptions, 'extended' | 'unversioned'> & {
      readonly signer: CardSigner | undefined;
    },
  ) {
    this.#wanted = card;
    this.#card = card;
    this.#v1 = render(v1.agentCard.encode(card));
    this.#superset = render(supersetCard(card));
    this.#extended = options.extended;
    this.#unversioned = options.unversioned ?? 'superset';
    this.#signer = options.signer;
  }

  get current(): AgentCard {
    return this.#card;
  }

  /**
   * Resolves when no change of the card is in progress and the current keys have signed it. Requests for
   * the card wait for this.
   */
  async settled(): Promise<void> {
    await this.#changing;
    if (this.#signer !== undefined) await this.replace(this.#wanted);
  }

  /** Delays requests for the card until `change` has settled, such as the start of an interface. */
  async holdFor<T>(change: Promise<T>): Promise<T> {
    const changing = Promise.allSettled([this.#changing, change]);
    this.#changing = changing;
    void changing.then(() => {
      if (this.#changing === changing) this.#changing = undefined;
    });
    return change;
  }

  /** Replaces the card that is served, and with it the entity tags. */
  async replace(card: AgentCard): Promise<void> {
    this.#wanted = card;
    const signed = (await this.#signer?.sign(card)) ?? card;
    // Another card has replaced this one while it was signed.
    if (this.#wanted !== card || this.#card === signed) return;
    this.#card = signed;
    this.#v1 = render(v1.agentCard.encode(signed));
    this.#superset = render(supersetCard(signed));
  }

  /** The extended card of an authenticated caller. */
  async extended(caller: Caller): Promise<AgentCard> {
    if (this.#extended === undefined) {
      throw new LegateError(
        'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
        'the extended card of this agent is not configured',
      );
    }
    await this.settled();
    const card = await this.#extended(caller, this.#card);
    return (await this.#signer?.sign(card)) ?? card;
  }

  /** The card for callers of this `A2A-Version`; for callers that state none, the option decides. */
  rendered(version: string): Rendering {
    const isV1 = version === '' ? this.#unversioned === '1.0' : version.startsWith('1');
    return isV1 ? this.#v1 : this.#superset;
  }
}

function render(card: unknown): Rendering {
  const text = JSON.stringify(card);
  const modified = new Date().toUTCString();
  return { text, modified, etag: etagOf(text) };
}

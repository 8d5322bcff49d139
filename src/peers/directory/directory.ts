import { present, suggest } from '../../config/index.ts';
import {
  type AgentCard,
  invalidConfiguration,
  LegateError,
  toLegateError,
} from '../../protocol/index.ts';
import { type EmbeddingModelSource, SemanticIndex, SignedCard } from '../../agents/index.ts';
import type { RecordStore, VectorStore } from '../../store/index.ts';
import { type Scheduler, systemScheduler } from '../../tasks/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { repeat } from '../../time/index.ts';
import { type Announcement, type AnnouncementRules, applyAnnouncement } from './announcements.ts';
import { CardFetcher, type CardFetcherOptions } from './card-fetcher.ts';
import type { KnownPeer } from './directory-files.ts';
import { foldName } from './fold-name.ts';
import {
  type Peer,
  type PeerCredential,
  type PeerRecord,
  PeerRecords,
  type WellKnownPeer,
} from './peer.ts';
import { skeletonCard } from './plain-card.ts';
import { anchored, busInterface } from './transport-kind.ts';
import { type FoundService, searchServices, type ServiceSearchOptions } from './service-search.ts';

/** The store of peers, the well-known peers, and how cards are fetched. */
export interface DirectoryOptions extends CardFetcherOptions, AnnouncementRules {
  readonly records: RecordStore;
  /** Finds services by meaning as well; their vectors are in the store. @default none: by words alone */
  readonly embeddings?: { readonly model: EmbeddingModelSource; readonly vectors: VectorStore };
  readonly wellKnown?: readonly WellKnownPeer[];
  /** How often cards of peers with an address are fetched, in milliseconds; 0 for never. @default 4 hours */
  readonly refreshIntervalMs?: number;
  readonly scheduler?: Scheduler;
  readonly logger?: Logger;
}

/** The outcome of refreshing a card. */
export interface RefreshResult {
  readonly agentName: string;
  readonly refreshed: boolean;
  readonly skillsChanged: boolean;
  readonly skillCount: number;
  readonly reason?: string;
}

const hour = 60 * 60 * 1000;

/**
 * The known agents: well-known ones from the configuration, registered ones, and ones that announced
 * themselves. Persisted in the store for each agent (`self`), so that they survive a restart.
 * @example
 * const directory = new Directory({ records: store.records, wellKnown: [{ name: 'bob', url }] });
 * await directory.start();
 */
export class Directory {
  readonly cards: CardFetcher;
  readonly #options: DirectoryOptions;
  readonly #records: PeerRecords;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  readonly #semantic: SemanticIndex | undefined;
  readonly #wellKnown = new Map<string, WellKnownPeer>();
  /** The cards of the well-known peers whose cards must be verified. */
  readonly #signedCards = new Map<string, SignedCard>();
  readonly #closing = new AbortController();
  /** Without `start` there is no session: every contact counts. */
  #sessionStart = 0;
  #refreshing: { stop(): void } | undefined;

  constructor(options: DirectoryOptions) {
    const self = foldName(options.self ?? '');
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#logger = options.logger ?? silentLogger;
    this.#records = new PeerRecords(options.records, options.self ?? '', this.#scheduler);
    this.#semantic =
      options.embeddings &&
      new SemanticIndex({
        ...options.embeddings,
        space: 'services',
        logger: this.#logger,
        clock: this.#scheduler,
      });
    this.cards = new CardFetcher(options);
    if (options.requireSignedCards === true && options.verifyCard === undefined) {
      throw invalidConfiguration(
        'requireSignedCards needs a way to verify signatures: set verifyCard',
      );
    }
    for (const peer of options.wellKnown ?? []) {
      // Agents that share a configuration list each other and themselves.
      if (foldName(peer.name) === self) continue;
      this.#wellKnown.set(foldName(peer.name), peer);
      const { verifyCard } = peer;
      if (verifyCard) this.#signedCards.set(foldName(peer.name), new SignedCard(verifyCard));
    }
  }

  /** Registers the well-known peers, fetches their cards, and refreshes them periodically. */
  async start(): Promise<void> {
    this.#sessionStart = this.#scheduler.now();
    await this.#records.takeOverShared();
    for (const known of await this.#records.all()) {
      const isLeft = known.origin === 'well-known' && !this.#wellKnown.has(foldName(known.name));
      if (isLeft) await this.#records.delete(known.name);
    }
    await Promise.all([...this.#wellKnown.values()].map((peer) => this.#seed(peer)));
    const { refreshIntervalMs = 4 * hour } = this.#options;
    if (refreshIntervalMs === 0 || this.#closing.signal.aborted) return;
    this.#refreshing = repeat(refreshIntervalMs, () => this.#refreshAll(), {
      timers: this.#scheduler,
      onError: (error) => this.#logger.warn({ error }, 'peers.refresh.failed'),
    });
  }

  stop(): void {
    this.#closing.abort();
    this.#refreshing?.stop();
    this.cards.close();
  }

  async find(name: string): Promise<Peer | undefined> {
    const record = await this.#records.get(name);
    return record && (await this.#peer(record));
  }

  /** The peer; rejects with the known names when it is missing. */
  async require(name: string): Promise<Peer> {
    const found = await this.find(name);
    if (found !== undefined) return found;
    const names = (await this.#records.all()).map((record) => record.name);
    const known =
      names.length === 0 ? 'none is known yet' : `known are ${names.slice(0, 20).join(', ')}`;
    throw new LegateError(
      'INVALID_PARAMS',
      `No agent named '${name}' is in the directory; ${suggest(name, names, known)} Use list_known_agents to see them all.`,
    );
  }

  /**
   * The peer, for a call. A card that must be verified is fetched again while it is unverified, and after its
   * key was withdrawn.
   */
  async requireVerified(name: string): Promise<Peer> {
    const peer = await this.require(name);
    const signed = this.#signedCards.get(foldName(name));
    const isGiven = peer.cardSource !== 'none' && peer.cardSource !== 'fetched';
    if (signed === undefined || isGiven) return peer;
    if (peer.cardSource === 'fetched' && (await signed.isTrusted())) return peer;
    const { refreshed, reason = '' } = await this.refresh(name);
    if (refreshed) return this.require(name);
    throw new LegateError('PEER_INVALID', `${name} can't be called: ${reason}`);
  }

  /** All peers, sorted by name; with a skill, only peers that have it. */
  async list(options: { readonly skill?: string } = {}): Promise<readonly Peer[]> {
    const wanted = options.skill === undefined ? undefined : foldName(options.skill);
    const records = (await this.#records.all()).filter(
      ({ card }) => wanted === undefined || card.skills.some(({ id }) => foldName(id) === wanted),
    );
    return Promise.all(records.map((record) => this.#peer(record)));
  }

  /** Our credential for a peer. Never log or show it. */
  async credential(name: string): Promise<PeerCredential | undefined> {
    const wellKnown = this.#wellKnown.get(foldName(name));
    return wellKnown === undefined ? this.#records.credential(name) : wellKnown.credential;
  }

  /** Agents and tool servers that fit a task, best first. */
  async search(
    query: string,
    options: ServiceSearchOptions = {},
  ): Promise<readonly FoundService[]> {
    const semantic = this.#semantic;
    const owner = foldName(this.#options.self ?? '');
    return searchServices(query, await this.#records.all(), { ...options, semantic, owner });
  }

  /** Applies an announcement; rejects with the reason when it is invalid. */
  announced(announcement: Announcement): Promise<void> {
    const now = this.#scheduler.now();
    return applyAnnouncement(announcement, this.#records, this.#options, now);
  }

  /**
   * Adds a peer, or replaces one that is not well-known together with its credential: a replacement without
   * a credential has none.
   */
  async register(peer: WellKnownPeer): Promise<Peer> {
    if (this.#wellKnown.has(foldName(peer.name))) {
      throw new LegateError(
        'PERMISSION_DENIED',
        `'${peer.name}' is a well-known agent; its entry is changed in the configuration only`,
      );
    }
    const card = peer.card ?? (await this.#cardFor(peer));
    const record: PeerRecord = {
      name: peer.name,
      card: { ...card, name: peer.name },
      origin: 'registered',
      cardSource: peer.card === undefined ? 'fetched' : 'override',
      ...(peer.url !== undefined && { url: peer.url }),
      ...(peer.card === undefined && { lastSeenAt: this.#scheduler.now() }),
    };
    await this.#records.replace(record, peer.credential);
    return this.require(peer.name);
  }

  /** Removes a peer; rejects for well-known ones. */
  async unregister(name: string): Promise<void> {
    const { origin } = await this.require(name);
    if (origin === 'well-known') {
      throw new LegateError(
        'PERMISSION_DENIED',
        `'${name}' is a well-known agent: remove it from the configuration instead`,
      );
    }
    await this.#records.delete(name);
  }

  /** Fetches a peer's card again. A peer that cannot be reached keeps its card. */
  async refresh(name: string): Promise<RefreshResult> {
    const { card, ...peer } = await this.require(name);
    const record = await this.#records.get(name);
    const result = { agentName: peer.name, refreshed: false, skillsChanged: false };
    const keep = (reason: string): RefreshResult => ({
      ...result,
      skillCount: card.skills.length,
      reason,
    });
    if (record?.cardSource === 'override') return keep('offline override');
    if (record?.url === undefined)
      return keep('the agent has no address; it is known by its announcements');
    try {
      const { origin } = record;
      const credential = await this.credential(name);
      const signed = this.#signedCards.get(foldName(name));
      const fetched = await this.#fetch(record.url, {
        origin,
        credential,
        ...(signed && { verifyCard: (received: unknown) => signed.verify(received) }),
      });
      const isSame = skillsOf(fetched) === skillsOf(card);
      const lastSeenAt = this.#scheduler.now();
      let isKept = false;
      await this.#records.change(name, (now) => {
        isKept = now !== undefined && isSameSource(now, record);
        if (now === undefined || !isKept) return undefined;
        const value = { ...now, card: { ...fetched, name: now.name } };
        return { value: { ...value, cardSource: 'fetched', lastSeenAt } };
      });
      if (!isKept) return keep('the agent was removed or registered again meanwhile');
      return {
        ...result,
        refreshed: true,
        skillsChanged: !isSame,
        skillCount: fetched.skills.length,
      };
    } catch (error) {
      return keep(toLegateError(error).message);
    }
  }

  /** Imports peers of another program; existing peers stay as they are. */
  async import(peers: readonly KnownPeer[]): Promise<number> {
    let count = 0;
    const self = foldName(this.#options.self ?? '');
    for (const { name, url, card, credential, lastSeenAt } of peers) {
      if (foldName(name) === self || (await this.#records.get(name)) !== undefined) continue;
      const record: PeerRecord = {
        name,
        card: withInterfaces(card, name, url),
        origin: 'registered',
        cardSource: card === undefined ? 'none' : 'announced',
        ...present({ url, lastSeenAt }),
      };
      await this.#records.replace(record, credential);
      count += 1;
    }
    return count;
  }

  async #seed(peer: WellKnownPeer): Promise<void> {
    const before = await this.#records.get(peer.name);
    const base = {
      name: peer.name,
      origin: 'well-known',
      ...present({ url: peer.url, lastSeenAt: before?.lastSeenAt }),
    } as const;
    if (peer.card !== undefined) {
      const card = withInterfaces(peer.card, peer.name, peer.url);
      await this.#records.put({ ...base, cardSource: 'override', card });
      return;
    }
    // The card of an earlier session is kept if the address is the same, unless it must be verified.
    const isSameAddress = before !== undefined && before.url === peer.url;
    const isKept = isSameAddress && before.cardSource !== 'none' && peer.verifyCard === undefined;
    await this.#records.put(
      isKept && before.cardSource !== 'override'
        ? { ...before, ...base }
        : { ...base, cardSource: 'none', card: withInterfaces(undefined, peer.name, peer.url) },
    );
    if (peer.url === undefined) return;
    const { refreshed, reason } = await this.refresh(peer.name);
    if (!refreshed) this.#logger.warn({ peer: peer.name, reason }, 'peers.card.fetch_failed');
  }

  async #refreshAll(): Promise<void> {
    const peers = (await this.#records.all()).filter(({ url }) => url !== undefined);
    await Promise.all(peers.map(({ name }) => this.refresh(name)));
  }

  async #cardFor({ name, url, credential }: WellKnownPeer): Promise<AgentCard> {
    if (url === undefined) return skeletonCard(name, interfacesOf(name, undefined));
    return this.#fetch(url, { origin: 'registered', credential });
  }

  async #fetch(url: string, options: Parameters<CardFetcher['fetch']>[1]): Promise<AgentCard> {
    const card = await this.cards.fetch(url, { ...options, signal: this.#closing.signal });
    return anchored(card, url);
  }

  async #peer(record: PeerRecord): Promise<Peer> {
    const hasCredential = (await this.credential(record.name)) !== undefined;
    return { ...record, hasCredential, lastSeen: this.#lastSeen(record) };
  }

  #lastSeen({ origin, lastSeenAt }: PeerRecord): string {
    const age = lastSeenAt === undefined ? 'never' : ageText(lastSeenAt, this.#scheduler.now());
    if (origin !== 'well-known') return age;
    return lastSeenAt !== undefined && lastSeenAt >= this.#sessionStart
      ? `${age} (well-known)`
      : 'well-known (not yet seen this session)';
  }
}

/** @example ageText(now - 240_000, now) // '4m ago' */
function ageText(at: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - at) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes}m ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h ago`;
  return `${Math.floor(minutes / (24 * 60))}d ago`;
}

function interfacesOf(name: string, url: string | undefined): AgentCard['supportedInterfaces'] {
  if (url === undefined) return [busInterface(name)];
  return [{ url: url.replace(/\/+$/, ''), protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
}

/** Adds interfaces to a card from a file that has none: the URL of the peer, or the bus. */
function withInterfaces(
  card: AgentCard | undefined,
  name: string,
  url: string | undefined,
): AgentCard {
  const supportedInterfaces = interfacesOf(name, url);
  if (card === undefined) return skeletonCard(name, supportedInterfaces);
  return card.supportedInterfaces.length > 0 ? card : { ...card, supportedInterfaces };
}

/** Whether a card that was fetched for the earlier record is the card of the current one. */
function isSameSource(now: PeerRecord, before: PeerRecord): boolean {
  return now.url === before.url && now.origin === before.origin && now.cardSource !== 'override';
}

function skillsOf(card: AgentCard): string {
  return JSON.stringify(card.skills.map(({ id }) => id).toSorted());
}

import { type AgentCard, LegateError, readAgentCard } from '../../protocol/index.ts';
import { keyOf, type PeerRecord, type PeerRecords } from './peer-records.ts';
import { busNameOf } from './transport-kind.ts';

/**
 * An announcement as it came over the bus.
 * @example
 * const farewell: Announcement = { card: bobsCard, isGone: true, sender: 'bob', at: Date.now() };
 */
export interface Announcement {
  /** The card as JSON. */
  readonly card: unknown;
  readonly isGone: boolean;
  /** The authenticated sender; undefined where there is none. */
  readonly sender: string | undefined;
  /** When the sender signed it, in milliseconds since 1970; undefined for unsigned announcements. */
  readonly at?: number;
}

/**
 * Which announcements are accepted.
 * @example
 * const rules: AnnouncementRules = {
 *   verifyCard: async (card) => (await verifyCard(card, { trusted })).card,
 *   requireSignedCards: true,
 *   expiresAfterMs: 10 * 60_000,
 * };
 */
export interface AnnouncementRules {
  /** Our own name: our own announcements are ignored. */
  readonly self?: string;
  /** Proves a card; gives what its signature covers. Without it no card counts as proved. */
  readonly verifyCard?: (card: unknown) => Promise<unknown>;
  /** Takes announcements with a proved card only. @default false */
  readonly requireSignedCards?: boolean;
  /** How long an announced peer is known after its last announcement, in milliseconds. @default 24 hours */
  readonly expiresAfterMs?: number;
  /** Most peers that are known by announcements alone. @default 1_000 */
  readonly maxAnnounced?: number;
}

const hour = 60 * 60 * 1000;

/** Applies announcements to the directory. */
export class Announcements {
  readonly #records: PeerRecords;
  readonly #clock: { now(): number };
  readonly #rules: AnnouncementRules;

  constructor(records: PeerRecords, clock: { now(): number }, rules: AnnouncementRules) {
    this.#records = records;
    this.#clock = clock;
    this.#rules = rules;
    if (rules.requireSignedCards === true && rules.verifyCard === undefined) {
      throw new LegateError(
        'CONFIGURATION_INVALID',
        'requireSignedCards needs a way to verify signatures: set verifyCard',
      );
    }
  }

  /**
   * Without a verified card, an announcement can only add an agent on the bus under its own name. No
   * announcement changes the address of a well-known peer.
   */
  async take(announcement: Announcement): Promise<void> {
    const { verifyCard, requireSignedCards = false, self = '' } = this.#rules;
    const proved = await verifyCard?.(announcement.card).catch(() => undefined);
    const isCardProved = proved !== undefined;
    if (!isCardProved && requireSignedCards) {
      throw new LegateError('UNAUTHENTICATED', 'the announced card is not signed by a trusted key');
    }
    const card = readAgentCard(proved ?? announcement.card);
    const { sender } = announcement;
    if (sender !== undefined && keyOf(sender) !== keyOf(card.name)) {
      throw new LegateError('PERMISSION_DENIED', `${sender} announced the card of another agent`);
    }
    if (keyOf(card.name) === keyOf(self)) return;
    const existing = await this.#records.get(card.name);
    const isProved = isCardProved || sender !== undefined;
    if (existing?.isProved === true && !isProved) {
      throw new LegateError(
        'UNAUTHENTICATED',
        `${card.name} announced itself with a signature before; this announcement has none`,
      );
    }
    const { at } = announcement;
    if (existing?.announcedAt !== undefined && (at ?? 0) < existing.announcedAt) {
      throw new LegateError(
        'UNAUTHENTICATED',
        `${card.name} has sent a newer announcement already`,
      );
    }
    if (announcement.isGone) {
      if (existing?.origin === 'announced') await this.#records.delete(existing.name);
    } else if (existing !== undefined && existing.origin !== 'announced') {
      const seen = reannounced(existing, card, isProved, this.#clock.now());
      await this.#records.put({ ...seen, ...proofOf({ isProved, at }) });
    } else {
      await this.#put(card, existing, { isCardProved, isProved, at });
    }
  }

  async #put(
    card: AgentCard,
    existing: PeerRecord | undefined,
    proof: Proof & { readonly isCardProved: boolean },
  ): Promise<void> {
    const { maxAnnounced = 1_000, expiresAfterMs = 24 * hour } = this.#rules;
    const own = card.supportedInterfaces.filter((each) => {
      const name = busNameOf(each);
      return name === undefined ? proof.isCardProved : keyOf(name) === keyOf(card.name);
    });
    if (own.length === 0) {
      throw new LegateError('INVALID_PARAMS', 'the announced card has no interface on the bus');
    }
    if (existing === undefined) {
      const known = (await this.#records.all()).filter(({ origin }) => origin === 'announced');
      if (known.length >= maxAnnounced) {
        throw new LegateError(
          'RATE_LIMITED',
          `more than ${maxAnnounced} agents have announced themselves (maxAnnounced)`,
        );
      }
    }
    const now = this.#clock.now();
    await this.#records.put(
      {
        name: card.name,
        card: { ...card, supportedInterfaces: own },
        origin: 'announced',
        cardSource: 'announced',
        lastSeenAt: now,
        ...proofOf(proof),
      },
      now + expiresAfterMs,
    );
  }
}

interface Proof {
  readonly isProved: boolean;
  readonly at: number | undefined;
}

function proofOf({ isProved, at }: Proof): Pick<PeerRecord, 'isProved' | 'announcedAt'> {
  return { ...(isProved && { isProved }), ...(at !== undefined && { announcedAt: at }) };
}

/**
 * Applies the announcement of a peer that is configured or registered. Its skills are taken when the
 * announcement is verified, or when no other card is known; its address is never taken.
 */
function reannounced(
  existing: PeerRecord,
  announced: AgentCard,
  isProved: boolean,
  now: number,
): PeerRecord {
  const seen = { ...existing, lastSeenAt: now };
  const isNews =
    existing.cardSource === 'announced' ||
    (existing.cardSource === 'none' && existing.url === undefined);
  if (existing.cardSource === 'override' || !(isNews || (isProved && existing.url === undefined))) {
    return seen;
  }
  const { description, version, capabilities, skills, defaultInputModes, defaultOutputModes } =
    announced;
  const said = {
    description,
    version,
    capabilities,
    skills,
    defaultInputModes,
    defaultOutputModes,
  };
  return { ...seen, cardSource: 'announced', card: { ...existing.card, ...said } };
}

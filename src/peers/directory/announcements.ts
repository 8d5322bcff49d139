import { type AgentCard, LegateError, readAgentCard } from '../../protocol/index.ts';
import { foldName } from './fold-name.ts';
import type { PeerRecord, PeerRecords } from './peer.ts';
import { busNameOf } from './transport-kind.ts';

/** An announcement of an agent on the bus. */
export interface Announcement {
  /** The card as JSON. */
  readonly card: unknown;
  readonly isGone: boolean;
  /** The authenticated sender; undefined if the message is not authenticated. */
  readonly sender: string | undefined;
  /** When the sender signed it, in milliseconds since 1970; undefined for unsigned announcements. */
  readonly at?: number;
}

/** Which announcements are accepted. */
export interface AnnouncementRules {
  /** Our own name: the directory is that of this agent, and its own announcements are ignored. */
  readonly self?: string;
  /** Verifies a card and returns what its signature covers. @default no card counts as verified */
  readonly verifyCard?: (card: unknown) => Promise<unknown>;
  /** Accepts announcements with a verified card only. @default false */
  readonly requireSignedCards?: boolean;
  /** How long an announced peer is kept after its last announcement, in milliseconds. @default 24 hours */
  readonly expiresAfterMs?: number;
  /** The maximum number of peers that are known by announcements alone. @default 1_000 */
  readonly maxAnnounced?: number;
}

const day = 24 * 60 * 60 * 1000;

/**
 * Applies an announcement to the directory; rejects with the reason when it is not accepted. Without
 * a verified card, an announcement can only add an agent on the bus under its own name. No
 * announcement changes the address of a well-known peer.
 */
export async function applyAnnouncement(
  { card: announced, isGone, sender, at }: Announcement,
  records: PeerRecords,
  rules: AnnouncementRules,
  now: number,
): Promise<void> {
  const { verifyCard, requireSignedCards = false, self = '', expiresAfterMs = day } = rules;
  const verified = await verifyCard?.(announced).catch(() => undefined);
  const isCardVerified = verified !== undefined;
  if (!isCardVerified && requireSignedCards) {
    throw new LegateError('UNAUTHENTICATED', 'the announced card is not signed by a trusted key');
  }
  const card = readAgentCard(verified ?? announced);
  if (sender !== undefined && foldName(sender) !== foldName(card.name)) {
    throw new LegateError('PERMISSION_DENIED', `${sender} announced the card of another agent`);
  }
  if (foldName(card.name) === foldName(self)) return;
  const isProved = isCardVerified || sender !== undefined;
  const proof = { ...(isProved && { isProved }), ...(at !== undefined && { announcedAt: at }) };
  await records.change(card.name, async (existing) => {
    checkProof(existing, isProved, at);
    if (existing !== undefined && existing.origin !== 'announced') {
      if (isGone) return undefined;
      return { value: { ...reannounced(existing, card, isProved), lastSeenAt: now, ...proof } };
    }
    // The record expires at once, unless the agent is registered meanwhile.
    if (isGone) return existing && { value: existing, expiresAt: now };
    const supportedInterfaces = ownInterfaces(card, isCardVerified);
    if (existing === undefined) await checkCapacity(records, rules);
    return {
      value: {
        name: card.name,
        card: { ...card, supportedInterfaces },
        origin: 'announced',
        cardSource: 'announced',
        lastSeenAt: now,
        ...proof,
      },
      expiresAt: now + expiresAfterMs,
    };
  });
}

/** An agent that has signed an announcement signs all later ones, with rising times. */
function checkProof(
  existing: PeerRecord | undefined,
  isProved: boolean,
  at: number | undefined,
): void {
  if (existing?.isProved === true && !isProved) {
    throw new LegateError(
      'UNAUTHENTICATED',
      `${existing.name} announced itself with a signature before; this announcement has none`,
    );
  }
  if (existing?.announcedAt !== undefined && (at ?? 0) < existing.announcedAt) {
    throw new LegateError(
      'UNAUTHENTICATED',
      `${existing.name} has sent a newer announcement already`,
    );
  }
}

/** The interface with the agent's own name on the bus; interfaces elsewhere only from a verified card. */
function ownInterfaces(
  { name, supportedInterfaces }: AgentCard,
  isVerified: boolean,
): AgentCard['supportedInterfaces'] {
  const own = supportedInterfaces.filter((each) => {
    const busName = busNameOf(each);
    return busName === undefined ? isVerified : foldName(busName) === foldName(name);
  });
  if (own.length > 0) return own;
  throw new LegateError('INVALID_PARAMS', 'the announced card has no interface on the bus');
}

async function checkCapacity(
  records: PeerRecords,
  { maxAnnounced = 1_000 }: AnnouncementRules,
): Promise<void> {
  const announced = (await records.all()).filter(({ origin }) => origin === 'announced');
  if (announced.length < maxAnnounced) return;
  throw new LegateError(
    'RATE_LIMITED',
    `more than ${maxAnnounced} agents have announced themselves (maxAnnounced)`,
  );
}

/**
 * Applies the announcement of a peer that is configured or registered. Its skills are updated if the
 * announcement is verified, or if no other card is known; its address is never updated.
 */
function reannounced(existing: PeerRecord, announced: AgentCard, isProved: boolean): PeerRecord {
  const { cardSource, url } = existing;
  const hasNoOther = cardSource === 'announced' || (cardSource === 'none' && url === undefined);
  const isProvedOnBus = isProved && url === undefined;
  if (cardSource === 'override' || !(hasNoOther || isProvedOnBus)) return existing;
  const { description, version, capabilities, skills, defaultInputModes, defaultOutputModes } =
    announced;
  const card = {
    ...existing.card,
    description,
    version,
    capabilities,
    skills,
    defaultInputModes,
    defaultOutputModes,
  };
  return { ...existing, cardSource: 'announced', card };
}

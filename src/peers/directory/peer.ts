import type { AgentCard } from '../../protocol/index.ts';

/**
 * The origin of a peer. Well-known peers are configured by the operator: no message can change their
 * address or credential, or remove them. Registered peers were added at runtime. Announced peers
 * published their card on the bus, and expire when they stop doing so.
 * @example const mayRemove = (origin: PeerOrigin) => origin !== 'well-known';
 */
export type PeerOrigin = 'well-known' | 'registered' | 'announced';

/**
 * Where a card comes from: `none` has no skills, but its agent can be called.
 * @example const isLive = (source: CardSource) => source === 'fetched' || source === 'announced';
 */
export type CardSource = 'fetched' | 'override' | 'announced' | 'none';

/**
 * Our credential for a peer: a request header.
 * @example
 * const bearer: PeerCredential = { headerName: 'Authorization', headerValue: `Bearer ${token}` };
 */
export interface PeerCredential {
  readonly headerName: string;
  readonly headerValue: string;
  /** Sends it over plain http to other machines too. @default false */
  readonly allowsPlainHttp?: boolean;
}

/**
 * Another agent, as the directory knows it.
 * @example
 * const { lastSeen, card }: Peer = await directory.require('bob');
 * console.log(lastSeen, card.skills.map(({ id }) => id)); // 4m ago (well-known) [ 'latin' ]
 */
export interface Peer {
  readonly name: string;
  readonly card: AgentCard;
  readonly origin: PeerOrigin;
  readonly cardSource: CardSource;
  /** Where its card is fetched and it is called; absent for peers that are on the bus only. */
  readonly url?: string;
  readonly hasCredential: boolean;
  /** Milliseconds since 1970; absent before the first contact. */
  readonly lastSeenAt?: number;
  /** In words: `4m ago (well-known)`. */
  readonly lastSeen: string;
}

/**
 * A peer that the operator configures: its address, and our credential.
 * @example
 * const bob: WellKnownPeer = {
 *   name: 'bob',
 *   url: 'https://bob.example',
 *   credential: { headerName: 'X-API-Key', headerValue: process.env.BOB_KEY ?? '' },
 * };
 */
export interface WellKnownPeer {
  readonly name: string;
  /** @default it is on the bus only */
  readonly url?: string;
  readonly credential?: PeerCredential;
  /** Takes the place of the peer's own card, which is then never fetched. */
  readonly card?: AgentCard;
}

const minute = 60_000;

/** @example ageText(now - 240_000, now) // '4m ago' */
export function ageText(at: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - at) / minute);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes}m ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h ago`;
  return `${Math.floor(minutes / (24 * 60))}d ago`;
}

/** When a peer was last seen, in words; a session starts with the directory. */
export function lastSeenText(
  origin: PeerOrigin,
  lastSeenAt: number | undefined,
  times: { readonly now: number; readonly sessionStart: number },
): string {
  const isSeen = lastSeenAt !== undefined;
  if (origin !== 'well-known') return isSeen ? ageText(lastSeenAt, times.now) : 'never';
  return isSeen && lastSeenAt >= times.sessionStart
    ? `${ageText(lastSeenAt, times.now)} (well-known)`
    : 'well-known (not yet seen this session)';
}

const defaultModes = ['text/plain', 'application/json'] as const;

/** A card with an address and no skills. */
export function skeletonCard(
  name: string,
  supportedInterfaces: AgentCard['supportedInterfaces'],
): AgentCard {
  return {
    name,
    description: '',
    version: '',
    supportedInterfaces,
    capabilities: {},
    defaultInputModes: defaultModes,
    defaultOutputModes: defaultModes,
    skills: [],
  };
}

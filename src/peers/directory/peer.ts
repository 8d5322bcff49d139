import { z } from 'zod';
import type { AgentCard } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore } from '../../store/index.ts';
import { foldName } from './fold-name.ts';

/** Cards are validated when they arrive; stored ones are only checked for their shape. */
const card = z.custom<AgentCard>(
  (value) => typeof value === 'object' && value !== null && 'skills' in value && 'name' in value,
  'must be an agent card',
);

const peerRecord = z.object({
  name: z.string(),
  card,
  /**
   * Well-known peers are configured by the operator: no message can change their address or
   * credential, or remove them. Registered peers were added at runtime. Announced peers published
   * their card on the bus, and expire when they stop doing so.
   */
  origin: z.enum(['well-known', 'registered', 'announced']),
  /** Where the card comes from: `none` has no skills, but its agent can be called. */
  cardSource: z.enum(['fetched', 'override', 'announced', 'none']),
  /** The URL of its card and for calls; absent for peers that are on the bus only. */
  url: z.string().exactOptional(),
  /** Milliseconds since 1970; absent before the first contact. */
  lastSeenAt: z.number().exactOptional(),
  /** It announced itself with a signed card or message: unsigned announcements are then refused. */
  isProved: z.boolean().exactOptional(),
  /** The signed time of its last announcement: older ones are refused. */
  announcedAt: z.number().exactOptional(),
});

/** A peer as stored. Credentials of well-known peers are configured, and never stored. */
export type PeerRecord = Readonly<z.infer<typeof peerRecord>>;

const peerCredential = z.object({
  headerName: z.string(),
  headerValue: z.string(),
  /** Sends it over plain http to other machines too. @default false */
  allowsPlainHttp: z.boolean().exactOptional(),
});

/**
 * Our credential for a peer: a request header.
 * @example
 * const bearer: PeerCredential = { headerName: 'Authorization', headerValue: `Bearer ${token}` };
 */
export type PeerCredential = Readonly<z.infer<typeof peerCredential>>;

/**
 * Another agent in the directory.
 * @example
 * const { lastSeen, card }: Peer = await directory.require('bob');
 * console.log(lastSeen, card.skills.map(({ id }) => id)); // 4m ago (well-known) [ 'latin' ]
 */
export interface Peer extends Omit<PeerRecord, 'isProved' | 'announcedAt'> {
  readonly hasCredential: boolean;
  /** For people: `4m ago (well-known)`. */
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
  /**
   * Verifies the signature of its card, and returns the card without changes that the signature does not
   * cover. A peer whose card is not verified can't be called. @default any card
   */
  readonly verifyCard?: (card: unknown) => unknown;
  /** Replaces the peer's own card, which is then never fetched. */
  readonly card?: AgentCard;
}

interface PeerChange {
  readonly value: PeerRecord;
  readonly expiresAt?: number;
}

/**
 * Stores the directory of one agent. Names are case-insensitive. Agents that share a store have separate
 * directories: none has the configured, registered or announced peers of another.
 */
export class PeerRecords {
  readonly #peers: RecordSpace<PeerRecord>;
  readonly #credentials: RecordSpace<PeerCredential>;
  readonly #prefix: string;
  /** The directory that all agents of a store shared before 0.2. */
  readonly #shared: { peers: RecordSpace<PeerRecord>; credentials: RecordSpace<PeerCredential> };

  constructor(records: RecordStore, agent: string, clock: { now(): number }) {
    const peers = { records, schema: peerRecord, clock };
    const credentials = { records, schema: peerCredential, clock };
    this.#peers = new RecordSpace({ ...peers, space: 'directory' });
    this.#credentials = new RecordSpace({ ...credentials, space: 'directory.credentials' });
    this.#prefix = `${foldName(agent)}\n`;
    this.#shared = {
      peers: new RecordSpace({ ...peers, space: 'peers' }),
      credentials: new RecordSpace({ ...credentials, space: 'peer-credentials' }),
    };
  }

  /**
   * Moves the registered peers of a shared directory to the agent that starts first. Announcements and
   * configurations add the other peers again.
   */
  async takeOverShared(): Promise<void> {
    const { peers, credentials } = this.#shared;
    for (const record of await peers.values()) {
      const key = foldName(record.name);
      const credential = (await credentials.get(key))?.value;
      if (record.origin === 'registered' && (await this.get(record.name)) === undefined) {
        await this.replace(record, credential);
      }
      await peers.write(peers.toWrite(key), credentials.toWrite(key));
    }
  }

  async get(name: string): Promise<PeerRecord | undefined> {
    return (await this.#peers.get(this.#keyOf(name)))?.value;
  }

  async put(record: PeerRecord, expiresAt?: number): Promise<void> {
    const expiry = expiresAt === undefined ? {} : { expiresAt };
    await this.#peers.write(this.#peers.toWrite(this.#keyOf(record.name), record, expiry));
  }

  /** Like `RecordSpace.change`: does not overwrite what other calls and processes write meanwhile. */
  async change(
    name: string,
    make: (
      before: PeerRecord | undefined,
    ) => PeerChange | undefined | Promise<PeerChange | undefined>,
  ): Promise<void> {
    await this.#peers.change(this.#keyOf(name), (before) => make(before?.value));
  }

  /**
   * Writes a peer with our credential for it. Without one, it deletes the stored credential, which may belong
   * to another address.
   */
  async replace(record: PeerRecord, credential: PeerCredential | undefined): Promise<void> {
    const key = this.#keyOf(record.name);
    await this.#peers.write(
      this.#peers.toWrite(key, record),
      this.#credentials.toWrite(key, credential),
    );
  }

  async delete(name: string): Promise<void> {
    const key = this.#keyOf(name);
    await this.#peers.write(this.#peers.toWrite(key), this.#credentials.toWrite(key));
  }

  all(): Promise<readonly PeerRecord[]> {
    return this.#peers.values(this.#prefix);
  }

  async credential(name: string): Promise<PeerCredential | undefined> {
    return (await this.#credentials.get(this.#keyOf(name)))?.value;
  }

  #keyOf(name: string): string {
    return this.#prefix + foldName(name);
  }
}

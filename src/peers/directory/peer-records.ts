import { z } from 'zod';
import type { AgentCard } from '../../protocol/index.ts';
import { RecordSpace, type RecordStore } from '../../store/index.ts';
import type { PeerCredential } from './peer.ts';

/** Cards were decoded when they came, and may since have lost their interfaces. */
const card = z.custom<AgentCard>(
  (value) => typeof value === 'object' && value !== null && 'skills' in value && 'name' in value,
  'must be an agent card',
);

const peerRecord = z.object({
  name: z.string(),
  card,
  origin: z.enum(['well-known', 'registered', 'announced']),
  cardSource: z.enum(['fetched', 'override', 'announced', 'none']),
  url: z.string().exactOptional(),
  lastSeenAt: z.number().exactOptional(),
  /** It announced itself by a signed card or message: unsigned announcements are refused from then on. */
  isProved: z.boolean().exactOptional(),
  /** The signed time of its last announcement: older ones are refused. */
  announcedAt: z.number().exactOptional(),
});

/** A peer as stored. Credentials of well-known peers are the configuration's, and never stored. */
export type PeerRecord = Readonly<z.infer<typeof peerRecord>>;

const credential = z.object({
  headerName: z.string(),
  headerValue: z.string(),
  allowsPlainHttp: z.boolean().exactOptional(),
});

/** Stores the directory. Names are case-insensitive. */
export class PeerRecords {
  readonly #peers: RecordSpace<PeerRecord>;
  readonly #credentials: RecordSpace<PeerCredential>;

  constructor(records: RecordStore, clock: { now(): number }) {
    this.#peers = new RecordSpace({ records, space: 'peers', schema: peerRecord, clock });
    const space = 'peer-credentials';
    this.#credentials = new RecordSpace({ records, space, schema: credential, clock });
  }

  async get(name: string): Promise<PeerRecord | undefined> {
    return (await this.#peers.get(keyOf(name)))?.value;
  }

  async put(record: PeerRecord, expiresAt?: number): Promise<void> {
    const expiry = expiresAt === undefined ? {} : { expiresAt };
    await this.#peers.write(this.#peers.toWrite(keyOf(record.name), record, expiry));
  }

  async delete(name: string): Promise<void> {
    const key = keyOf(name);
    await this.#peers.write(this.#peers.toWrite(key), this.#credentials.toWrite(key));
  }

  all(): Promise<readonly PeerRecord[]> {
    return this.#peers.values();
  }

  async credential(name: string): Promise<PeerCredential | undefined> {
    return (await this.#credentials.get(keyOf(name)))?.value;
  }

  async putCredential(name: string, value: PeerCredential): Promise<void> {
    await this.#credentials.write(this.#credentials.toWrite(keyOf(name), value));
  }
}

/** Names are case-insensitive. */
export function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

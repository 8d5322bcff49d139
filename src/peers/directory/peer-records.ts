import { type AgentCard, Json, type JsonObject, type JsonValue } from '../../protocol/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { CardSource, PeerCredential, PeerOrigin } from './peer.ts';

/** A peer as stored. Credentials of well-known peers are the configuration's, and never stored. */
export interface PeerRecord {
  readonly name: string;
  readonly card: AgentCard;
  readonly origin: PeerOrigin;
  readonly cardSource: CardSource;
  readonly url?: string;
  readonly lastSeenAt?: number;
  /** It announced itself by a signed card or message: others cannot speak for it any more. */
  readonly isProved?: boolean;
  /** When it last announced itself, as it signed it: what it signed earlier is no news. */
  readonly announcedAt?: number;
}

const space = 'peers';
const credentialSpace = 'peer-credentials';
const pageSize = 200;

/** The directory in the store. Names are the same in any case. */
export class PeerRecords {
  readonly #records: RecordStore;
  readonly #clock: { now(): number };

  constructor(records: RecordStore, clock: { now(): number }) {
    this.#records = records;
    this.#clock = clock;
  }

  async get(name: string): Promise<PeerRecord | undefined> {
    const stored = await this.#records.get(space, keyOf(name), this.#clock.now());
    return stored?.value.value as unknown as PeerRecord | undefined;
  }

  async put(record: PeerRecord, expiresAt?: number): Promise<void> {
    await this.#write(space, record.name, record as unknown as JsonObject, expiresAt);
  }

  async delete(name: string): Promise<void> {
    const key = keyOf(name);
    await this.#records.write(
      [
        { space, key },
        { space: credentialSpace, key },
      ],
      this.#clock.now(),
    );
  }

  async all(): Promise<readonly PeerRecord[]> {
    const found: PeerRecord[] = [];
    let after: string | undefined;
    do {
      const page = await this.#records.list({
        space,
        limit: pageSize,
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      for (const { value } of page) found.push(value.value as unknown as PeerRecord);
      after = page.length < pageSize ? undefined : page.at(-1)?.key;
    } while (after !== undefined);
    return found;
  }

  async credential(name: string): Promise<PeerCredential | undefined> {
    const stored = await this.#records.get(credentialSpace, keyOf(name), this.#clock.now());
    return stored?.value.value as unknown as PeerCredential | undefined;
  }

  async putCredential(name: string, credential: PeerCredential): Promise<void> {
    await this.#write(credentialSpace, name, credential as unknown as JsonObject);
  }

  async #write(place: string, name: string, value: JsonObject, expiresAt?: number): Promise<void> {
    const write = {
      space: place,
      key: keyOf(name),
      value: Json.of<JsonValue>(value),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    await this.#records.write([write], this.#clock.now());
  }
}

/** Names are the same in any case. */
export function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

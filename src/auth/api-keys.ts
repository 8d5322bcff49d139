import { createHash, randomBytes } from 'node:crypto';
import { Json, type JsonObject, type JsonValue, LegateError } from '../protocol/index.ts';
import type { RecordStore } from '../store/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { checkIdentity, type Identity } from './verifier.ts';

/**
 * Where keys are kept.
 * @example
 * const options: ApiKeysOptions = { records: store.records, cacheTime: 0 }; // a revoked key ends at once
 */
export interface ApiKeysOptions {
  readonly records: RecordStore;
  /** @default the system's clock */
  readonly clock?: { now(): number };
  /**
   * Milliseconds that an answer of the store is used again: how long a key that was revoked by
   * another process may still work here. @default 5_000
   */
  readonly cacheTime?: number;
  /** Told of keys that are made and revoked, never of the keys themselves. */
  readonly logger?: Logger;
}

/**
 * What is known of a key; never the key itself.
 * @example
 * const isStale = ({ createdAt }: ApiKeyRecord) => Date.now() - createdAt > 90 * 86_400_000;
 * for (const { id } of (await keys.list()).filter(isStale)) await keys.revoke(id);
 */
export interface ApiKeyRecord extends Identity {
  /** The beginning of the key's digest: names the key and helps nobody to guess it. */
  readonly id: string;
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt?: number;
}

const space = 'api-keys';
const idLength = 16;
const maxCached = 10_000;

/**
 * API keys of identities, several each, made and revoked while the server runs. Only digests are
 * stored: a key is shown once, when it is made.
 * @example const { key } = await new ApiKeys({ records: store.records }).create({ subject: 'bob' })
 */
export class ApiKeys {
  readonly #records: RecordStore;
  readonly #clock: { now(): number };
  readonly #cacheTime: number;
  readonly #logger: Logger;
  /** By digest, oldest first; unknown keys too, so that guessing does not reach the store twice. */
  readonly #cache = new Map<string, { readonly until: number; readonly found?: ApiKeyRecord }>();

  constructor(options: ApiKeysOptions) {
    this.#records = options.records;
    this.#clock = options.clock ?? { now: Date.now };
    this.#cacheTime = options.cacheTime ?? 5_000;
    this.#logger = options.logger ?? silentLogger;
  }

  /** Makes a key of 256 random bits. */
  create(
    identity: Identity,
    options: { readonly expiresAt?: number } = {},
  ): Promise<{ readonly key: string; readonly record: ApiKeyRecord }> {
    return this.add(`lgk_${randomBytes(32).toString('base64url')}`, identity, options);
  }

  /** Takes a key that was made elsewhere. It must be hard to guess: its digest is not salted. */
  async add(
    key: string,
    identity: Identity,
    options: { readonly expiresAt?: number } = {},
  ): Promise<{ readonly key: string; readonly record: ApiKeyRecord }> {
    checkIdentity(identity, 'API key');
    if (!/^[\x21-\x7e]{20,512}$/.test(key)) {
      throw new LegateError(
        'INVALID_PARAMS',
        'an API key must have 20 to 512 characters of printable ASCII without spaces',
      );
    }
    const now = this.#clock.now();
    const digest = digestOf(key);
    const { subject, tenant = '', displayName, scopes } = identity;
    const value: JsonObject = {
      subject,
      tenant,
      createdAt: now,
      ...(displayName !== undefined && { displayName }),
      ...(scopes !== undefined && { scopes }),
    };
    const expiry = options.expiresAt === undefined ? {} : { expiresAt: options.expiresAt };
    const isNew = await this.#records.write(
      [{ space, key: digest, value: Json.of<JsonValue>(value), ifVersion: 0, ...expiry }],
      now,
    );
    if (!isNew) throw new LegateError('INVALID_PARAMS', 'this API key exists already');
    this.#cache.delete(digest);
    const record = toRecord(digest, value, options.expiresAt);
    this.#logger.info({ audit: 'action', id: record.id, tenant, subject }, 'audit.api_key.created');
    return { key, record };
  }

  /** The identity of a key; undefined when it is unknown, expired or revoked. */
  async find(key: string): Promise<ApiKeyRecord | undefined> {
    const digest = digestOf(key);
    const now = this.#clock.now();
    const cached = this.#cache.get(digest);
    if (cached !== undefined && cached.until > now) return unexpired(cached.found, now);
    const stored = await this.#records.get(space, digest, now);
    const found =
      stored === undefined
        ? undefined
        : toRecord(digest, stored.value.value as JsonObject, stored.expiresAt);
    this.#remember(digest, { until: now + this.#cacheTime, ...(found !== undefined && { found }) });
    return unexpired(found, now);
  }

  /** Takes effect here at once, elsewhere within the cache time. False when there is no such key. */
  async revoke(id: string): Promise<boolean> {
    if (!/^[0-9a-f]{16}$/.test(id)) return false;
    const now = this.#clock.now();
    const matches = await this.#records.list({ space, prefix: id, limit: 100, now });
    if (matches.length === 0) return false;
    await this.#records.write(
      matches.map(({ key }) => ({ space, key })),
      now,
    );
    for (const { key } of matches) this.#cache.delete(key);
    this.#logger.info({ audit: 'action', id }, 'audit.api_key.revoked');
    return true;
  }

  /** Up to `limit` keys in the order of their ids. */
  async list(
    query: { readonly subject?: string; readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly ApiKeyRecord[]> {
    const { subject, limit = 1_000 } = query;
    const found: ApiKeyRecord[] = [];
    // A digest that begins with this id sorts below the id followed by any letter beyond `f`.
    let after = query.after === undefined ? undefined : `${query.after}g`;
    while (found.length < limit) {
      const page = await this.#records.list({
        space,
        limit: 100,
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      for (const { key, value, expiresAt } of page) {
        const record = toRecord(key, value.value as JsonObject, expiresAt);
        if (subject === undefined || record.subject === subject) found.push(record);
      }
      after = page.at(-1)?.key;
      if (page.length < 100) break;
    }
    return found.slice(0, limit);
  }

  #remember(digest: string, entry: { until: number; found?: ApiKeyRecord }): void {
    this.#cache.delete(digest);
    this.#cache.set(digest, entry);
    if (this.#cache.size <= maxCached) return;
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined) this.#cache.delete(oldest);
  }
}

function unexpired(found: ApiKeyRecord | undefined, now: number): ApiKeyRecord | undefined {
  return found?.expiresAt !== undefined && found.expiresAt <= now ? undefined : found;
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function toRecord(digest: string, value: JsonObject, expiresAt: number | undefined): ApiKeyRecord {
  const stored = value as unknown as Omit<ApiKeyRecord, 'id' | 'expiresAt'>;
  return {
    ...stored,
    id: digest.slice(0, idLength),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

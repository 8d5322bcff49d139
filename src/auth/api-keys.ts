import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  type AuthRequest,
  bearerToken,
  checkIdentity,
  CredentialRefused,
  secretDigest,
  type Identity,
  maxCredentialLength,
  singleHeader,
  toCaller,
  type Verifier,
} from './credentials.ts';
import type { Caller } from '../agents/index.ts';
import { FileSource, readConfiguredFile } from '../net/index.ts';
import {
  checkOptions,
  invalidConfiguration,
  LegateError,
  LruMap,
  type OptionNames,
  parseJson,
} from '../protocol/index.ts';
import { RecordSpace, type RecordStore, type SpaceRecord } from '../store/index.ts';
import { type Logger, loggerOption, silentLogger } from '../telemetry/index.ts';

/**
 * Which API keys the verifier accepts, and where requests carry them.
 * @example
 * const options: ApiKeyVerifierOptions = {
 *   keys: [{ key: process.env.PARTNER_KEY ?? '', subject: 'partner', scopes: ['orders:read'] }],
 *   stored: new ApiKeys({ records: store.records }), // for keys that are not in `keys`
 * };
 */
export interface ApiKeyVerifierOptions {
  /** Keys fixed by the configuration. They are never stored. */
  readonly keys?: readonly (Identity & { readonly key: string })[];
  /**
   * A JSON file with a list of `{ "key", "subject", "tenant"?, "displayName"?, "scopes"? }`, read again when
   * it changes.
   */
  readonly file?: string;
  /** Keys that are created and revoked while the server runs. */
  readonly stored?: ApiKeys;
  /** Logs reloads of the key file, and failures to reload it. */
  readonly logger?: Logger;
  /** @default 'X-Api-Key' */
  readonly header?: string;
  /** A query parameter that can carry the key instead. URLs end up in logs: prefer the header. */
  readonly queryParameter?: string;
  /** Name of the security scheme in the card. @default 'apiKey' */
  readonly schemeName?: string;
}

const verifierNames: OptionNames<ApiKeyVerifierOptions> = {
  keys: 'list',
  file: 'string',
  stored: 'object',
  logger: loggerOption,
  header: 'string',
  queryParameter: 'string',
  schemeName: 'string',
};

/**
 * Accepts API keys and returns the identity of each.
 * @example apiKeyVerifier({ stored: new ApiKeys({ records: store.records }) })
 */
export function apiKeyVerifier(options: ApiKeyVerifierOptions): Verifier {
  checkOptions('apiKeyVerifier', options, verifierNames);
  const { header = 'X-Api-Key', queryParameter, schemeName = 'apiKey', stored } = options;
  const name = header.toLowerCase();
  const fixed = callersByDigest(options.keys ?? []);
  const { file, logger } = options;
  const filed =
    file === undefined
      ? undefined
      : new FileSource({
          what: 'API keys',
          paths: [file],
          load: () => callersByDigest(readKeyFile(file)),
          logger,
        });
  const read = (request: AuthRequest): string | undefined => {
    const fromHeader = singleHeader(request, name);
    if (fromHeader !== undefined || queryParameter === undefined) return fromHeader;
    return request.query?.get(queryParameter) ?? undefined;
  };
  return {
    method: 'api-key',
    challenge: 'ApiKey',
    schemes: {
      [schemeName]: { apiKeySecurityScheme: { location: 'header', name: header } },
      ...(queryParameter !== undefined && {
        [`${schemeName}Query`]: {
          apiKeySecurityScheme: { location: 'query' as const, name: queryParameter },
        },
      }),
    },
    async verify(request) {
      const key = read(request);
      if (key === undefined) return undefined;
      if (key === '' || key.length > maxCredentialLength)
        throw new CredentialRefused('unusable key');
      const digest = secretDigest(key);
      const known = fixed.get(digest) ?? (await filed?.current())?.get(digest);
      if (known !== undefined) return known;
      const record = await stored?.find(key);
      if (record === undefined) throw new CredentialRefused('unknown key');
      return toCaller('api-key', record);
    },
  };
}

type KeyOfIdentity = Identity & { readonly key: string };

function callersByDigest(keys: readonly KeyOfIdentity[]): ReadonlyMap<string, Caller> {
  const entries = keys.map(({ key, ...identity }) => {
    if (key === '') throw invalidConfiguration('an API key is empty');
    checkIdentity(identity, 'API key');
    return [secretDigest(key), toCaller('api-key', identity)] as const;
  });
  const twice = duplicate(keys.map(({ key }) => key));
  if (twice !== undefined) {
    throw invalidConfiguration(
      `keys[${twice.first}] and keys[${twice.second}] have the same API key; remove one`,
    );
  }
  return new Map(entries);
}

/** The positions of the first secret that occurs again. It would identify two callers. */
function duplicate(
  secrets: readonly string[],
): { readonly first: number; readonly second: number } | undefined {
  const seen = new Map<string, number>();
  for (const [second, secret] of secrets.entries()) {
    const first = seen.get(secret);
    if (first !== undefined) return { first, second };
    seen.set(secret, second);
  }
  return undefined;
}

const keyFile = z
  .array(
    z.strictObject({
      // Clients can't send other characters in a header, so such a key would never match.
      key: z.string().regex(/^[\x21-\x7e]{1,512}$/),
      subject: z.string(),
      tenant: z.string().exactOptional(),
      displayName: z.string().exactOptional(),
      scopes: z.array(z.string()).exactOptional(),
    }),
  )
  .min(1)
  .max(10_000);

/** Errors contain the position of the problem, never the content of the file. */
function readKeyFile(path: string): readonly KeyOfIdentity[] {
  const invalid = (why: string): LegateError =>
    invalidConfiguration(`the API key file ${path} ${why}`);
  let value: unknown;
  const text = readConfiguredFile(path, 'the API key file');
  try {
    value = parseJson(text);
  } catch {
    throw invalid('is not JSON');
  }
  const parsed = keyFile.safeParse(value);
  if (parsed.success) {
    const twice = duplicate(parsed.data.map(({ key }) => key));
    if (twice === undefined) return parsed.data;
    throw invalid(`lists the same key twice (entry ${twice.second}); remove one`);
  }
  const { path: place = [] } = parsed.error.issues[0] ?? {};
  const where = place.length === 0 ? '' : `, see ${place.join('.')}`;
  throw invalid(`is not a list of keys${where}; write [{"subject": "bob", "key": "..."}]`);
}

/**
 * Options of `ApiKeys`.
 * @example
 * const options: ApiKeysOptions = { records: store.records, cacheTime: 0 }; // a revoked key ends at once
 */
export interface ApiKeysOptions {
  readonly records: RecordStore;
  /**
   * Milliseconds for which lookups are cached. A key that another process revoked can still work in this
   * process for that long. @default 5_000
   */
  readonly cacheTime?: number;
  /** Logs created and revoked keys, never the keys themselves. */
  readonly logger?: Logger;
}

const keysNames: OptionNames<ApiKeysOptions> = {
  records: 'object',
  cacheTime: 'number',
  logger: loggerOption,
};

/**
 * The stored data of a key; never the key itself.
 * @example
 * const isStale = ({ createdAt }: ApiKeyRecord) => Date.now() - createdAt > 90 * 86_400_000;
 * for (const { id } of (await keys.list()).filter(isStale)) await keys.revoke(id);
 */
export interface ApiKeyRecord extends Identity {
  /**
   * The first 16 hexadecimal digits of the key's digest. They identify the key and don't help to guess
   * it.
   */
  readonly id: string;
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt?: number;
}

const idLength = 16;
const maxCached = 10_000;

const storedKey = z.object({
  subject: z.string(),
  tenant: z.string(),
  /** Milliseconds since 1970. */
  createdAt: z.number(),
  displayName: z.string().exactOptional(),
  scopes: z.array(z.string()).readonly().exactOptional(),
});
type StoredKey = z.infer<typeof storedKey>;

/**
 * API keys of identities, several per identity, created and revoked at runtime. Only digests are
 * stored: a key is shown once, when it is created.
 * @example const { key } = await new ApiKeys({ records: store.records }).create({ subject: 'bob' })
 */
export class ApiKeys {
  /** Keyed by digest. */
  readonly #keys: RecordSpace<StoredKey>;
  readonly #clock: { now(): number };
  readonly #cacheTime: number;
  readonly #logger: Logger;
  /** Keyed by digest. Unknown keys are cached too, so that repeated guesses don't reach the store. */
  readonly #cache = new LruMap<{ readonly until: number; readonly found?: ApiKeyRecord }>(
    maxCached,
  );
  /** Counts the keys that were created and revoked here. A lookup that started before is not cached. */
  #changes = 0;

  constructor(options: ApiKeysOptions) {
    checkOptions('ApiKeys', options, keysNames, ['records']);
    const { records } = options;
    this.#clock = records.clock;
    this.#keys = new RecordSpace({ records, space: 'api-keys', schema: storedKey });
    this.#cacheTime = options.cacheTime ?? 5_000;
    this.#logger = options.logger ?? silentLogger;
  }

  /** Creates a key of 256 random bits. */
  create(
    identity: Identity,
    options: { readonly expiresAt?: number } = {},
  ): Promise<{ readonly key: string; readonly record: ApiKeyRecord }> {
    return this.add(`lgk_${randomBytes(32).toString('base64url')}`, identity, options);
  }

  /** Adds a key that another system generated. It must be hard to guess: its digest is not salted. */
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
    const digest = secretDigest(key);
    const { subject, tenant = '', displayName, scopes } = identity;
    const value: StoredKey = {
      subject,
      tenant,
      createdAt: now,
      ...(displayName !== undefined && { displayName }),
      ...(scopes !== undefined && { scopes }),
    };
    const isNew = await this.#keys.write(
      this.#keys.toWrite(digest, value, { ifVersion: 0, ...options }),
    );
    if (!isNew) throw new LegateError('INVALID_PARAMS', 'this API key exists already');
    this.#forget([digest]);
    const record = toRecord({ key: digest, value, ...options });
    this.#logger.info({ audit: 'action', id: record.id, tenant, subject }, 'audit.api_key.created');
    return { key, record };
  }

  /** The identity of a key; undefined when it is unknown, expired or revoked. */
  async find(key: string): Promise<ApiKeyRecord | undefined> {
    const digest = secretDigest(key);
    const now = this.#clock.now();
    const cached = this.#cache.get(digest);
    if (cached !== undefined && cached.until > now) return unexpired(cached.found, now);
    const changes = this.#changes;
    const stored = await this.#keys.get(digest);
    const found = stored && toRecord(stored);
    if (changes === this.#changes) {
      this.#cache.set(digest, {
        until: now + this.#cacheTime,
        ...(found !== undefined && { found }),
      });
    }
    return unexpired(found, now);
  }

  #forget(digests: readonly string[]): void {
    this.#changes += 1;
    for (const digest of digests) this.#cache.delete(digest);
  }

  /**
   * Revokes a key: at once in this process, in others within the cache time. Returns false if no key has
   * this id.
   */
  async revoke(id: string): Promise<boolean> {
    if (!/^[0-9a-f]{16}$/.test(id)) return false;
    const matches = await Array.fromAsync(this.#keys.keys(id));
    if (matches.length === 0) return false;
    await this.#keys.write(...matches.map((key) => this.#keys.toWrite(key)));
    this.#forget(matches);
    this.#logger.info({ audit: 'action', id }, 'audit.api_key.revoked');
    return true;
  }

  /** Up to `limit` keys in the order of their ids. */
  async list(
    query: { readonly subject?: string; readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly ApiKeyRecord[]> {
    const { subject, after = '', limit = 1_000 } = query;
    const found: ApiKeyRecord[] = [];
    for await (const stored of this.#keys.list()) {
      if (found.length >= limit) break;
      const record = toRecord(stored);
      const isWanted = subject === undefined || record.subject === subject;
      if (isWanted && record.id > after) found.push(record);
    }
    return found;
  }
}

function unexpired(found: ApiKeyRecord | undefined, now: number): ApiKeyRecord | undefined {
  return found?.expiresAt !== undefined && found.expiresAt <= now ? undefined : found;
}

function toRecord({
  key,
  value,
  expiresAt,
}: Pick<SpaceRecord<StoredKey>, 'key' | 'value' | 'expiresAt'>): ApiKeyRecord {
  return { ...value, id: key.slice(0, idLength), ...(expiresAt !== undefined && { expiresAt }) };
}

/**
 * The fixed bearer tokens and their identities.
 * @example
 * const options: BearerTokenOptions = {
 *   tokens: [{ token: process.env.CI_TOKEN ?? '', subject: 'ci' }], // unset: refused at the start
 * };
 */
export interface BearerTokenOptions {
  /** Each token with its identity. */
  readonly tokens: readonly (Identity & { readonly token: string })[];
  /** Name of the security scheme in the card. @default 'token' */
  readonly schemeName?: string;
}

const bearerNames: OptionNames<BearerTokenOptions> = { tokens: 'list', schemeName: 'string' };

/**
 * Accepts fixed tokens in `Authorization: Bearer`.
 * @example bearerTokenVerifier({ tokens: [{ token: process.env.TOKEN ?? '', subject: 'orchestrator' }] })
 */
export function bearerTokenVerifier(options: BearerTokenOptions): Verifier {
  checkOptions('bearerTokenVerifier', options, bearerNames, ['tokens']);
  const entries = options.tokens.map(({ token, ...identity }) => {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw invalidConfiguration(
        `the bearer token of ${identity.subject} must be printable ASCII without spaces`,
      );
    }
    checkIdentity(identity, 'bearer token');
    return [secretDigest(token), toCaller('bearer-token', identity)] as const;
  });
  const twice = duplicate(options.tokens.map(({ token }) => token));
  if (twice !== undefined) {
    throw invalidConfiguration(
      `tokens[${twice.first}] and tokens[${twice.second}] have the same bearer token; remove one`,
    );
  }
  const known = new Map(entries);
  return {
    method: 'bearer-token',
    challenge: 'Bearer',
    schemes: { [options.schemeName ?? 'token']: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    async verify(request) {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const caller = known.get(secretDigest(token));
      if (caller === undefined) throw new CredentialRefused('unknown token');
      return caller;
    },
  };
}

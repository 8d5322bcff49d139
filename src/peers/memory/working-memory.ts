import { Json, type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { RecordStore, StoredRecord } from '../../store/index.ts';
import { rank } from '../../search/index.ts';
import { namespaceOf, wholeKey } from './memory-key.ts';

/**
 * Something remembered for a while.
 * @example const minutesLeft = ({ expiresAt }: MemoryEntry) => (expiresAt - Date.now()) / 60_000;
 */
export interface MemoryEntry {
  /** The whole key. */
  readonly key: string;
  readonly value: string;
  readonly category?: string;
  readonly tags: readonly string[];
  /** Who wrote it last. */
  readonly writer?: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  readonly expiresAt: number;
}

/**
 * How long, and under which category and tags an entry is kept.
 * @example
 * const options: SaveOptions = { ttlMs: 8 * 60 * 60_000, tags: ['draft'], writer: 'desk' };
 */
export interface SaveOptions {
  /** Milliseconds until it is forgotten. @default 1 hour */
  readonly ttlMs?: number;
  /** A path, searched by its beginning: `a2a-outcome`, `project/plans`. */
  readonly category?: string;
  readonly tags?: readonly string[];
  readonly writer?: string;
}

/**
 * What of an entry is changed.
 * @example const edit: EditOptions = { find: 'Monday', replace: 'Tuesday', all: true };
 */
export interface EditOptions {
  /** Text that stands in the entry exactly once, unless `all`. */
  readonly find: string;
  /** May be empty, which deletes the text. */
  readonly replace: string;
  /** Replaces every occurrence. @default false */
  readonly all?: boolean;
}

/**
 * Which entries are looked for.
 * @example
 * const answers: MemoryQuery = { category: 'a2a-result', tags: ['bob'], prefix: 'session/c1' };
 */
export interface MemoryQuery {
  /** Words to rank by. @default none: the newest first */
  readonly query?: string;
  readonly category?: string;
  /** All of them. */
  readonly tags?: readonly string[];
  /** Keys that begin with this path. @default all */
  readonly prefix?: string;
  /** @default 20 with a query, else 500 */
  readonly limit?: number;
}

/**
 * How much a memory holds; beyond it, saving is refused.
 * @example const limits: MemoryLimits = { maxEntries: 50, longestTtlMs: 24 * 60 * 60_000 };
 */
export interface MemoryLimits {
  /** Entries of one namespace. @default 500 */
  readonly maxEntries?: number;
  /** Characters of one value. @default 4 Mi */
  readonly maxValueLength?: number;
  /** Milliseconds. @default 30 days */
  readonly longestTtlMs?: number;
}

/**
 * Where a memory is kept, and whose it is.
 * @example
 * const owner = ownerKey({ agent: 'desk', tenant: '', subject: 'ada' });
 * const options: WorkingMemoryOptions = { records: store.records, owner, maxEntries: 100 };
 */
export interface WorkingMemoryOptions extends MemoryLimits {
  readonly records: RecordStore;
  /** Whose memory it is (`ownerKey`): the memories of two owners never meet. */
  readonly owner: string;
  readonly clock?: { now(): number };
}

const space = 'working-memory';
/** One record for each namespace, which every new entry of it writes: two do not take the last place. */
const gateSpace = 'working-memory-gates';
const hour = 60 * 60 * 1000;
const pageSize = 200;
/** Attempts at a change that others change meanwhile. */
const attempts = 5;
/** As many may come to one namespace at the same time. */
const savingAttempts = 100;

interface Stored extends JsonObject {
  readonly value: string;
  readonly tags: readonly string[];
  readonly ttlMs: number;
}

/**
 * What an agent keeps for a while beside its conversations: results of other agents, notes, facts.
 * Entries vanish when their time is up. What does not fit is refused, and the writer is told.
 * @example
 * const memory = new WorkingMemory({ records: store.records, owner });
 * await memory.save('session/1/plan', 'First ...', { ttlMs: 600_000, tags: ['plan'] });
 */
export class WorkingMemory {
  readonly #records: RecordStore;
  readonly #prefix: string;
  readonly #clock: { now(): number };
  readonly #limits: Required<MemoryLimits>;

  constructor(options: WorkingMemoryOptions) {
    this.#records = options.records;
    this.#prefix = `${options.owner}\n`;
    this.#clock = options.clock ?? { now: Date.now };
    this.#limits = {
      maxEntries: options.maxEntries ?? 500,
      maxValueLength: options.maxValueLength ?? 4 * 1024 * 1024,
      longestTtlMs: options.longestTtlMs ?? 30 * 24 * hour,
    };
  }

  /** Writes an entry, in place of a former one of the same key. Rejects when it does not fit. */
  async save(key: string, value: string, options: SaveOptions = {}): Promise<MemoryEntry> {
    const whole = wholeKey(key, 'shared');
    const { ttlMs = hour, category, tags = [], writer } = options;
    this.#checkValue(value);
    if (!(ttlMs > 0 && ttlMs <= this.#limits.longestTtlMs)) {
      throw refused(`a time to live of ${ttlMs} ms; use up to ${this.#limits.longestTtlMs} ms`);
    }
    if (tags.length > 50 || [...tags, category ?? ''].some((word) => word.length > 200)) {
      throw refused('so many or such long tags; use up to 50 of up to 200 characters');
    }
    const body: Stored = {
      value,
      tags,
      ttlMs,
      ...(category !== undefined && { category }),
      ...(writer !== undefined && { writer }),
    };
    for (let attempt = 0; attempt < savingAttempts; attempt += 1) {
      const now = this.#clock.now();
      const stored = await this.#records.get(space, this.#prefix + whole, now);
      const isSaved =
        stored === undefined
          ? await this.#add(whole, body, now)
          : await this.#write(whole, body, now, stored.version);
      if (isSaved) return toEntry(whole, body, now, now + ttlMs);
    }
    throw new LegateError('UNAVAILABLE', `"${whole}" is being changed by others; try again`);
  }

  async get(key: string): Promise<MemoryEntry | undefined> {
    const whole = wholeKey(key, 'shared');
    const stored = await this.#records.get(space, this.#prefix + whole, this.#clock.now());
    return stored && this.#entry(stored);
  }

  /** Replaces text within an entry, which keeps its tags and lives as long again. */
  async edit(key: string, options: EditOptions): Promise<MemoryEntry> {
    const whole = wholeKey(key, 'shared');
    const { find, replace, all = false } = options;
    if (find === '') throw refused('an empty text to find');
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const now = this.#clock.now();
      const stored = await this.#records.get(space, this.#prefix + whole, now);
      if (stored === undefined) throw missing(whole);
      const body = stored.value.value as Stored;
      const pieces = body.value.split(find);
      if (pieces.length === 1) throw refused(`text that does not stand in "${whole}"`);
      if (pieces.length > 2 && !all) {
        throw refused(
          `text that stands in "${whole}" ${pieces.length - 1} times; give more of it, or replace all`,
        );
      }
      const edited: Stored = { ...body, value: pieces.join(replace) };
      this.#checkValue(edited.value);
      if (await this.#write(whole, edited, now, stored.version)) {
        return toEntry(whole, edited, now, now + body.ttlMs);
      }
    }
    throw new LegateError('UNAVAILABLE', `"${whole}" is being changed by others; try again`);
  }

  /** False when there was none. */
  async delete(key: string): Promise<boolean> {
    const whole = wholeKey(key, 'shared');
    const now = this.#clock.now();
    const recordKey = this.#prefix + whole;
    if ((await this.#records.get(space, recordKey, now)) === undefined) return false;
    await this.#records.write([{ space, key: recordKey }], now);
    return true;
  }

  /** The entries that match: ranked by the query, or the newest first. */
  async search(query: MemoryQuery = {}): Promise<readonly MemoryEntry[]> {
    const { query: words, category, tags = [], prefix } = query;
    const limit = query.limit ?? (words === undefined ? 500 : 20);
    const found: MemoryEntry[] = [];
    for await (const entry of this.#all(prefix)) {
      const isOfCategory = category === undefined || isBelow(entry.category ?? '', category);
      if (isOfCategory && tags.every((tag) => entry.tags.includes(tag))) found.push(entry);
    }
    if (words === undefined) {
      return found.toSorted((x, y) => y.savedAt - x.savedAt).slice(0, limit);
    }
    return rank(words, found, textOf)
      .slice(0, limit)
      .map(({ document }) => document);
  }

  /** The keys that begin with a path, in their order. */
  async keys(prefix?: string): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const { key } of this.#all(prefix)) keys.push(key);
    return keys;
  }

  async *#all(prefix = ''): AsyncGenerator<MemoryEntry> {
    const path = prefix.replace(/\/+$/, '');
    let after: string | undefined;
    for (;;) {
      const page = await this.#records.list({
        space,
        prefix: this.#prefix + path,
        limit: pageSize,
        now: this.#clock.now(),
        ...(after !== undefined && { after }),
      });
      for (const stored of page) {
        const entry = this.#entry(stored);
        if (isBelow(entry.key, path)) yield entry;
      }
      after = page.at(-1)?.key;
      if (page.length < pageSize) return;
    }
  }

  #entry({ key, value, updatedAt, expiresAt = 0 }: StoredRecord): MemoryEntry {
    return toEntry(key.slice(this.#prefix.length), value.value as Stored, updatedAt, expiresAt);
  }

  #write(key: string, body: Stored, now: number, ifVersion: number): Promise<boolean> {
    return this.#records.write([{ ...this.#toWrite(key, body, now), ifVersion }], now);
  }

  #toWrite(key: string, body: Stored, now: number) {
    const value = Json.of<JsonValue>(body);
    return { space, key: this.#prefix + key, value, expiresAt: now + body.ttlMs };
  }

  /** Writes a new entry where there is room; false when another one came to the namespace meanwhile. */
  async #add(key: string, body: Stored, now: number): Promise<boolean> {
    const gateKey = this.#prefix + namespaceOf(key);
    const gate = await this.#records.get(gateSpace, gateKey, now);
    await this.#checkRoom(key, now);
    const entry = this.#toWrite(key, body, now);
    const opened = {
      space: gateSpace,
      key: gateKey,
      value: Json.of<JsonValue>(true),
      expiresAt: Math.max(now + body.ttlMs, gate?.expiresAt ?? 0),
      ifVersion: gate?.version ?? 0,
    };
    return this.#records.write([{ ...entry, ifVersion: 0 }, opened], now);
  }

  #checkValue(value: string): void {
    const { maxValueLength } = this.#limits;
    if (value.length <= maxValueLength) return;
    throw refused(`a value of ${value.length} characters; at most ${maxValueLength} fit`);
  }

  async #checkRoom(key: string, now: number): Promise<void> {
    const { maxEntries } = this.#limits;
    const namespace = namespaceOf(key);
    const prefix = `${this.#prefix}${namespace}/`;
    let count = 0;
    let after: string | undefined;
    do {
      const limit = Math.min(pageSize, maxEntries - count);
      const page = await this.#records.list({
        space,
        prefix,
        limit,
        now,
        ...(after !== undefined && { after }),
      });
      count += page.length;
      after = page.length < limit ? undefined : page.at(-1)?.key;
    } while (after !== undefined && count < maxEntries);
    if (count < maxEntries) return;
    throw refused(`"${key}": ${namespace} holds ${count} entries and no more; delete some first`);
  }
}

function toEntry(key: string, body: Stored, savedAt: number, expiresAt: number): MemoryEntry {
  const { ttlMs: _ttlMs, ...rest } = body;
  return { ...(rest as unknown as Omit<MemoryEntry, 'key'>), key, savedAt, expiresAt };
}

function textOf({ key, value, tags, category = '' }: MemoryEntry): string {
  return `${key} ${category} ${tags.join(' ')} ${value}`;
}

/** Whether a path is another one or lies below it. */
function isBelow(path: string, other: string): boolean {
  return other === '' || path === other || path.startsWith(`${other}/`);
}

function missing(key: string): LegateError {
  return new LegateError('INVALID_PARAMS', `working memory has no entry "${key}", or no longer`);
}

function refused(what: string): LegateError {
  return new LegateError('INVALID_PARAMS', `working memory does not take ${what}`);
}

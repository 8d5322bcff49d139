import { z } from 'zod';
import { present } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { rank } from '../../search/index.ts';
import {
  RecordSpace,
  type RecordStore,
  type RecordWrite,
  type SpaceRecord,
} from '../../store/index.ts';

/**
 * An entry of working memory.
 * @example const minutesLeft = ({ expiresAt }: MemoryEntry) => (expiresAt - Date.now()) / 60_000;
 */
export interface MemoryEntry {
  /** The whole key. */
  readonly key: string;
  readonly value: string;
  readonly category?: string;
  readonly tags: readonly string[];
  /** The last writer. */
  readonly writer?: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  readonly expiresAt: number;
}

/**
 * The time to live, the category and the tags of an entry.
 * @example
 * const options: SaveOptions = { ttlMs: 8 * 60 * 60_000, tags: ['draft'], writer: 'desk' };
 */
export interface SaveOptions {
  /** Milliseconds until it expires. @default 1 hour */
  readonly ttlMs?: number;
  /** A path, matched by prefix: `a2a-outcome`, `project/plans`. */
  readonly category?: string;
  readonly tags?: readonly string[];
  readonly writer?: string;
  /**
   * A path of the same namespace: when the namespace is full, the oldest entries below it are deleted.
   * @default none; the entry is refused
   */
  readonly evicts?: string;
}

/** A change to an entry. */
interface EditOptions {
  /** Text that occurs in the entry exactly once, unless `all`. */
  readonly find: string;
  /** May be empty, which deletes the text. */
  readonly replace: string;
  /** Replaces every occurrence. @default false */
  readonly all?: boolean;
}

/**
 * The filter and the ranking of a search.
 * @example
 * const answers: MemoryQuery = { category: 'a2a-result', tags: ['bob'], prefix: 'session/c1' };
 */
export interface MemoryQuery {
  /** Words to rank by. @default none: the newest first */
  readonly query?: string;
  readonly category?: string;
  /** All of them. */
  readonly tags?: readonly string[];
  /** Keys that start with this path. @default all */
  readonly prefix?: string;
  /** @default 20 with a query, else 500 */
  readonly limit?: number;
}

/** The store and the owner of a memory. */
export interface WorkingMemoryOptions {
  readonly records: RecordStore;
  /** The owner (`ownerKey`): memories of different owners are isolated. */
  readonly owner: string;
  readonly clock?: { now(): number };
  /** The maximum number of entries of one namespace; more are refused. @default 500 */
  readonly maxEntries?: number;
  /** The maximum number of characters of one value. @default 4 Mi */
  readonly maxValueLength?: number;
}

const hour = 60 * 60 * 1000;
const maxTtlMs = 30 * 24 * hour;
/** This number of processes can add to one namespace at the same time. */
const savingAttempts = 100;

const stored = z.object({
  value: z.string(),
  tags: z.array(z.string()).readonly(),
  ttlMs: z.number(),
  category: z.string().exactOptional(),
  writer: z.string().exactOptional(),
});
type Stored = Readonly<z.infer<typeof stored>>;

/**
 * Short-term storage in addition to conversations: results of other agents, notes, facts. Entries
 * expire after their time to live. Entries beyond the limits are refused with an error.
 * @example
 * const memory = new WorkingMemory({ records: store.records, owner });
 * await memory.save('session/1/plan', 'First ...', { ttlMs: 600_000, tags: ['plan'] });
 */
export class WorkingMemory {
  readonly #entries: RecordSpace<Stored>;
  /** One record per namespace, written with every new entry: concurrent writers can't exceed the limit. */
  readonly #gates: RecordSpace<boolean>;
  readonly #prefix: string;
  readonly #clock: { now(): number };
  readonly #maxEntries: number;
  readonly #maxValueLength: number;

  constructor(options: WorkingMemoryOptions) {
    const { records, clock = { now: Date.now } } = options;
    const { maxEntries = 500, maxValueLength = 4 * 1024 * 1024 } = options;
    this.#entries = new RecordSpace({ records, space: 'working-memory', schema: stored, clock });
    const space = 'working-memory-gates';
    this.#gates = new RecordSpace({ records, space, schema: z.boolean(), clock });
    this.#prefix = `${options.owner}\n`;
    this.#clock = clock;
    this.#maxEntries = maxEntries;
    this.#maxValueLength = maxValueLength;
  }

  /** Writes an entry, or replaces the one with the same key. Rejects when it does not fit. */
  async save(key: string, value: string, options: SaveOptions = {}): Promise<MemoryEntry> {
    const whole = wholeKey(key, 'shared');
    const { ttlMs = hour, category, tags = [], writer, evicts } = options;
    this.#checkValue(value);
    if (!(ttlMs > 0 && ttlMs <= maxTtlMs)) {
      throw refused(`a time to live of ${ttlMs} ms; use up to ${maxTtlMs} ms`);
    }
    if (tags.length > 50 || [...tags, category ?? ''].some((word) => word.length > 200)) {
      throw refused('so many or such long tags; use up to 50 of up to 200 characters');
    }
    const body: Stored = {
      value,
      tags,
      ttlMs,
      ...present({ category, writer }),
    };
    let expiresAt = 0;
    const save = async (before: SpaceRecord<Stored> | undefined) => {
      expiresAt = this.#clock.now() + ttlMs;
      const also = before === undefined ? [await this.#pass(whole, expiresAt, evicts)] : [];
      return { value: body, expiresAt, also };
    };
    await this.#entries.change(this.#prefix + whole, save, savingAttempts);
    return toEntry(whole, body, expiresAt - ttlMs, expiresAt);
  }

  async get(key: string): Promise<MemoryEntry | undefined> {
    const whole = wholeKey(key, 'shared');
    const found = await this.#entries.get(this.#prefix + whole);
    return found && this.#entry(found);
  }

  /** Replaces text within an entry, which keeps its tags; its time to live starts again. */
  async edit(key: string, options: EditOptions): Promise<MemoryEntry> {
    const whole = wholeKey(key, 'shared');
    const { find, replace, all = false } = options;
    if (find === '') throw refused('an empty text to find');
    let now = 0;
    const edited = await this.#entries.change(this.#prefix + whole, (before) => {
      if (before === undefined) throw missing(whole);
      const segments = before.value.value.split(find);
      if (segments.length === 1) throw refused(`text that does not occur in "${whole}"`);
      if (segments.length > 2 && !all) {
        throw refused(
          `text that occurs in "${whole}" ${segments.length - 1} times; give more of it, or replace all`,
        );
      }
      const value = segments.join(replace);
      this.#checkValue(value);
      now = this.#clock.now();
      return { value: { ...before.value, value }, expiresAt: now + before.value.ttlMs };
    });
    return toEntry(whole, edited, now, now + edited.ttlMs);
  }

  /** Returns false if there was no entry. */
  async delete(key: string): Promise<boolean> {
    const whole = wholeKey(key, 'shared');
    const found = await this.#entries.get(this.#prefix + whole);
    if (found !== undefined) await this.#entries.write(this.#entries.toWrite(found.key));
    return found !== undefined;
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

  /** The keys below a path, sorted. */
  async keys(prefix?: string): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const { key } of this.#all(prefix)) keys.push(key);
    return keys;
  }

  async *#all(prefix = ''): AsyncGenerator<MemoryEntry> {
    const path = prefix.replace(/\/+$/, '');
    for await (const found of this.#entries.list(this.#prefix + path)) {
      const entry = this.#entry(found);
      if (isBelow(entry.key, path)) yield entry;
    }
  }

  #entry({ key, value, updatedAt, expiresAt = 0 }: SpaceRecord<Stored>): MemoryEntry {
    return toEntry(key.slice(this.#prefix.length), value, updatedAt, expiresAt);
  }

  /** Checks that a new entry fits. The returned write conflicts if another process adds one meanwhile. */
  async #pass(key: string, expiresAt: number, evicts: string | undefined): Promise<RecordWrite> {
    const gateKey = this.#prefix + namespaceOf(key);
    const gate = await this.#gates.get(gateKey);
    if (!(await this.#hasRoom(key)) && !(await this.#evict(evicts))) {
      const namespace = namespaceOf(key);
      throw refused(
        `"${key}": ${namespace} holds ${this.#maxEntries} entries and no more; delete some first`,
      );
    }
    return this.#gates.toWrite(gateKey, true, {
      expiresAt: Math.max(expiresAt, gate?.expiresAt ?? 0),
      ifVersion: gate?.version ?? 0,
    });
  }

  #checkValue({ length }: string): void {
    if (length <= this.#maxValueLength) return;
    throw refused(`a value of ${length} characters; at most ${this.#maxValueLength} fit`);
  }

  async #hasRoom(key: string): Promise<boolean> {
    let count = 0;
    for await (const _ of this.#entries.keys(`${this.#prefix}${namespaceOf(key)}/`)) {
      count += 1;
      if (count >= this.#maxEntries) return false;
    }
    return true;
  }

  /** Deletes a tenth of the entries below a path, the oldest ones; false if it has none. */
  async #evict(path: string | undefined): Promise<boolean> {
    if (path === undefined) return false;
    const found: SpaceRecord<Stored>[] = [];
    for await (const entry of this.#entries.list(`${this.#prefix}${path}/`)) found.push(entry);
    const oldest = found
      .toSorted((x, y) => x.updatedAt - y.updatedAt)
      .slice(0, Math.ceil(found.length / 10));
    for (const { key } of oldest) await this.#entries.write(this.#entries.toWrite(key));
    return oldest.length > 0;
  }
}

function toEntry(key: string, body: Stored, savedAt: number, expiresAt: number): MemoryEntry {
  const { ttlMs: _ttlMs, ...rest } = body;
  return { ...rest, key, savedAt, expiresAt };
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

/** First segments of absolute keys; any other key is relative to the current namespace. */
const roots: ReadonlySet<string> = new Set(['session', 'shared', 'a2a-inbox', 'a2a-facts']);
const maxKeyLength = 500;

/**
 * Resolves a key to an absolute key: a path that starts with its namespace. Throws for invalid
 * paths.
 * @example wholeKey('notes', 'session/1') // 'session/1/notes'
 */
export function wholeKey(key: string, namespace: string): string {
  const trimmed = key
    .trim()
    .normalize('NFC')
    .replace(/^\/+|\/+$/g, '');
  const [root = ''] = trimmed.split('/', 1);
  const whole = roots.has(root) ? trimmed : `${namespace}/${trimmed}`;
  if (
    trimmed === '' ||
    whole.length > maxKeyLength ||
    /[\p{Cc}]|\/\/|(?:^|\/)\.\.?(?:\/|$)/u.test(whole)
  ) {
    throw new LegateError(
      'INVALID_PARAMS',
      `${JSON.stringify(key.slice(0, 100))} cannot be a key: use a path such as "notes/today" of up to ${maxKeyLength} characters`,
    );
  }
  return whole;
}

/** The part of a key whose entries are counted together: `session/{id}`, `shared`, `a2a-inbox`, `a2a-facts`. */
function namespaceOf(key: string): string {
  const [root = '', id = ''] = key.split('/', 3);
  return root === 'session' ? `session/${id}` : root;
}

/** Encodes any name as one segment of a key: separators are escaped. */
export function keySegment(name: string): string {
  const safe = encodeURIComponent(name.normalize('NFC').toWellFormed()).slice(0, 120);
  // A segment of dots alone would change the path.
  return /^\.*$/.test(safe) ? `_${safe}` : safe;
}

/** The namespace of a conversation in working memory. */
export function sessionNamespace(contextId: string): string {
  return `session/${keySegment(contextId)}`;
}

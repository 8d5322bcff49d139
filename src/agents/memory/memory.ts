import { hash } from 'node:crypto';
import { z } from 'zod';
import { isJsonObject, Json, type JsonValue, LegateError } from '../../protocol/index.ts';
import type { Ranked, SearchIndex } from '../../search/index.ts';
import type { RecordStore } from '../../store/index.ts';
import type { Caller, Clock } from '../agent.ts';

/**
 * Whose memories they are.
 * @example const scope: MemoryScope = { agent: 'clerk', caller: { tenant: '', subject: 'ada' } };
 */
export interface MemoryScope {
  readonly agent: string;
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
}

/**
 * Something worth keeping.
 * @example const allergy: NewMemory = { id: 'profile/allergy', text: 'Allergic to nuts', author: 'ada' };
 */
export interface NewMemory {
  /** What was added under an id before is not added again. */
  readonly id?: string;
  readonly text: string;
  /** Who said it. */
  readonly author?: string;
  readonly sessionId?: string;
}

/**
 * A memory with how well it fits.
 * @example const newest = (found: readonly FoundMemory[]) => found.toSorted((a, b) => b.at - a.at)[0]?.text;
 */
export interface FoundMemory extends Omit<NewMemory, 'id'> {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** How well it fits; comparable within one search only. */
  readonly score: number;
}

/**
 * Where memories are kept, and how many.
 * @example const options: MemoryOptions = { maxEntries: 500, maxIndexes: 64 };
 */
export interface MemoryOptions {
  /** Most memories of one user. @default 10_000 */
  readonly maxEntries?: number;
  /** Users whose search index is cached (LRU). @default 16 */
  readonly maxIndexes?: number;
}

const storedMemory = z.object({
  text: z.string(),
  author: z.string().exactOptional(),
  sessionId: z.string().exactOptional(),
  /** Milliseconds since 1970. */
  at: z.number(),
});
type StoredMemory = Readonly<z.infer<typeof storedMemory>>;

interface Index {
  readonly search: SearchIndex<StoredMemory>;
  /** Changes when all was forgotten. */
  readonly epoch: string;
  /** The key of the last memory that is in it. */
  lastKey: string | undefined;
}

const space = 'agent-memory';
const maxTextLength = 16_384;
const digits = 8;
const pageSize = 500;
const maxAttempts = 20;

/**
 * Long-term memory of a user across sessions: texts with full-text search (BM25), in any script.
 * Anonymous users have no memory, since they would all share one.
 * @example await memory.add(scope, [{ text: 'Allergic to nuts' }]); await memory.search(scope, 'nuts?')
 */
export class Memory {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #options: Required<MemoryOptions>;
  /** The most recently used last. */
  readonly #indexes = new Map<string, Promise<Index>>();

  constructor(records: RecordStore, options: MemoryOptions = {}, clock: Clock = Date) {
    this.#records = records;
    this.#clock = clock;
    this.#options = { maxEntries: 10_000, maxIndexes: 16, ...options };
  }

  /** Returns how many were new. */
  async add(scope: MemoryScope, memories: readonly NewMemory[]): Promise<number> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return 0;
    for (const { text } of memories) {
      if (text.length > maxTextLength) {
        throw new LegateError(
          'PAYLOAD_TOO_LARGE',
          `a memory has at most ${maxTextLength} characters`,
        );
      }
    }
    const now = this.#clock.now();
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const head = await this.#records.get(space, `${prefix}h`, now);
      const count = countOf(head?.value.value);
      const fresh = await this.#fresh(prefix, memories);
      if (fresh.length === 0) return 0;
      if (count + fresh.length > this.#options.maxEntries) {
        throw new LegateError(
          'RATE_LIMITED',
          `${this.#options.maxEntries} memories are kept of one user (maxEntries); forget some first`,
        );
      }
      const writes = fresh.flatMap(({ id, ...memory }, index) => {
        const key = entryKey(prefix, count + index + 1);
        const entry = { space, key, value: Json.of<JsonValue>({ ...memory, at: now }) };
        if (id === undefined) return [entry];
        return [entry, { space, key: idKey(prefix, id), value: Json.of<JsonValue>(key) }];
      });
      const epoch = head === undefined ? crypto.randomUUID() : epochOf(head.value.value);
      const counting = {
        space,
        key: `${prefix}h`,
        value: Json.of({ count: count + fresh.length, epoch }),
        ifVersion: head?.version ?? 0,
      };
      if (await this.#records.write([counting, ...writes], now)) return fresh.length;
    }
    throw new LegateError('STORE_FAILED', 'too many concurrent writes to the memory; try again');
  }

  async #fresh(prefix: string, memories: readonly NewMemory[]): Promise<readonly NewMemory[]> {
    const now = this.#clock.now();
    const seen = new Set<string>();
    const fresh: NewMemory[] = [];
    for (const memory of memories) {
      const { id } = memory;
      const isKnown =
        id !== undefined &&
        (seen.has(id) || (await this.#records.get(space, idKey(prefix, id), now)) !== undefined);
      if (!isKnown) fresh.push(memory);
      if (id !== undefined) seen.add(id);
    }
    return fresh;
  }

  /** The best matches, best first. */
  async search(
    scope: MemoryScope,
    query: string,
    { limit = 5 }: { readonly limit?: number } = {},
  ): Promise<readonly FoundMemory[]> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return [];
    const { search } = await this.#index(prefix);
    return search.search(query).slice(0, limit).map(toFound);
  }

  async forget(scope: MemoryScope): Promise<void> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return;
    this.#indexes.delete(prefix);
    const now = this.#clock.now();
    for (;;) {
      const page = await this.#records.list({ space, prefix, limit: pageSize, now });
      if (page.length === 0) return;
      await this.#records.write(
        page.map(({ key }) => ({ space, key })),
        now,
      );
    }
  }

  /** The index of a user, up to date with the store. */
  async #index(prefix: string): Promise<Index> {
    const head = await this.#records.get(space, `${prefix}h`, this.#clock.now());
    const epoch = epochOf(head?.value.value);
    const building = this.#indexes.get(prefix) ?? this.#create(epoch);
    this.#indexes.delete(prefix);
    const upToDate = building.then(async (index) =>
      this.#catchUp(index.epoch === epoch ? index : await this.#create(epoch), prefix),
    );
    this.#indexes.set(prefix, upToDate);
    upToDate.catch(() => this.#indexes.delete(prefix));
    const [oldest] = this.#indexes.keys();
    if (this.#indexes.size > this.#options.maxIndexes && oldest !== undefined) {
      this.#indexes.delete(oldest);
    }
    return upToDate;
  }

  async #create(epoch: string): Promise<Index> {
    // Loaded on the first search.
    const { SearchIndex } = await import('../../search/index.ts');
    const search = new SearchIndex(({ text }: StoredMemory) => text);
    return { search, epoch, lastKey: undefined };
  }

  async #catchUp(index: Index, prefix: string): Promise<Index> {
    for (;;) {
      const page = await this.#records.list({
        space,
        prefix: `${prefix}m`,
        limit: pageSize,
        now: this.#clock.now(),
        ...(index.lastKey !== undefined && { after: index.lastKey }),
      });
      for (const { key, value } of page) {
        index.search.add(storedMemory.parse(value.value));
        index.lastKey = key;
      }
      if (page.length < pageSize) return index;
    }
  }
}

function prefixOf({ agent, caller }: MemoryScope): string | undefined {
  return caller.subject === '' ? undefined : JSON.stringify([agent, caller.tenant, caller.subject]);
}

function entryKey(prefix: string, number: number): string {
  return `${prefix}m${String(number).padStart(digits, '0')}`;
}

function idKey(prefix: string, id: string): string {
  return `${prefix}i${hash('sha256', id, 'base64url')}`;
}

function countOf(head: JsonValue | undefined): number {
  const count = isJsonObject(head) ? head['count'] : undefined;
  return typeof count === 'number' ? count : 0;
}

function epochOf(head: JsonValue | undefined): string {
  const epoch = isJsonObject(head) ? head['epoch'] : undefined;
  return typeof epoch === 'string' ? epoch : '';
}

function toFound({ document, score }: Ranked<StoredMemory>): FoundMemory {
  const { text, author, sessionId, at } = document;
  return {
    text,
    at,
    score,
    ...(author !== undefined && { author }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

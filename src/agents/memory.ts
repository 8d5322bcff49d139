import { hash } from 'node:crypto';
import { z } from 'zod';
import { LegateError } from '../protocol/index.ts';
import type { SearchIndex } from '../search/index.ts';
import { RecordSpace, type RecordStore } from '../store/index.ts';
import type { Caller, Clock } from './agent.ts';
import { type Tool, tool } from './tools/tool.ts';

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

/** How many memories a user has. The epoch changes when all are forgotten. */
const storedHead = z.object({ count: z.number(), epoch: z.string() });

interface Index {
  readonly search: SearchIndex<StoredMemory>;
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
  readonly #heads: RecordSpace<z.infer<typeof storedHead>>;
  readonly #memories: RecordSpace<StoredMemory>;
  /** The keys of memories, by their ids. */
  readonly #ids: RecordSpace<string>;
  readonly #clock: Clock;
  readonly #options: Required<MemoryOptions>;
  /** The most recently used last. */
  readonly #indexes = new Map<string, Promise<Index>>();

  constructor(records: RecordStore, options: MemoryOptions = {}, clock: Clock = Date) {
    this.#heads = new RecordSpace({ records, space, schema: storedHead, clock });
    this.#memories = new RecordSpace({ records, space, schema: storedMemory, clock });
    this.#ids = new RecordSpace({ records, space, schema: z.string(), clock });
    this.#clock = clock;
    this.#options = { maxEntries: 10_000, maxIndexes: 16, ...options };
  }

  /** Returns how many were new. */
  async add(scope: MemoryScope, memories: readonly NewMemory[]): Promise<number> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return 0;
    if (memories.some(({ text }) => text.length > maxTextLength)) {
      const message = `a memory has at most ${maxTextLength} characters`;
      throw new LegateError('PAYLOAD_TOO_LARGE', message);
    }
    const { maxEntries } = this.#options;
    const at = this.#clock.now();
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const head = await this.#heads.get(headKey(prefix));
      const { count, epoch } = head?.value ?? { count: 0, epoch: crypto.randomUUID() };
      const fresh = await this.#fresh(prefix, memories);
      if (fresh.length === 0) return 0;
      if (count + fresh.length > maxEntries) {
        throw new LegateError(
          'RATE_LIMITED',
          `${maxEntries} memories are kept of one user (maxEntries); forget some first`,
        );
      }
      const writes = fresh.flatMap(({ id, ...memory }, index) => {
        const key = `${prefix}m${String(count + index + 1).padStart(digits, '0')}`;
        const write = this.#memories.toWrite(key, { ...memory, at });
        return id === undefined ? [write] : [write, this.#ids.toWrite(idKey(prefix, id), key)];
      });
      const counted = { count: count + fresh.length, epoch };
      const ifVersion = head?.version ?? 0;
      const write = this.#heads.toWrite(headKey(prefix), counted, { ifVersion });
      if (await this.#heads.write(write, ...writes)) return fresh.length;
    }
    throw new LegateError('STORE_FAILED', 'too many concurrent writes to the memory; try again');
  }

  async #fresh(prefix: string, memories: readonly NewMemory[]): Promise<readonly NewMemory[]> {
    const seen = new Set<string>();
    const fresh: NewMemory[] = [];
    for (const memory of memories) {
      const { id } = memory;
      const isKnown =
        id !== undefined &&
        (seen.has(id) || (await this.#ids.get(idKey(prefix, id))) !== undefined);
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
    const found = search.search(query).slice(0, limit);
    return found.map(({ document, score }) => ({ ...document, score }));
  }

  async forget(scope: MemoryScope): Promise<void> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return;
    this.#indexes.delete(prefix);
    for (;;) {
      const keys: string[] = [];
      for await (const key of this.#heads.keys(prefix)) if (keys.push(key) === pageSize) break;
      if (keys.length === 0) return;
      await this.#heads.write(...keys.map((key) => this.#heads.toWrite(key)));
    }
  }

  /** The index of a user, up to date with the store. */
  async #index(prefix: string): Promise<Index> {
    const epoch = (await this.#heads.get(headKey(prefix)))?.value.epoch ?? '';
    const building = this.#indexes.get(prefix) ?? createIndex(epoch);
    this.#indexes.delete(prefix);
    const upToDate = building.then(async (known) => {
      const index = known.epoch === epoch ? known : await createIndex(epoch);
      const { lastKey: after } = index;
      for await (const { key, value } of this.#memories.list(`${prefix}m`, { after })) {
        index.search.add(value);
        index.lastKey = key;
      }
      return index;
    });
    this.#indexes.set(prefix, upToDate);
    upToDate.catch(() => this.#indexes.delete(prefix));
    const [oldest] = this.#indexes.keys();
    if (this.#indexes.size > this.#options.maxIndexes && oldest !== undefined) {
      this.#indexes.delete(oldest);
    }
    return upToDate;
  }
}

async function createIndex(epoch: string): Promise<Index> {
  // Loaded on the first search.
  const { SearchIndex } = await import('../search/index.ts');
  return { search: new SearchIndex(({ text }) => text), epoch, lastKey: undefined };
}

function prefixOf({ agent, caller }: MemoryScope): string | undefined {
  return caller.subject === '' ? undefined : JSON.stringify([agent, caller.tenant, caller.subject]);
}

function headKey(prefix: string): string {
  return `${prefix}h`;
}

function idKey(prefix: string, id: string): string {
  return `${prefix}i${hash('sha256', id, 'base64url')}`;
}

/**
 * Options of the `load_memory` tool.
 * @example const options: LoadMemoryOptions = { agent: 'front-desk', limit: 3 };
 */
export interface LoadMemoryOptions {
  /** Under whose name the memories were added. @default the agent that calls */
  readonly agent?: string;
  /** @default 5 */
  readonly limit?: number;
}

/**
 * A tool for models: searches the memories of the caller, and of no other user.
 * @example llmAgent({ name: 'clerk', model, tools: [loadMemory(memory)] })
 */
export function loadMemory(memory: Memory, options: LoadMemoryOptions = {}): Tool {
  return tool({
    name: 'load_memory',
    description: 'Looks up what is known of the user from earlier conversations.',
    input: z.object({ query: z.string().describe('Words to look for.') }),
    isIdempotent: true,
    run: async ({ query }, { turn, agent: caller }) => {
      const { agent = caller, limit = 5 } = options;
      const found = await memory.search({ agent, caller: turn.caller }, query, { limit });
      return found.map(({ text, author, at }) => ({
        text,
        ...(author !== undefined && { author }),
        at: new Date(at).toISOString(),
      }));
    },
  });
}

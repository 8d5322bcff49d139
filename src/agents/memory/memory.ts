import { hash } from 'node:crypto';
import { z } from 'zod';
import {
  checkOptions,
  invalidConfiguration,
  LegateError,
  LruMap,
  type OptionNames,
} from '../../protocol/index.ts';
import type { SearchIndex } from '../../search/index.ts';
import { RecordSpace, type SpaceRecord, type Store, type VectorStore } from '../../store/index.ts';
import { type Logger, loggerOption } from '../../telemetry/index.ts';
import { KeyedQueue } from '../../time/index.ts';
import type { Caller, Clock } from '../agent.ts';
import type { EmbeddingModelSource } from '../llm/model-source.ts';
import { type Tool, tool } from '../tools/tool.ts';
import { SemanticIndex } from './semantic-index.ts';

/**
 * The owner of the memories.
 * @example const scope: MemoryScope = { agent: 'clerk', caller: { tenant: '', subject: 'ada' } };
 */
export interface MemoryScope {
  readonly agent: string;
  readonly caller: Pick<Caller, 'tenant' | 'subject'>;
}

/**
 * A memory to add.
 * @example const allergy: NewMemory = { id: 'profile/allergy', text: 'Allergic to nuts', author: 'ada' };
 */
export interface NewMemory {
  /** The id for deduplication: a memory with a known id is not added again. */
  readonly id?: string;
  readonly text: string;
  /** The author of the text. */
  readonly author?: string;
  readonly sessionId?: string;
}

/**
 * A memory with its score.
 * @example const newest = (found: readonly FoundMemory[]) => found.toSorted((a, b) => b.at - a.at)[0]?.text;
 */
export interface FoundMemory extends Omit<NewMemory, 'id'> {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The relevance; comparable within one search only. */
  readonly score: number;
}

/**
 * How memories are searched, and how many are kept.
 * @example const options: MemoryOptions = { embeddingModel: 'openai/text-embedding-3-small', maxEntries: 500 };
 */
export interface MemoryOptions {
  /**
   * Also finds memories by meaning: an embedding model of the AI SDK (specification v2, v3 or v4),
   * `provider/model`, or a model group. @default none: by words only
   */
  readonly embeddingModel?: EmbeddingModelSource;
  /** Minimum similarity of a memory that shares no word with the query, from -1 to 1. @default 0 */
  readonly minSimilarity?: number;
  /** Maximum memories of one user. @default 10_000 */
  readonly maxEntries?: number;
  /** Maximum users whose search index is cached (LRU). @default 16 */
  readonly maxIndexes?: number;
  /** Where log lines go. @default warnings and errors on standard error */
  readonly logger?: Logger;
}

const optionNames: OptionNames<MemoryOptions> = {
  embeddingModel: true,
  minSimilarity: true,
  maxEntries: 'number',
  maxIndexes: 'number',
  logger: loggerOption,
};

const storedMemory = z.object({
  text: z.string(),
  author: z.string().exactOptional(),
  sessionId: z.string().exactOptional(),
  /** Milliseconds since 1970. */
  at: z.number(),
});
type StoredMemory = Readonly<z.infer<typeof storedMemory>>;

/** The number of memories of a user. The epoch changes when all are forgotten. */
const storedHead = z.object({ count: z.number(), epoch: z.string() });
type Head = z.infer<typeof storedHead>;

interface Index {
  readonly search: SearchIndex<number>;
  readonly epoch: string;
  /** In the order of their keys. */
  readonly memories: (StoredMemory & { readonly key: string })[];
}

const space = 'agent-memory';
const maxTextLength = 16_384;
const digits = 8;
const pageSize = 500;
const maxAttempts = 20;
/** Minimum memories of each ranking to merge. */
const candidates = 20;
/** Maximum memories that one search embeds, of those that were not embedded when they were added. */
const maxEmbedded = 256;

/**
 * Long-term memory of a user across sessions. Texts are found by their words (BM25) in any script and,
 * with an embedding model, by their meaning. The store keeps the vectors. While the model is
 * unavailable, memories are added and found by words, and embedded later. Anonymous users have no
 * memory, since they would all share one.
 * @example
 * const memory = new Memory(store, { embeddingModel: 'openai/text-embedding-3-small' });
 * await memory.add(scope, [{ text: 'Likes trains' }]);
 * await memory.search(scope, 'railway'); // [{ text: 'Likes trains', … }]
 */
export class Memory {
  readonly #heads: RecordSpace<Head>;
  readonly #memories: RecordSpace<StoredMemory>;
  /** The keys of memories, by their ids. */
  readonly #ids: RecordSpace<string>;
  readonly #clock: Clock;
  readonly #maxEntries: number;
  readonly #minSimilarity: number;
  readonly #indexes: LruMap<Promise<Index>>;
  readonly #vectors: VectorStore;
  readonly #semantic: SemanticIndex | undefined;
  /** Serialises the embedding of the memories of one user. */
  readonly #embedding = new KeyedQueue();

  constructor(
    store: Pick<Store, 'records' | 'vectors'>,
    options: MemoryOptions = {},
    clock: Clock = Date,
  ) {
    checkOptions('Memory', options, optionNames);
    const { records, vectors } = store ?? {};
    if (records === undefined || vectors === undefined)
      throw invalidConfiguration('Memory takes a store: new Memory(store)');
    const { embeddingModel: model, logger } = options;
    this.#heads = new RecordSpace({ records, space, schema: storedHead, clock });
    this.#memories = new RecordSpace({ records, space, schema: storedMemory, clock });
    this.#ids = new RecordSpace({ records, space, schema: z.string(), clock });
    this.#clock = clock;
    this.#maxEntries = options.maxEntries ?? 10_000;
    this.#indexes = new LruMap(options.maxIndexes ?? 16);
    this.#minSimilarity = options.minSimilarity ?? 0;
    this.#vectors = vectors;
    this.#semantic =
      model === undefined ? undefined : new SemanticIndex({ vectors, space, model, logger, clock });
  }

  /** Adds memories. Returns the number of new ones. */
  async add(scope: MemoryScope, memories: readonly NewMemory[]): Promise<number> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return 0;
    if (memories.some(({ text }) => text.length > maxTextLength)) {
      const message = `a memory has at most ${maxTextLength} characters`;
      throw new LegateError('PAYLOAD_TOO_LARGE', message);
    }
    const maxEntries = this.#maxEntries;
    const at = this.#clock.now();
    let fresh: readonly NewMemory[] = [];
    const add = async (before: SpaceRecord<Head> | undefined) => {
      const { count, epoch } = before?.value ?? { count: 0, epoch: crypto.randomUUID() };
      fresh = await this.#fresh(prefix, memories);
      if (fresh.length === 0) return undefined;
      if (count + fresh.length > maxEntries) {
        throw new LegateError(
          'PAYLOAD_TOO_LARGE',
          `the memory of this user would have ${count + fresh.length} entries, more than the limit of ${maxEntries}: raise maxEntries, or delete all of them with forget`,
        );
      }
      const also = fresh.flatMap(({ id, ...memory }, index) => {
        const key = memoryKey(prefix, count + index + 1);
        const write = this.#memories.toWrite(key, { ...memory, at });
        return id === undefined ? [write] : [write, this.#ids.toWrite(idKey(prefix, id), key)];
      });
      return { value: { count: count + fresh.length, epoch }, also };
    };
    const head = await this.#heads.change(headKey(prefix), add, maxAttempts);
    if (head === undefined || fresh.length === 0) return 0;
    const known = head.count - fresh.length;
    const texts = fresh.map(({ text }, at) => ({ key: memoryKey(prefix, known + at + 1), text }));
    const last = known === 0 ? undefined : memoryKey(prefix, known);
    await this.#embed(prefix, head.epoch, texts, last);
    return fresh.length;
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
    { limit = 5, signal }: { readonly limit?: number; readonly signal?: AbortSignal } = {},
  ): Promise<readonly FoundMemory[]> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return [];
    const index = await this.#index(prefix);
    const byWords = index.search.search(query).slice(0, Math.max(limit, candidates));
    const byMeaning = await this.#byMeaning(prefix, index, query, { limit, signal });
    if (byMeaning === undefined)
      return byWords
        .slice(0, limit)
        .flatMap(({ document, score }) => found(index, document, score));
    const { fuse } = await import('../../search/index.ts');
    const merged = fuse([byWords.map(({ document }) => document), byMeaning]);
    return merged.slice(0, limit).flatMap(({ item, score }) => found(index, item, score));
  }

  /** Positions of memories in the index, best first; undefined if only words can be searched. */
  async #byMeaning(
    prefix: string,
    index: Index,
    query: string,
    { limit, signal }: { readonly limit: number; readonly signal: AbortSignal | undefined },
  ): Promise<readonly number[] | undefined> {
    const semantic = this.#semantic;
    const { memories, epoch } = index;
    if (semantic === undefined || memories.length === 0 || query.trim() === '') return undefined;
    if (!(await semantic.isReady())) return undefined;
    const owner = `${prefix}${epoch}`;
    await this.#embedding.run(owner, async () => {
      const last = await semantic.lastKey(owner);
      const at = last === undefined ? 0 : numberOf(last);
      const missing = memories.slice(at, at + maxEmbedded);
      if (missing.length > 0) await this.#store(semantic, prefix, epoch, missing, signal);
    });
    const most = Math.max(limit, candidates);
    const nearest = await semantic.nearest(owner, query, most, signal);
    return nearest
      ?.filter(({ similarity }) => similarity >= this.#minSimilarity)
      .map(({ key }) => numberOf(key) - 1);
  }

  /** Embeds new memories. If earlier memories are not embedded yet, the next search embeds them all. */
  async #embed(
    prefix: string,
    epoch: string,
    texts: readonly { readonly key: string; readonly text: string }[],
    before: string | undefined,
  ): Promise<void> {
    const semantic = this.#semantic;
    if (semantic === undefined || !(await semantic.isReady())) return;
    const owner = `${prefix}${epoch}`;
    await this.#embedding.run(owner, async () => {
      if ((await semantic.lastKey(owner)) !== before) return;
      await this.#store(semantic, prefix, epoch, texts);
    });
  }

  async #store(
    semantic: SemanticIndex,
    prefix: string,
    epoch: string,
    texts: readonly { readonly key: string; readonly text: string }[],
    signal?: AbortSignal,
  ): Promise<void> {
    const owner = `${prefix}${epoch}`;
    await semantic.add(owner, texts, signal);
    // `forget` may have deleted the user's memories meanwhile.
    const head = await this.#heads.get(headKey(prefix));
    if (head?.value.epoch !== epoch) await semantic.delete(owner);
  }

  async forget(scope: MemoryScope): Promise<void> {
    const prefix = prefixOf(scope);
    if (prefix === undefined) return;
    this.#indexes.delete(prefix);
    const epoch = (await this.#heads.get(headKey(prefix)))?.value.epoch;
    await this.#forgetRecords(prefix);
    if (epoch !== undefined) await this.#vectors.delete({ space, owner: `${prefix}${epoch}` });
  }

  async #forgetRecords(prefix: string): Promise<void> {
    for (;;) {
      const keys: string[] = [];
      for await (const key of this.#heads.keys(prefix)) if (keys.push(key) === pageSize) break;
      if (keys.length === 0) return;
      await this.#heads.write(...keys.map((key) => this.#heads.toWrite(key)));
    }
  }

  /** Returns the index of a user, updated from the store. */
  async #index(prefix: string): Promise<Index> {
    const epoch = (await this.#heads.get(headKey(prefix)))?.value.epoch ?? '';
    const building = this.#indexes.get(prefix) ?? createIndex(epoch);
    const upToDate = building.then(async (known) => {
      const index = known.epoch === epoch ? known : await createIndex(epoch);
      const after = index.memories.at(-1)?.key;
      for await (const { key, value } of this.#memories.list(`${prefix}m`, { after })) {
        index.memories.push({ ...value, key });
        index.search.add(index.memories.length - 1);
      }
      return index;
    });
    this.#indexes.set(prefix, upToDate);
    upToDate.catch(() => this.#indexes.delete(prefix));
    return upToDate;
  }
}

async function createIndex(epoch: string): Promise<Index> {
  // Loaded on the first search.
  const { SearchIndex } = await import('../../search/index.ts');
  const memories: Index['memories'] = [];
  return { search: new SearchIndex((at) => memories[at]?.text ?? ''), epoch, memories };
}

function found({ memories }: Index, at: number, score: number): readonly FoundMemory[] {
  const memory = memories[at];
  if (memory === undefined) return [];
  const { key: _, ...rest } = memory;
  return [{ ...rest, score }];
}

function prefixOf({ agent, caller }: MemoryScope): string | undefined {
  return caller.subject === '' ? undefined : JSON.stringify([agent, caller.tenant, caller.subject]);
}

/** The first memory of a user has the number 1. */
function memoryKey(prefix: string, number: number): string {
  return `${prefix}m${String(number).padStart(digits, '0')}`;
}

function numberOf(key: string): number {
  return Number(key.slice(-digits));
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
  /** The agent under whose name the memories were added. @default the agent that calls */
  readonly agent?: string;
  /** Maximum memories of one search. @default 5 */
  readonly limit?: number;
}

const loadOptionNames: OptionNames<LoadMemoryOptions> = { agent: true, limit: true };

/**
 * A tool for models: searches only the memories of the caller.
 * @example llmAgent({ name: 'clerk', model, tools: [loadMemory(memory)] })
 */
export function loadMemory(memory: Memory, options: LoadMemoryOptions = {}): Tool {
  checkOptions('loadMemory', options, loadOptionNames);
  return tool({
    name: 'load_memory',
    description: 'Looks up what is known of the user from earlier conversations.',
    input: z.object({ query: z.string().describe('Words to look for.') }),
    isIdempotent: true,
    run: async ({ query }, { turn, agent: caller }) => {
      const { agent = caller, limit = 5 } = options;
      const { signal } = turn;
      const memories = await memory.search({ agent, caller: turn.caller }, query, {
        limit,
        signal,
      });
      return memories.map(({ text, author, at }) => ({
        text,
        ...(author !== undefined && { author }),
        at: new Date(at).toISOString(),
      }));
    },
  });
}

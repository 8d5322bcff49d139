import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { emptyDatabase } from '../../store/postgres/database.contract.ts';
import {
  type AnyEmbeddingModel,
  type EmbeddingScript,
  startScriptedModelServer,
} from '../../models/index.ts';
import { openMemory, openStore, type Store } from '../../store/index.ts';
import { createLogger } from '../../telemetry/index.ts';
import { Memory } from './memory.ts';

const alice = { agent: 'clerk', caller: { tenant: '', subject: 'alice' } };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Each topic is a dimension; a text without one points elsewhere. */
const topics = [/train|railway/i, /nut|allerg|food/i, /blue|colou?r/i];
const meaningOf = (text: string): readonly number[] => {
  const vector = topics.map((topic) => (topic.test(text) ? 1 : 0));
  return [...vector, vector.includes(1) ? 0.1 : 1];
};

async function endpoint(embed: EmbeddingScript = (texts) => texts.map(meaningOf)) {
  const server = await startScriptedModelServer([], { embed });
  cleanups.push(() => server.close());
  const group = (model = 'vectors') => ({
    id: 'embeddings',
    models: [{ provider: 'openai-compatible', model, api_base: server.url }],
  });
  const asked = () => server.calls.map(({ body }) => body['input']);
  return { url: server.url, group, asked };
}

const facts = [
  { text: 'She likes trains' },
  { text: 'She is allergic to peanuts' },
  { text: 'Her favourite colour is blue' },
];
const textsOf = (found: readonly { readonly text: string }[]) => found.map(({ text }) => text);

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => openMemory(),
  sqlite: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'legate-memory-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    return openStore({ type: 'sqlite', path: join(directory, 'memory.db') });
  },
  postgres: async () => openStore({ type: 'postgres', url: await emptyDatabase() }),
};

describe.each(Object.entries(stores))('with vectors in the %s store', (_, open) => {
  test('"railway" finds "trains", also in another process, which embeds the query alone', async () => {
    const store = await open();
    cleanups.push(() => store.close());
    const { group, asked } = await endpoint();
    const memory = new Memory(store, { embeddingModel: group() });
    await memory.add(alice, facts);
    expect(textsOf(await memory.search(alice, 'railway', { limit: 1 }))).toEqual([
      'She likes trains',
    ]);
    const other = new Memory(store, { embeddingModel: group() });
    expect(textsOf(await other.search(alice, 'railway'))[0]).toBe('She likes trains');
    expect(asked()).toEqual([facts.map(({ text }) => text), ['railway'], ['railway']]);
    await memory.forget(alice);
    expect(await other.search(alice, 'railway')).toEqual([]);
    await memory.add(alice, [{ text: 'She is a painter' }]);
    expect(textsOf(await other.search(alice, 'railway'))).toEqual(['She is a painter']);
  });
});

test('words and meaning are merged, and the memory that has both is first', async () => {
  const { group } = await endpoint();
  const memory = new Memory(openMemory(), { embeddingModel: group(), minSimilarity: 0.5 });
  await memory.add(alice, [
    { text: 'The railway museum was closed' },
    { text: 'She likes trains' },
    { text: 'The museum of chairs was open' },
  ]);
  const found = textsOf(await memory.search(alice, 'railway museum'));
  expect(found[0]).toBe('The railway museum was closed');
  expect(found).toContain('She likes trains');
  expect(found).toContain('The museum of chairs was open');
});

test('an unavailable model costs nothing but meaning, and memories are embedded later', async () => {
  let isDown = true;
  const { group, asked } = await endpoint((texts) =>
    isDown ? { status: 401, message: 'no' } : texts.map(meaningOf),
  );
  const lines: string[] = [];
  const logger = createLogger({ level: 'warn', write: (line) => lines.push(line) });
  const time = { now: Date.UTC(2026, 0, 1) };
  const clock = { now: () => time.now };
  const memory = new Memory(openMemory(), { embeddingModel: group(), logger }, clock);
  expect(await memory.add(alice, facts)).toBe(3);
  expect(textsOf(await memory.search(alice, 'trains'))).toEqual(['She likes trains']);
  expect(await memory.search(alice, 'railway')).toEqual([]);
  expect(lines.filter((line) => line.includes('embedding.failed'))).toHaveLength(1);
  expect(asked()).toHaveLength(1);
  isDown = false;
  time.now += 31_000;
  await memory.add(alice, [{ text: 'The train was late' }]);
  expect(textsOf(await memory.search(alice, 'railway', { limit: 2 }))).toEqual([
    'She likes trains',
    'The train was late',
  ]);
});

/** An embedding model that never answers. */
function hangingModel(asked: (signal: AbortSignal | undefined) => void): AnyEmbeddingModel {
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'hanging',
    maxEmbeddingsPerCall: 64,
    supportsParallelCalls: false,
    doEmbed: ({ abortSignal }) => {
      asked(abortSignal);
      return new Promise<never>(() => {});
    },
  };
}

test('a model that does not answer is paused after 15 s, and words are searched', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  cleanups.push(async () => vi.useRealTimers());
  const asked = Promise.withResolvers<AbortSignal | undefined>();
  const embeddingModel = hangingModel(asked.resolve);
  const lines: string[] = [];
  const logger = createLogger({ level: 'warn', write: (line) => lines.push(line) });
  const adding = new Memory(openMemory(), { embeddingModel, logger }).add(alice, facts);
  const signal = await asked.promise;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await adding).toBe(3);
  expect(signal?.aborted).toBe(true);
  expect(lines.join('')).toContain('the embedding model did not answer within 15 s');
});

test('an abort ends a search that waits for the model', async () => {
  const store = openMemory();
  await new Memory(store).add(alice, facts);
  const caller = new AbortController();
  const embeddingModel = hangingModel(() => caller.abort(new Error('the caller left')));
  const search = new Memory(store, { embeddingModel }).search(alice, 'trains', {
    signal: caller.signal,
  });
  await expect(search).rejects.toThrow('the caller left');
});

test('retries of the model are logged where the memory logs', async () => {
  const { group } = await endpoint(() => ({ status: 503, message: 'later' }));
  const events: unknown[] = [];
  const write = (line: string): void => void events.push(JSON.parse(line).event);
  const logger = createLogger({ level: 'warn', write });
  await new Memory(openMemory(), { embeddingModel: group(), logger }).add(alice, facts);
  expect(events).toEqual(['model.retry', 'model.retry', 'embedding.failed']);
});

test('another model embeds all memories again, and vectors of the two are never compared', async () => {
  const { group, asked } = await endpoint((texts) => texts.map(meaningOf));
  const store = openMemory();
  await new Memory(store, { embeddingModel: group() }).add(alice, facts);
  const changed = new Memory(store, { embeddingModel: group('other') });
  expect(textsOf(await changed.search(alice, 'railway', { limit: 1 }))).toEqual([
    'She likes trains',
  ]);
  expect(asked()).toEqual([
    facts.map(({ text }) => text),
    facts.map(({ text }) => text),
    ['railway'],
  ]);
});

test('a text that is too long for the model does not hold up the others', async () => {
  const long = { error: 'maximum input tokens' };
  const { group } = await endpoint((texts) =>
    texts.some((text) => text.startsWith('Long'))
      ? { status: 400, message: long.error }
      : texts.map(meaningOf),
  );
  const memory = new Memory(openMemory(), { embeddingModel: group() });
  await memory.add(alice, [{ text: 'Long story about trains' }, ...facts]);
  const found = textsOf(await memory.search(alice, 'railway'));
  expect(found).toContain('She likes trains');
  expect(textsOf(await memory.search(alice, 'story'))[0]).toBe('Long story about trains');
});

test('many memories are embedded over several searches, none is lost', async () => {
  const { group } = await endpoint();
  const store = openMemory();
  const many = Array.from({ length: 300 }, (_, at) => ({ text: `note number ${at}` }));
  await new Memory(store).add(alice, [...many, { text: 'She likes trains' }]);
  const memory = new Memory(store, { embeddingModel: group(), minSimilarity: 0.5 });
  expect(await memory.search(alice, 'railway')).toEqual([]);
  expect(textsOf(await memory.search(alice, 'railway'))).toEqual(['She likes trains']);
});

describe.each(['v2', 'v3', 'v4'] as const)('an embedding model of specification %s', (version) => {
  test('is taken as it is', async () => {
    const { url } = await endpoint();
    const newest = createOpenAICompatible({ name: 'test', baseURL: url }).embeddingModel('vectors');
    const model: AnyEmbeddingModel = {
      specificationVersion: version,
      provider: 'test',
      modelId: 'vectors',
      maxEmbeddingsPerCall: 2,
      supportsParallelCalls: false,
      doEmbed: async (call: { values: string[]; abortSignal?: AbortSignal }) => {
        const { embeddings } = await newest.doEmbed(call);
        return { embeddings, warnings: [] };
      },
    };
    const memory = new Memory(openMemory(), { embeddingModel: model });
    await memory.add(alice, facts);
    const [best] = await memory.search(alice, 'railway');
    expect(best?.text).toBe('She likes trains');
  });
});

test('mistakes are reported when the memory is made', () => {
  const store = openMemory();
  const unknown = { maxEntries: 5, embedder: 'openai/text-embedding-3-small' };
  expect(() => new Memory(store, unknown)).toThrow(/unknown option "embedder"/);
  expect(() => new Memory(store, { embeddingModel: 'nobody/model' })).toThrow(
    /needs the package @ai-sdk\/nobody/,
  );
  expect(() => new Memory(store, { embeddingModel: 'openai/' })).toThrow(/provider\/model/);
});

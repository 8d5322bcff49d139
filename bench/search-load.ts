/** Indexes documents of 10,000 passages and queries them; writes the figures as JSON. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cachedEmbed } from '../src/assistant/search/vector-cache.ts';
import type { Embedder } from '../src/models/index.ts';
import { type Passage, PassageIndex } from '../src/search/index.ts';
import { silentLogger } from '../src/telemetry/index.ts';

const count = 10_000;
const perDocument = 20;
const wordsOfPassage = 150;
const vocabulary = 20_000;
const dimensions = 256;
const queries = 100;

/** Random numbers from 0 up to 1, the same in each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const random = randomOf(7);
const letters = 'bcdfghklmnprstvz';
const vowels = 'aeiou';

/** A word for each rank: a few syllables that encode the number. */
function wordOf(rank: number): string {
  let rest = rank + 1;
  let word = '';
  while (rest > 0) {
    word += `${letters[rest % 16] ?? ''}${vowels[Math.floor(rest / 16) % 5] ?? ''}`;
    rest = Math.floor(rest / 80);
  }
  return `${word}x`;
}

/** Zipf: the word of rank n occurs 1/n as often as the first. */
const zipf = () => Math.min(vocabulary - 1, Math.floor(vocabulary ** random()) - 1);

const textOf = () => Array.from({ length: wordsOfPassage }, () => wordOf(zipf())).join(' ');

function passagesOf(document: number): readonly Passage[] {
  return Array.from({ length: perDocument }, () => ({
    text: textOf(),
    source: `docs/${document}.md`,
    title: '',
  }));
}

const mebibyte = 1024 * 1024;
/** The peak memory of the process, in MiB. */
const peak = () => process.resourceUsage().maxRSS / 1024;

globalThis.gc?.();
const before = process.memoryUsage().rss / mebibyte;
const documents = Array.from({ length: count / perDocument }, (_, at) => passagesOf(at));
// The garbage of creating the texts is not a cost of the index.
globalThis.gc?.();
const index = await PassageIndex.build(documents.flat());

/** CPU of a query, in milliseconds. */
async function cpuOf(query: () => string): Promise<number> {
  for (let at = 0; at < 20; at += 1) await index.search(query());
  const start = process.cpuUsage();
  for (let at = 0; at < queries; at += 1) await index.search(query());
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000 / queries;
}

const common = Array.from({ length: 10 }, (_, rank) => wordOf(rank)).join(' ');
const rare = () =>
  [...[0, 3, 8, 20, 60].map(wordOf), wordOf(2_000 + zipf()), wordOf(9_000 + zipf())].join(' ');
const rareMs = await cpuOf(rare);
const commonMs = await cpuOf(() => common);
const peakMiB = peak() - before;

// A model that counts its requests: a changed document embeds only its own passages.
let asked = 0;
const embedder: Embedder = {
  modelId: 'counting',
  async embed(texts) {
    asked += texts.length;
    return texts.map((text) =>
      Float32Array.from({ length: dimensions }, (_, at) => text.length % (at + 2)),
    );
  },
};
const folder = await mkdtemp(join(tmpdir(), 'legate-bench-search-'));
try {
  const embed = cachedEmbed(embedder, { file: join(folder, 'vectors'), logger: silentLogger });
  await PassageIndex.build(documents.flat(), { embedPassages: embed });
  asked = 0;
  const changed = documents.with(3, passagesOf(3));
  await PassageIndex.build(changed.flat(), { embedPassages: embed });
} finally {
  await rm(folder, { recursive: true });
}
console.log(JSON.stringify({ peakMiB, rareMs, commonMs, again: asked }));

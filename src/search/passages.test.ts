import { expect, test } from 'vitest';
import { PassageIndex, type Passage, passagesOf } from './index.ts';

test('paragraphs under one heading are one passage, with the heading as its title', () => {
  const text = '# Fees\n\nTransfers are free.\n\nCards cost 5 francs.\n## Abroad\nAsk us.';
  expect(passagesOf({ source: 'a.md', text })).toEqual([
    { source: 'a.md', title: 'Fees', text: 'Transfers are free.\n\nCards cost 5 francs.' },
    { source: 'a.md', title: 'Abroad', text: 'Ask us.' },
  ]);
});

test('no passage is longer than 1,000 characters, and none loses a word', () => {
  const sentences = Array.from({ length: 200 }, (_, at) => `This is the sentence number ${at}.`);
  const text = `${sentences.join(' ')}\n\n${'x'.repeat(2_500)}`;
  const passages = passagesOf({ source: 'a', text });
  expect(Math.max(...passages.map((each) => each.text.length))).toBeLessThanOrEqual(1_000);
  const said = passages
    .map((each) => each.text)
    .join(' ')
    .replaceAll(/\s+/g, '');
  expect(said).toBe(text.replaceAll(/\s+/g, ''));
  expect(passages[0]?.text.endsWith('.')).toBe(true);
});

const passages: readonly Passage[] = [
  { source: 'fees.md', title: 'Fees', text: 'A transfer to another bank costs two francs.' },
  { source: 'cards.md', title: 'Cards', text: 'A lost card is blocked at once.' },
  { source: 'hours.md', title: '', text: 'We are open from nine to five.' },
];

test('without vectors, passages are found by their words and titles', async () => {
  const index = await PassageIndex.build(passages);
  expect(index.isEmbedded).toBe(false);
  const found = await index.search('lost cards');
  expect(found[0]?.passage.source).toBe('cards.md');
  expect(found[0]?.score).toBeGreaterThan(0.5);
  expect(await index.search('zebra')).toEqual([]);
});

test('with vectors, a passage is found by its meaning as well', async () => {
  const meanings: Readonly<Record<string, readonly number[]>> = {
    francs: [1, 0],
    blocked: [0, 1],
    open: [1, 1],
  };
  const embed = async (texts: readonly string[]) =>
    texts.map((text) => {
      const [, vector = [0, 3]] =
        Object.entries(meanings).find(([word]) => text.includes(word)) ?? [];
      return Float32Array.from(vector);
    });
  const index = await PassageIndex.build(passages, { embedPassages: embed });
  const found = await index.search('my Visa was stolen', { limit: 1 });
  expect(found).toEqual([{ passage: passages[1], score: 1, by: 'meaning' }]);
});

test('vectors of another number or length are refused', async () => {
  const build = PassageIndex.build(passages, { embedPassages: async () => [Float32Array.of(1)] });
  await expect(build).rejects.toThrow(
    /returned 1 vectors for \d+ texts, or vectors of different lengths/,
  );
});

test('a query with many frequent words looks at few documents', async () => {
  const many = Array.from({ length: 3_000 }, (_, at) => ({
    source: String(at),
    title: '',
    text: `all of these have the same words and number n${at}`,
  }));
  const index = await PassageIndex.build(many);
  const [best] = await index.search('which of all these have the number n1234');
  expect(best?.passage.source).toBe('1234');
});

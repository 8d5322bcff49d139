import MiniSearch, { type Query, type SearchResult } from 'minisearch';

/**
 * A document that a search found.
 * @example
 * const notes = ['The train is late', 'It rains'];
 * const [best]: readonly Ranked<string>[] = rank('late train', notes, String);
 * best?.fit; // 1: both words are there
 */
export interface Ranked<T> {
  readonly document: T;
  /** Okapi BM25; comparable within one search only. */
  readonly score: number;
  /** Of the best document's score, from 0 to 1: the best has 1, however bad it is. */
  readonly relative: number;
  /** How much of the query the document covers, from 0 to 1: 0.2 is a bad match, even if the best. */
  readonly fit: number;
}

/** Of a query. */
const maxWords = 64;
/** A word with another ending, or with a letter wrong, counts less than the word itself. */
const kinWeight = 0.6;
const shortestStem = 4;
const maxEndingLength = 3;
/** Documents that a query may look at by its words; the most frequent words beyond it are left out. */
const maxLooks = 1_000;
/** Documents that a search returns at most. */
const maxRanked = 1_000;
/** A document with all words of the query side by side scores so many times more. */
const phraseWeight = 2;
/** Documents in which words side by side are looked for: the best by their words alone. */
const maxPhraseLooks = 50;

/** The words of a document, which stand between spaces; `id` is its place among the documents. */
interface Indexed {
  readonly id: number;
  readonly words: string;
}

/**
 * Documents, found by their words (BM25) in any script.
 * @example
 * const index = new SearchIndex((note: { text: string }) => note.text);
 * index.add({ text: 'Allergic to nuts' });
 * index.search('nut')[0]?.document; // { text: 'Allergic to nuts' }
 */
export class SearchIndex<T> {
  readonly #textOf: (document: T) => string;
  readonly #documents: T[] = [];
  /** How many documents have each word. */
  readonly #having = new Map<string, number>();
  readonly #search = new MiniSearch<Indexed>({
    fields: ['words'],
    tokenize: (words) => words.split(' ').slice(1, -1),
    processTerm: (term) => term,
    searchOptions: {
      bm25: { k: 1.5, b: 0.75, d: 0 },
      // A word without its ending is found twice: as a stem, and as one with a letter less.
      weights: { prefix: kinWeight, fuzzy: kinWeight / 2 },
    },
  });

  constructor(textOf: (document: T) => string) {
    this.#textOf = textOf;
  }

  add(document: T): void {
    const said = wordsOf(this.#textOf(document));
    for (const word of new Set(said)) this.#having.set(word, (this.#having.get(word) ?? 0) + 1);
    this.#search.add({ id: this.#documents.length, words: spaced(said) });
    this.#documents.push(document);
  }

  /** Best first; documents without a match are left out. */
  search(query: string): readonly Ranked<T>[] {
    const said = wordsOf(query).slice(0, maxWords);
    const words = this.#rarest([...new Set(said)]);
    if (words.length === 0) return [];
    const stems = new Map(words.flatMap((word) => stemsOf(word).map((stem) => [stem, word])));
    const rare = new Set(words);
    const phrases = said
      .slice(1)
      .map((word, at) => [said[at] ?? '', word])
      .filter((pair) => pair.every((word) => rare.has(word)))
      .map(spaced);
    const boostDocument = this.#isEverywhere(words) ? firstOf(maxLooks) : undefined;
    const found = this.#search.search(queryOf(words, [...stems.keys()]), {
      ...(boostDocument !== undefined && { boostDocument }),
    });
    const fitOf = fits(words, stems, { found, documents: this.#documents.length });
    const ranked = found.slice(0, maxRanked).flatMap((result, at) => {
      const { id, score, queryTerms } = result;
      const document = this.#documents[Number(id)];
      if (document === undefined) return [];
      // The library multiplies by the number of words, among which stems would count again.
      const plain = score / Math.max(1, queryTerms.length);
      const bonus = at < maxPhraseLooks ? this.#phraseBonus(document, phrases) : 1;
      return [{ document, score: plain * bonus, fit: fitOf(result) }];
    });
    const sorted = ranked.toSorted((one, other) => other.score - one.score);
    return sorted.map((each) => ({ ...each, relative: each.score / (sorted[0]?.score ?? 1) }));
  }

  /** How many times more a document scores for the phrases that it has. */
  #phraseBonus(document: T, phrases: readonly string[]): number {
    if (phrases.length === 0) return 1;
    const text = spaced(wordsOf(this.#textOf(document)));
    const met = phrases.filter((phrase) => text.includes(phrase)).length;
    return 1 + (phraseWeight * met) / phrases.length;
  }

  /** The rarest words, as many as the work allows: words of every document select nothing. */
  #rarest(words: readonly string[]): readonly string[] {
    const rarest = words.toSorted((one, other) => this.#countOf(one) - this.#countOf(other));
    let budget = maxLooks;
    const kept = new Set(
      rarest.filter((word, at) => {
        budget -= this.#countOf(word);
        return at === 0 || budget >= 0;
      }),
    );
    return words.filter((word) => kept.has(word));
  }

  /** Whether each word is in most documents, so that ranking all of them would tell nothing. */
  #isEverywhere(words: readonly string[]): boolean {
    const least = Math.max(maxLooks, this.#documents.length / 2);
    return words.every((word) => this.#countOf(word) > least);
  }

  #countOf(word: string): number {
    return this.#having.get(word) ?? 0;
  }
}

/** Weighs the first documents that are met by 1, and all others by 0: they are left out. */
function firstOf(most: number): (id: unknown) => number {
  const met = new Set<unknown>();
  return (id) => {
    if (met.size < most) met.add(id);
    return met.has(id) ? 1 : 0;
  };
}

function spaced(words: readonly string[]): string {
  return ` ${words.join(' ')} `;
}

/**
 * Ranks documents by a query, best first; documents without a match are left out.
 * @example rank('book a flight', cards, (card: AgentCard) => card.description)
 */
export function rank<T>(
  query: string,
  documents: Iterable<T>,
  textOf: (document: T) => string,
): readonly Ranked<T>[] {
  const index = new SearchIndex(textOf);
  for (const document of documents) index.add(document);
  return index.search(query);
}

/** `bookings` without its ending: `booking`, `bookin`, `booki`. */
function stemsOf(word: string): readonly string[] {
  return Array.from({ length: maxEndingLength }, (_, at) => word.slice(0, -1 - at)).filter(
    (stem) => stem.length >= shortestStem,
  );
}

function queryOf(words: readonly string[], stems: readonly string[]): Query {
  const own = {
    queries: [spaced(words)],
    prefix: (term: string) => term.length >= shortestStem,
    fuzzy: (term: string) => (term.length > 5 ? 1 : false),
  };
  if (stems.length === 0) return { combineWith: 'OR', queries: [own] };
  const withoutEnding = { queries: [spaced(stems)], boostTerm: () => kinWeight / 2 };
  return { combineWith: 'OR', queries: [own, withoutEnding] };
}

/** How much of the query a result covers. Rare words weigh more, and words that no document has the most. */
function fits(
  words: readonly string[],
  stems: ReadonlyMap<string, string>,
  { found, documents }: { readonly found: readonly SearchResult[]; readonly documents: number },
): (result: SearchResult) => number {
  const shareOf = ({ terms, queryTerms }: SearchResult, word: string): number => {
    if (terms.includes(word)) return 1;
    return queryTerms.some((term) => (stems.get(term) ?? term) === word) ? kinWeight : 0;
  };
  const weights = words.map((word) => {
    let having = 0;
    for (const result of found) if (shareOf(result, word) > 0) having += 1;
    return Math.log((documents - having + 0.5) / (having + 0.5) + 1);
  });
  const sum = (numbers: readonly number[]): number => numbers.reduce((one, two) => one + two, 0);
  const whole = sum(weights);
  return (result) =>
    sum(words.map((word, at) => shareOf(result, word) * (weights[at] ?? 0))) / whole;
}

/** Scripts that put no spaces between words: their texts are known by pairs of characters. */
const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー`;
const runs = new RegExp(
  String.raw`(?<unspaced>[${unspaced}][${unspaced}\p{M}]*)|[[\p{L}\p{N}\p{M}]--[${unspaced}]]+`,
  'gv',
);
/** Accents of Latin, Greek and Cyrillic, and the vowel points of Arabic and Hebrew. */
const accents = /[\u0300-\u036f\u0591-\u05c7\u064b-\u0652]/g;

/** Most texts have nothing to normalise. */
const ascii = /^\p{ASCII}*$/u;
const asciiRuns = /[a-z0-9]+/g;

/** Characters of a text that are looked at. */
const maxTextLength = 100_000;

/**
 * The words of a text in any script, without regard to case, accents and width. Names such as
 * `queryAvailability` and `query_availability` are taken apart. In scripts without spaces
 * between words, every two adjacent characters count as one word.
 * @example wordsOf('Déjà-vu 東京都') // ['deja', 'vu', '東京', '京都']
 */
export function wordsOf(text: string): string[] {
  const read = text.slice(0, maxTextLength);
  const apart = read.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2');
  if (ascii.test(apart)) return apart.toLowerCase().match(asciiRuns) ?? [];
  const plain = apart.normalize('NFKD').replaceAll(accents, '').normalize('NFKC').toLowerCase();
  return [...plain.matchAll(runs)].flatMap((match) =>
    match.groups?.['unspaced'] === undefined ? [match[0]] : pairs(match[0]),
  );
}

function pairs(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

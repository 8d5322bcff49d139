import { kinWeight, WordIndex } from './word-index.ts';

/**
 * A document that a search found.
 * @example
 * const notes = ['The train is late', 'It rains'];
 * const [best]: readonly Ranked<string>[] = rank('late train', notes, String);
 * best?.fit; // 1: it contains both words
 */
export interface Ranked<T> {
  readonly document: T;
  /** Okapi BM25; comparable within one search only. */
  readonly score: number;
  /** The share of the best document's score, from 0 to 1. The best has 1, even if it is a bad match. */
  readonly relative: number;
  /** How much of the query the document covers, from 0 to 1: 0.2 is a bad match, even if the best. */
  readonly fit: number;
}

/** Maximum words of a query. */
const maxWords = 64;
const shortestStem = 4;
const maxEndingLength = 3;
/** Maximum documents that a query reads by its words. The most frequent words beyond it are ignored. */
const maxLooks = 1_000;
/** Maximum documents in a result. */
const maxRanked = 1_000;
/** Added to the score factor of a document that contains all adjacent word pairs of the query. */
const phraseWeight = 2;
/** Documents that are searched for adjacent word pairs: the best by single words. */
const maxPhraseLooks = 50;

/**
 * A full-text index (BM25) of documents in any script.
 * @example
 * const index = new SearchIndex((note: { text: string }) => note.text);
 * index.add({ text: 'Allergic to nuts' });
 * index.search('nut')[0]?.document; // { text: 'Allergic to nuts' }
 */
export class SearchIndex<T> {
  readonly #textOf: (document: T) => string;
  readonly #documents: T[] = [];
  readonly #words = new WordIndex();

  constructor(textOf: (document: T) => string) {
    this.#textOf = textOf;
  }

  add(document: T): void {
    this.#words.add(wordsOf(this.#textOf(document)));
    this.#documents.push(document);
  }

  /** Best first; documents without a match are left out. */
  search(query: string): readonly Ranked<T>[] {
    const said = wordsOf(query).slice(0, maxWords);
    const words = this.#rarest([...new Set(said)]);
    if (words.length === 0) return [];
    const found = this.#match(words);
    const best = found.places
      .toSorted((one, other) => found.scoreOf(other) - found.scoreOf(one))
      .slice(0, maxRanked);
    const rare = new Set(words);
    const phrases = said
      .slice(1)
      .map((word, at) => [said[at] ?? '', word])
      .filter((pair) => pair.every((word) => rare.has(word)))
      .map(spaced);
    const fitOf = fits(words.length, found, this.#documents.length);
    const ranked = best.flatMap((place, at) => {
      const document = this.#documents[place];
      if (document === undefined) return [];
      const bonus = at < maxPhraseLooks ? this.#phraseBonus(document, phrases) : 1;
      return [{ document, score: found.scoreOf(place) * bonus, fit: fitOf(place) }];
    });
    const sorted = ranked.toSorted((one, other) => other.score - one.score);
    return sorted.map((each) => ({ ...each, relative: each.score / (sorted[0]?.score ?? 1) }));
  }

  /** Finds documents with at least one of the words, also with another ending or one wrong letter. */
  #match(words: readonly string[]): Found {
    const count = this.#documents.length;
    const most = this.#isEverywhere(words) ? maxLooks : count;
    const scores = new Float64Array(count);
    const shares = new Uint8Array(count * words.length);
    const places: number[] = [];
    const match = (word: string, at: number, weight: number, share: number): void =>
      this.#words.score(word, (place, score) => {
        if (scores[place] === 0) {
          if (places.length >= most) return;
          places.push(place);
        }
        scores[place] = (scores[place] ?? 0) + score * weight;
        const key = place * words.length + at;
        if ((shares[key] ?? 0) < share) shares[key] = share;
      });
    for (const [at, word] of words.entries()) {
      match(word, at, 1, whole);
      for (const [other, weight] of this.#words.similarTo(word)) match(other, at, weight, kin);
    }
    // A word without its ending matches twice: as a stem, and as an edit with one letter less.
    const stems = new Map(words.flatMap((word, at) => stemsOf(word).map((stem) => [stem, at])));
    for (const [stem, at] of stems) match(stem, at, kinWeight / 2, kin);
    return {
      places,
      scoreOf: (place) => scores[place] ?? 0,
      shareOf: (place, at) => shareWeights[shares[place * words.length + at] ?? 0] ?? 0,
    };
  }

  /** The score factor for the phrases in a document. */
  #phraseBonus(document: T, phrases: readonly string[]): number {
    if (phrases.length === 0) return 1;
    const text = spaced(wordsOf(this.#textOf(document)));
    const met = phrases.filter((phrase) => text.includes(phrase)).length;
    return 1 + (phraseWeight * met) / phrases.length;
  }

  /** The rarest words within the work limit. A word in every document selects nothing. */
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

  /** Whether most documents contain each word, so that a ranking of all of them has no value. */
  #isEverywhere(words: readonly string[]): boolean {
    const least = Math.max(maxLooks, this.#documents.length / 2);
    return words.every((word) => this.#countOf(word) > least);
  }

  #countOf(word: string): number {
    return this.#words.countOf(word);
  }
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

/** How a document contains a word: not at all (0), a similar form, or the word itself. */
const kin = 1;
const whole = 2;
const shareWeights = [0, kinWeight, 1];

/** The matches of a query, by the positions of documents in the index. */
interface Found {
  readonly places: readonly number[];
  scoreOf(place: number): number;
  /** How well a document matches the query's word at an index, from 0 to 1. */
  shareOf(place: number, at: number): number;
}

/** How much of the query a result covers. Rare words weigh more, and words that no document has the most. */
function fits(words: number, found: Found, documents: number): (place: number) => number {
  const weights = Array.from({ length: words }, (_, at) => {
    let having = 0;
    for (const place of found.places) if (found.shareOf(place, at) > 0) having += 1;
    return Math.log((documents - having + 0.5) / (having + 0.5) + 1);
  });
  const all = weights.reduce((one, two) => one + two, 0);
  return (place) =>
    weights.reduce((sum, weight, at) => sum + weight * found.shareOf(place, at), 0) / all;
}

/** Scripts without spaces between words. Their texts are indexed by pairs of characters. */
const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー`;
const runs = new RegExp(
  String.raw`(?<unspaced>[${unspaced}][${unspaced}\p{M}]*)|[[\p{L}\p{N}\p{M}]--[${unspaced}]]+`,
  'gv',
);
/** Accents of Latin, Greek and Cyrillic, and the vowel points of Arabic and Hebrew. */
const accents = /[\u0300-\u036f\u0591-\u05c7\u064b-\u0652]/g;

/** ASCII texts need no normalisation. */
const ascii = /^\p{ASCII}*$/u;
const asciiRuns = /[a-z0-9]+/g;

/** Characters of a text that are indexed. */
const maxTextLength = 100_000;

/**
 * The words of a text in any script, without regard to case, accents and width. Names such as
 * `queryAvailability` and `query_availability` are split. In scripts without spaces
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

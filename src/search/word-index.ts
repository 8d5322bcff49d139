/** A word with another ending or one wrong letter counts less than an exact match. */
export const kinWeight = 0.6;
/** The BM25 parameters: saturation of repeated words (k1) and length normalisation (b). */
const k = 1.5;
const b = 0.75;
/** Shorter words are not matched with other endings. */
const shortestStem = 4;
/** Shorter words are not matched with a wrong letter. */
const leastForEdits = 6;
const keyLength = 3;
/** A word that starts with the query's word is closer to it than a word with a wrong letter. */
const endingCost = 0.3;

/**
 * An inverted index with relevance scores (Okapi BM25). Documents are numbered in insertion order.
 * @example
 * const index = new WordIndex();
 * index.add(['the', 'train', 'is', 'late']);
 * index.score('train', (document, score) => console.log(document, score)); // 0, 0.28...
 */
export class WordIndex {
  /** For each word, pairs of a document number and the frequency of the word in it. */
  readonly #postings = new Map<string, number[]>();
  /** The number of distinct words of each document. */
  readonly #lengths: number[] = [];
  #totalLength = 0;
  /**
   * Longer words by their first and by their last letters. One wrong letter changes only one of these
   * keys, so that both words share the other.
   */
  readonly #byStart = new Map<string, string[]>();
  readonly #byEnd = new Map<string, string[]>();

  add(words: readonly string[]): void {
    const document = this.#lengths.length;
    let length = 0;
    for (const word of words) {
      const postings = this.#postings.get(word);
      if (postings === undefined) {
        this.#postings.set(word, [document, 1]);
        this.#note(word);
        length += 1;
      } else if (postings.at(-2) === document) {
        postings[postings.length - 1] = (postings.at(-1) ?? 0) + 1;
      } else {
        postings.push(document, 1);
        length += 1;
      }
    }
    this.#lengths.push(length);
    this.#totalLength += length;
  }

  /** The number of documents that contain a word. */
  countOf(word: string): number {
    return (this.#postings.get(word)?.length ?? 0) / 2;
  }

  /** Visits the documents of a word, oldest first. */
  score(word: string, visit: (document: number, score: number) => void): void {
    const postings = this.#postings.get(word);
    if (postings === undefined) return;
    const having = postings.length / 2;
    const documents = this.#lengths.length;
    const weight = Math.log(1 + (documents - having + 0.5) / (having + 0.5));
    const average = this.#totalLength / documents;
    for (let at = 0; at < postings.length; at += 2) {
      const document = postings[at] ?? 0;
      const times = postings[at + 1] ?? 0;
      const length = (this.#lengths[document] ?? 0) / average;
      visit(document, (weight * times * (k + 1)) / (times + k * (1 - b + b * length)));
    }
  }

  /**
   * Indexed words that start with a word, or differ from it by one letter, with their weights. Empty
   * for short words.
   */
  similarTo(word: string): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    const { length } = word;
    if (length < shortestStem) return found;
    const starts = this.#byStart.get(word.slice(0, keyLength)) ?? [];
    for (const other of starts) {
      const more = other.length - length;
      if (more > 0 && other.startsWith(word)) {
        found.set(other, (kinWeight * other.length) / (other.length + endingCost * more));
      }
    }
    if (length < leastForEdits) return found;
    for (const list of [starts, this.#byEnd.get(word.slice(-keyLength)) ?? []]) {
      for (const other of list) {
        if (found.has(other) || !isOneEdit(word, other)) continue;
        found.set(other, ((kinWeight / 2) * other.length) / (other.length + 1));
      }
    }
    return found;
  }

  #note(word: string): void {
    if (word.length < shortestStem) return;
    push(this.#byStart, word.slice(0, keyLength), word);
    if (word.length < leastForEdits - 1) return;
    push(this.#byEnd, word.slice(-keyLength), word);
  }
}

function push(lists: Map<string, string[]>, key: string, word: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [word]);
  else list.push(word);
}

/** Whether one letter must be added, removed or replaced to make one word of the other. */
function isOneEdit(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1 || short === long) return false;
  let start = 0;
  while (start < short.length && short[start] === long[start]) start += 1;
  let end = 0;
  const most = short.length - start;
  while (end < most && short.at(-1 - end) === long.at(-1 - end)) end += 1;
  return long.length - start - end <= 1;
}

import { tokensOf } from './tokens.ts';

/**
 * A ranked document.
 * @example
 * const notes = ['The train is late', 'It rains'];
 * const [best]: readonly Ranked<string>[] = rank('late train', notes, String);
 * best?.fit; // 1: both words are there
 */
export interface Ranked<T> {
  readonly document: T;
  /** Okapi BM25; comparable within one ranking only. */
  readonly score: number;
  /** Of the best document's score, from 0 to 1: the best has 1, however bad it is. */
  readonly relative: number;
  /** How much of the query the document speaks of, from 0 to 1: 0.2 is a bad answer, even if the best. */
  readonly fit: number;
}

const k1 = 1.5;
const b = 0.75;
/** Two words of the query that follow each other in the document count like this many words more. */
const phraseWeight = 2;
/** A word that begins like the wanted one counts less than the word itself. */
const stemWeight = 0.6;
const shortestStem = 4;
const longestEnding = 3;

interface Indexed<T> {
  readonly document: T;
  readonly tokens: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Ranks documents by a query, best first; those that share nothing with it are left out.
 * @example rank('book a flight', cards, (card: AgentCard) => card.description)
 */
export function rank<T>(
  query: string,
  documents: Iterable<T>,
  textOf: (document: T) => string,
): readonly Ranked<T>[] {
  const wanted = tokensOf(query).slice(0, mostQueryTokens);
  const terms = [...new Set(wanted)];
  const indexed = Array.from(documents, (document) => index(document, tokensOf(textOf(document))));
  if (terms.length === 0 || indexed.length === 0) return [];
  const length = indexed.reduce((sum, { tokens }) => sum + tokens.length, 0) / indexed.length || 1;
  const hits = terms.map((term) => indexed.map(({ counts }) => occurrences(term, counts)));
  const weights = hits.map((counts) => rarity(indexed.length, counts.filter(Boolean).length));
  const wholeWeight = weights.reduce((sum, weight) => sum + weight, 0);
  const ranked = indexed.map(({ document, tokens }, at) => {
    let score = 0;
    let met = 0;
    for (const [number, weight] of weights.entries()) {
      const count = hits[number]?.[at] ?? 0;
      score += weight * saturate(count, tokens.length, length);
      met += weight * Math.min(1, count);
    }
    const phrases = phrasesOf(wanted, tokens);
    score += phraseWeight * rarity(indexed.length, 1) * saturate(phrases, tokens.length, length);
    return { document, score, fit: met / wholeWeight };
  });
  const found = ranked.filter(({ score }) => score > 0).toSorted((x, y) => y.score - x.score);
  const best = found[0]?.score ?? 1;
  return found.map((each) => ({ ...each, relative: each.score / best }));
}

const mostQueryTokens = 64;

function index<T>(document: T, tokens: readonly string[]): Indexed<T> {
  const counts = new Map<string, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return { document, tokens, counts };
}

function rarity(documents: number, having: number): number {
  return Math.log((documents - having + 0.5) / (having + 0.5) + 1);
}

function saturate(count: number, length: number, averageLength: number): number {
  return (count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / averageLength));
}

/** How often a word occurs, where other endings of it count for less. */
function occurrences(term: string, counts: ReadonlyMap<string, number>): number {
  const exact = counts.get(term);
  if (exact !== undefined) return exact;
  let best = 0;
  for (const [token, count] of counts) if (isSameStem(term, token)) best = Math.max(best, count);
  return best === 0 ? 0 : stemWeight;
}

function isSameStem(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return (
    short.length >= shortestStem &&
    long.length - short.length <= longestEnding &&
    long.startsWith(short)
  );
}

function phrasesOf(wanted: readonly string[], tokens: readonly string[]): number {
  const pairs = new Set(wanted.slice(1).map((word, at) => `${wanted[at]}\n${word}`));
  if (pairs.size === 0) return 0;
  let count = 0;
  for (let at = 1; at < tokens.length; at += 1) {
    if (pairs.has(`${tokens[at - 1]}\n${tokens[at]}`)) count += 1;
  }
  return count;
}

import { editDistance } from '../../../config/index.ts';
import type { Language } from './language.ts';
import { allowedMistakes } from './words.ts';

/**
 * Function words of other languages, which are not typos of English words: "wie" in "wie hoch ist mein
 * ..." is not "wire".
 */
const foreign = new Set(
  `wie ist mein meine meinen ich und nicht ein eine einen der das dem den mit fur auf von wir sie hoch
   que qui est une mon mes les des pour avec vous nous por para con una los las mis sus como che sono non mio
   het een niet van mijn voor`.split(/\s+/),
);

/** Corrects typos: prefers the words of a project to those of the language. */
export class Spelling {
  readonly #language: Language;
  readonly #own: ReadonlySet<string>;
  readonly #byLength = new Map<number, string[]>();
  readonly #known = new Map<string, string | undefined>();

  constructor(own: ReadonlySet<string>, language: Language) {
    this.#own = own;
    this.#language = language;
    for (const word of new Set([...own, ...language.known])) {
      if (word.length < 3) continue;
      const same = this.#byLength.get(word.length);
      if (same === undefined) this.#byLength.set(word.length, [word]);
      else same.push(word);
    }
  }

  isKnown(word: string): boolean {
    const isListed = (one: string): boolean => this.#own.has(one) || this.#language.known.has(one);
    if (isListed(word) || foreign.has(word)) return true;
    const plural = word.length > 3 ? /(?:e?s)$/.exec(word) : null;
    return (
      plural !== null && (isListed(word.slice(0, -1)) || isListed(word.slice(0, plural.index)))
    );
  }

  /** The corrected word; undefined for correct words, and for words that resemble none. */
  correct(word: string): string | undefined {
    if (word.length < 3 || word.length > 24 || /\d/.test(word) || this.isKnown(word)) {
      return undefined;
    }
    if (this.#known.has(word)) return this.#known.get(word);
    const found = this.#nearest(word);
    // A bounded cache: users repeat the same typos.
    if (this.#known.size < 2_000) this.#known.set(word, found);
    return found;
  }

  #nearest(word: string): string | undefined {
    const limit = word.length === 3 ? 1 : allowedMistakes(word.length);
    let best: { readonly word: string; readonly distance: number } | undefined;
    for (let length = word.length - limit; length <= word.length + limit; length += 1) {
      for (const other of this.#byLength.get(length) ?? []) {
        if (!isAlike(word, other)) continue;
        const distance = editDistance(word, other, limit);
        if (distance > limit) continue;
        // Swapped and missing letters are the most common typos. Among equal candidates, the project's
        // own word wins.
        const isSwapped = distance === 1 && other.length === word.length && isAnagram(word, other);
        const isMissing = other.length > word.length;
        const cost =
          distance - (isSwapped ? 0.4 : isMissing ? 0.2 : 0) - (this.#own.has(other) ? 0.3 : 0);
        if (best === undefined || cost < best.distance) best = { word: other, distance: cost };
      }
    }
    return best?.word;
  }
}

/**
 * Whether two words are similar enough to compute a distance. The first letter must be right, or swapped
 * with the second; three-letter words must be anagrams or miss one letter inside.
 */
function isAlike(word: string, other: string): boolean {
  if (word.length === 3 || other.length === 3) {
    const isMissing = other.length === 4 && word[0] === other[0] && word.at(-1) === other.at(-1);
    return (
      isMissing || (word.length === other.length && word.length === 3 && isAnagram(word, other))
    );
  }
  return word[0] === other[0] || (word[0] === other[1] && word[1] === other[0]);
}

function isAnagram(one: string, two: string): boolean {
  return Array.from(one).toSorted().join('') === Array.from(two).toSorted().join('');
}

/** Number words and their values. */
const units: Readonly<Record<string, number>> = {
  zero: 0,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  thirteen: 13,
  fourteen: 14,
  fifteen: 15,
  sixteen: 16,
  seventeen: 17,
  eighteen: 18,
  nineteen: 19,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fourty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
};

const scales: Readonly<Record<string, number>> = {
  hundred: 100,
  thousand: 1e3,
  grand: 1e3,
  k: 1e3,
  million: 1e6,
  mio: 1e6,
  mn: 1e6,
  m: 1e6,
  billion: 1e9,
  bn: 1e9,
};

export function unitOf(word: string): number | undefined {
  return Object.hasOwn(units, word) ? units[word] : undefined;
}

/** Plurals count the same: "two millions". */
export function scaleOf(word: string): number | undefined {
  const singular = word.length > 2 ? word.replace(/s$/, '') : word;
  return Object.hasOwn(scales, singular) ? scales[singular] : undefined;
}

export interface SpokenNumber {
  readonly value: number;
  /** How many words it took. */
  readonly length: number;
}

/**
 * A number in words at the beginning of a list of words, or undefined.
 * @example spokenNumber(['two', 'hundred', 'and', 'fifty', 'euros']) // { value: 250, length: 4 }
 */
export function spokenNumber(words: readonly string[]): SpokenNumber | undefined {
  const fixed = fixedPhrase(words);
  if (fixed !== undefined) return fixed;
  let total = 0;
  let part: number | undefined;
  let length = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const unit = unitOf(word);
    const scale = scaleOf(word);
    if (unit !== undefined && mayFollow(part, unit)) {
      part = (part ?? 0) + unit;
      length = index + 1;
    } else if (scale !== undefined && word.length > 2 && part !== undefined) {
      if (scale === 100) part *= 100;
      else {
        total += part * scale;
        part = 0;
      }
      length = index + 1;
    } else if (word !== 'and' || length === 0 || unitOf(words[index + 1] ?? '') === undefined) {
      break;
    }
  }
  return length === 0 ? undefined : { value: total + (part ?? 0), length };
}

/** "twenty five" is one number, "five twenty" and "five six" are two. */
function mayFollow(part: number | undefined, unit: number): boolean {
  if (part === undefined || part === 0) return true;
  const rest = part % 100;
  return rest === 0 ? unit > 0 : rest >= 20 && rest % 10 === 0 && unit > 0 && unit < 10;
}

/** "a hundred", "half a million", "a couple of", "a dozen". */
function fixedPhrase(words: readonly string[]): SpokenNumber | undefined {
  const [first = '', second = '', third = ''] = words;
  if (first === 'half' && second === 'a') {
    const scale = third === 'dozen' ? 12 : scaleOf(third);
    if (scale !== undefined && third.length > 2) return { value: scale / 2, length: 3 };
  }
  if (first !== 'a' && first !== 'an')
    return first === 'dozen' ? { value: 12, length: 1 } : undefined;
  if (second === 'dozen') return { value: 12, length: 2 };
  if (second === 'couple') return { value: 2, length: third === 'of' ? 3 : 2 };
  const scale = second.length > 2 ? scaleOf(second) : undefined;
  if (scale === undefined) return undefined;
  const more = third === 'and' ? spokenNumber(words.slice(3)) : spokenNumber(words.slice(2));
  if (more === undefined || more.value >= scale) return { value: scale, length: 2 };
  return { value: scale + more.value, length: more.length + (third === 'and' ? 3 : 2) };
}

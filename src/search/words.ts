/** Scripts that put no spaces between words: their texts are known by pairs of characters. */
const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー`;
const runs = new RegExp(
  String.raw`(?<unspaced>[${unspaced}][${unspaced}\p{M}]*)|[[\p{L}\p{N}\p{M}]--[${unspaced}]]+`,
  'gv',
);
/** Accents of Latin, Greek and Cyrillic, and the vowel points of Arabic and Hebrew. */
const accents = /[\u0300-\u036f\u0591-\u05c7\u064b-\u0652]/g;

/** Characters of a text that are looked at. */
const maxTextLength = 100_000;

/**
 * The words of a text in any script, without regard to case, accents and width. Names such as
 * `queryAvailability` and `query_availability` are taken apart. In scripts without spaces
 * between words, every two adjacent characters count as one word.
 * @example wordsOf('Déjà-vu 東京都') // ['deja', 'vu', '東京', '京都']
 */
export function wordsOf(text: string): string[] {
  const plain = text
    .slice(0, maxTextLength)
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKD')
    .replaceAll(accents, '')
    .normalize('NFKC')
    .toLowerCase();
  return [...plain.matchAll(runs)].flatMap((match) =>
    match.groups?.['unspaced'] === undefined ? [match[0]] : pairs(match[0]),
  );
}

function pairs(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/**
 * The words of a text, in any script: lower case, compatibility forms folded, names such as
 * `queryAvailability` and `query-availability` taken apart. Scripts without spaces are split by the
 * dictionary of the runtime.
 */
export function tokensOf(text: string): readonly string[] {
  const plain = text.slice(0, longestText).replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2');
  const tokens: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(plain.normalize('NFKC'))) {
    // Underscores join words for a segmenter, and for nobody else.
    if (isWordLike === true) tokens.push(...segment.toLowerCase().split('_').filter(Boolean));
  }
  return tokens;
}

const longestText = 100_000;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

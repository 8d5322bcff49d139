/**
 * The candidate nearest to a misspelt word, if one is near enough.
 * @example didYouMean('colect', ['collect', 'call']) // 'collect'
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.slice(0, 100).toLowerCase();
  let best: string | undefined;
  // Slips of the pen are short; names that share a long prefix are not near for that alone.
  let least = Math.min(2, Math.max(1, Math.floor(wanted.length / 3))) + 1;
  for (const candidate of candidates) {
    if (candidate === word || Math.abs(candidate.length - wanted.length) >= least) continue;
    const far = distance(wanted, candidate.toLowerCase());
    if (far < least) [best, least] = [candidate, far];
  }
  return best;
}

/** `did you mean "collect"?`, or the fallback when nothing is near. */
export function suggest(
  word: string,
  candidates: Iterable<string>,
  fallback?: string,
): string | undefined {
  const near = didYouMean(word, candidates);
  return near === undefined ? fallback : `did you mean "${near}"?`;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function distance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let i = 1; i <= left.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return last[right.length] ?? 0;
}

/**
 * The candidate nearest to a misspelt word; undefined if none is near enough.
 * @example didYouMean('colect', ['collect', 'call']) // 'collect'
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.slice(0, 100).toLowerCase();
  let best: string | undefined;
  // A word may have at most 2 mistakes, short words fewer: a shared prefix alone is not enough.
  let least = Math.min(2, Math.max(1, Math.floor(wanted.length / 3))) + 1;
  for (const candidate of candidates) {
    if (candidate === word) continue;
    const far = editDistance(wanted, candidate.toLowerCase(), least - 1);
    if (far < least) [best, least] = [candidate, far];
  }
  return best;
}

/** `did you mean "collect"?`, or the fallback if no candidate is near. */
export function suggest(
  word: string,
  candidates: Iterable<string>,
  fallback?: string,
): string | undefined {
  const near = didYouMean(word, candidates);
  return near === undefined ? fallback : `did you mean "${near}"?`;
}

/**
 * The number of typing mistakes between two words: letters added, left out, replaced or swapped with a
 * neighbour. Distances above `limit` are returned as `limit + 1`.
 */
export function editDistance(one: string, two: string, limit: number): number {
  if (one === two) return 0;
  if (Math.abs(one.length - two.length) > limit) return limit + 1;
  let older: number[] = [];
  let previous = Array.from({ length: two.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    let best = row;
    for (let column = 1; column <= two.length; column += 1) {
      const cost = one[row - 1] === two[column - 1] ? 0 : 1;
      let value = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + cost,
      );
      const swapped =
        row > 1 &&
        column > 1 &&
        one[row - 1] === two[column - 2] &&
        one[row - 2] === two[column - 1];
      if (swapped) value = Math.min(value, (older[column - 2] ?? 0) + 1);
      current.push(value);
      best = Math.min(best, value);
    }
    if (best > limit) return limit + 1;
    older = previous;
    previous = current;
  }
  return Math.min(previous[two.length] ?? 0, limit + 1);
}

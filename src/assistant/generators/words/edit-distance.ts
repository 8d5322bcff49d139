/**
 * How many typing mistakes lie between two words: letters added, left out, replaced or swapped with
 * a neighbour. Anything above `limit` counts as `limit + 1`.
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
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + cost,
      );
      const swapped =
        row > 1 &&
        column > 1 &&
        one[row - 1] === two[column - 2] &&
        one[row - 2] === two[column - 1];
      if (swapped) value = Math.min(value, at(older, column - 2) + 1);
      current.push(value);
      best = Math.min(best, value);
    }
    if (best > limit) return limit + 1;
    older = previous;
    previous = current;
  }
  return Math.min(at(previous, two.length), limit + 1);
}

/** Mistakes that a word of this length may have and still be itself. */
export function allowedMistakes(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/** Whether two words are the same but for typing mistakes. */
export function isNearly(one: string, two: string): boolean {
  const limit = allowedMistakes(Math.min(one.length, two.length));
  return limit > 0 && editDistance(one, two, limit) <= limit;
}

function at(list: readonly number[], index: number): number {
  return list[index] ?? Number.POSITIVE_INFINITY;
}

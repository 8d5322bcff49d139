/** Lines compared at most on each side; beyond it only the first difference is shown. */
const limit = 2_000;

/**
 * A readable comparison: `-` what was expected, `+` what came, two lines around each change.
 * @example lineDiff('a\nb', 'a\nc') // '  a\n- b\n+ c'
 */
export function lineDiff(expected: string, actual: string): string {
  const before = expected.split('\n');
  const after = actual.split('\n');
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before.at(-1 - end) === after.at(-1 - end)) end++;

  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  const isLarge = removed.length > limit || added.length > limit;
  const changes = isLarge
    ? [...removed.slice(0, 10).map(minus), ...added.slice(0, 10).map(plus), '  ...']
    : changesOf(removed, added);
  return [
    ...before.slice(Math.max(0, start - 2), start).map(same),
    ...folded(changes),
    ...before.slice(before.length - end, before.length - end + 2).map(same),
  ].join('\n');
}

const same = (line: string): string => `  ${line}`;
const minus = (line: string): string => `- ${line}`;
const plus = (line: string): string => `+ ${line}`;

/** By the longest common subsequence. */
function changesOf(before: readonly string[], after: readonly string[]): string[] {
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: string[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (old !== undefined && old === fresh) {
      lines.push(same(old));
      row += 1;
      column += 1;
    } else if (
      old !== undefined &&
      (fresh === undefined || at(row + 1, column) >= at(row, column + 1))
    ) {
      lines.push(minus(old));
      row += 1;
    } else if (fresh !== undefined) {
      lines.push(plus(fresh));
      column += 1;
    }
  }
  return lines;
}

/** Long stretches without a change become one line of dots. */
function folded(lines: readonly string[]): string[] {
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - 2), index + 3).some((line) => !line.startsWith('  '));
  const out: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (isNear(index)) out.push(line);
    else if (out.at(-1) !== '  ...') out.push('  ...');
  }
  return out;
}

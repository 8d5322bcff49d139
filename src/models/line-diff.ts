import * as util from 'node:util';

/** Maximum changed lines of each side. Beyond it, only the first lines of each side are shown. */
const limit = 500;
const shownBeyond = 10;
/** Bun's `node:util` has no `diff`, so a named import would fail when the package loads. */
const hasDiff = 'diff' in util;
const marks = { '0': '  ', '1': '- ', '-1': '+ ' } as const;

/** A readable diff: `-` expected, `+` actual, with two lines of context. */
export function lineDiff(expected: string, actual: string): string {
  const before = expected.split('\n');
  const after = actual.split('\n');
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const shared = Math.min(before.length, after.length) - start;
  while (end < shared && before.at(-1 - end) === after.at(-1 - end)) end++;

  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  if (removed.length + added.length === 0) return '';
  const around = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
  const changes =
    removed.length > limit || added.length > limit || !hasDiff
      ? [
          ...removed.slice(0, shownBeyond).map((line) => `- ${line}`),
          ...added.slice(0, shownBeyond).map((line) => `+ ${line}`),
          '  ...',
        ]
      : util.diff(removed, added).map(([kind, line]) => marks[kind] + line);
  return [
    ...around(before.slice(Math.max(0, start - 2), start)),
    ...folded(changes),
    ...around(before.slice(before.length - end, before.length - end + 2)),
  ].join('\n');
}

/** Replaces long runs of unchanged lines by one line of dots. */
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

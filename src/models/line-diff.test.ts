import * as fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { lineDiff } from './line-diff.ts';

test('shows what changed and two lines around it', () => {
  const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].join('\n');
  const after = ['1', '2', '3', 'four', '5', '6', '7', '8', '9'].join('\n');
  expect(lineDiff(before, after)).toBe('  2\n  3\n- 4\n+ four\n  5\n  6');
});

test('folds what is equal between two changes', () => {
  const middle = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const diff = lineDiff(['a', ...middle, 'b'].join('\n'), ['A', ...middle, 'B'].join('\n'));
  expect(diff).toContain('  ...');
  expect(diff.split('\n').length).toBeLessThan(12);
});

test('names every line that differs, for any two texts', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const out = lineDiff(before.join('\n'), after.join('\n')).split('\n');
      const count = (list: readonly string[], line: string): number =>
        list.filter((one) => one === line).length;
      for (const line of ['a', 'b', 'c', 'd']) {
        const change = count(out, `+ ${line}`) - count(out, `- ${line}`);
        expect(change).toBe(count(after, line) - count(before, line));
      }
    }),
  );
});

test('large texts show the start of the difference only', () => {
  const before = Array.from({ length: 3_000 }, (_, index) => `old ${index}`).join('\n');
  const after = Array.from({ length: 3_000 }, (_, index) => `new ${index}`).join('\n');
  expect(lineDiff(before, after).split('\n')).toHaveLength(21);
});

test('without a diff in node:util, as on Bun, the module loads and lists both sides', async () => {
  vi.resetModules();
  vi.doMock('node:util', () => ({ default: {} }));
  onTestFinished(() => {
    vi.doUnmock('node:util');
  });
  const { lineDiff: onBun } = await import('./line-diff.ts');
  expect(onBun('a\nb\nc', 'a\nx\nc')).toContain('- b\n+ x');
});

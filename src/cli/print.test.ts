import { expect, test } from 'vitest';
import { alignColumns, oneLine } from './print.ts';

test('columns are as wide as their widest cell', () => {
  const rows = [
    ['name', 'state'],
    ['a queue', 'present'],
    ['b', ''],
  ];
  expect(alignColumns(rows)).toEqual(['name     state', 'a queue  present', 'b']);
  expect(alignColumns([])).toEqual([]);
});

test('text of others is one line without control sequences', () => {
  expect(oneLine('two\nlines, \u001b[31mred\u202e')).toBe('two lines, [31mred ');
});

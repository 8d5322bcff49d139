import { expect, test } from 'vitest';
import { didYouMean, LegateError } from '../protocol/index.ts';
import { formatPath, formatProblem, locate, Problems } from './problem.ts';

const at = (file: string, line: number, column: number) => ({
  position: { file, line, column },
  path: 'a.b',
});

test('problems come sorted by file and position, each once', () => {
  const problems = new Problems();
  problems.error(at('b.yml', 1, 1), 'first of b');
  problems.warn(at('a.yml', 10, 1), 'third of a');
  problems.error(at('a.yml', 2, 9), 'second of a', { hint: 'fix it' });
  problems.error(at('a.yml', 2, 3), 'first of a', { code: 'validation.x' });
  problems.error(at('a.yml', 2, 3), 'first of a', { code: 'validation.x' });
  expect(problems.all.map(formatProblem)).toEqual([
    'a.yml:2:3 a.b: first of a [validation.x]',
    'a.yml:2:9 a.b: second of a; fix it',
    'a.yml:10:1 a.b: warning: third of a',
    'b.yml:1:1 a.b: first of b',
  ]);
  expect(problems.errors).toHaveLength(3);
  expect(problems.warnings).toHaveLength(1);
});

test('errors end a start, warnings do not', () => {
  const problems = new Problems();
  problems.warn(at('a.yml', 1, 1), 'strange');
  problems.throwIfErrors();
  problems.error(at('a.yml', 2, 1), 'wrong');
  expect(() => problems.throwIfErrors()).toThrow(
    new LegateError('CONFIGURATION_INVALID', 'a.yml:2:1 a.b: wrong'),
  );
});

test.each([
  ['colect', ['action', 'collect', 'call'], 'collect'],
  ['utter_ask_nmae', ['utter_ask_name', 'utter_bye'], 'utter_ask_name'],
  ['Collect', ['collect'], 'collect'],
  ['zebra', ['collect', 'call'], undefined],
  ['x', [], undefined],
])('did you mean: %s among %j is %s', (word, candidates, expected) => {
  expect(didYouMean(word, candidates)).toBe(expected);
});

test('paths read like code', () => {
  expect(formatPath(['flows', 'a', 'steps', 2, 'next', 'x.y'])).toBe(
    'flows.a.steps[2].next["x.y"]',
  );
});

test('locate counts lines and columns from 1', () => {
  expect(locate('ab\ncd', 0)).toEqual({ line: 1, column: 1 });
  expect(locate('ab\ncd', 2)).toEqual({ line: 1, column: 3 });
  expect(locate('ab\ncd', 4)).toEqual({ line: 2, column: 2 });
});

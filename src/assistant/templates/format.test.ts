import { expect, test } from 'vitest';
import { renderEach, renderFormat } from './template.ts';

const scope = { name: 'Ann', amount: 50, missing: null, ok: true };

test.each([
  ['Pay {amount} to {name}.', 'Pay 50 to Ann.'],
  ['{missing} {ok}', 'None True'],
  ['{unknown} {constructor} {"a": 1} { name }', '{unknown} {constructor} {"a": 1} { name }'],
  ['{{name}}', '{Ann}'],
])('format strings: %s renders as %s', (text, expected) => {
  expect(renderFormat(text, scope)).toBe(expected);
});

test('every text of a payload is rendered, and only its texts', () => {
  const payload = { title: 'For {name}', rows: ['{amount}', 1, null, { deep: '{ok}' }] };
  expect(renderEach(payload, (text) => renderFormat(text, scope))).toEqual({
    title: 'For Ann',
    rows: ['50', 1, null, { deep: 'True' }],
  });
});

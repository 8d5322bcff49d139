import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import * as arbitrary from '../testing/arbitraries.ts';
import type { Part } from '../model.ts';
import { ContentMark } from './content-mark.ts';
import { appendParts, isPlainText } from './parts.ts';

const part: fc.Arbitrary<Part> = fc.oneof(
  // Halves of surrogate pairs included: agents may cut them.
  fc.string({ unit: 'binary' }).map((text): Part => ({ text })),
  fc.constantFrom<Part>({ text: 'x', mediaType: 'text/markdown' }, { text: '' }, { text: 'aa' }),
  arbitrary.part,
);
const parts = fc.array(part, { maxLength: 6 });

/** The same content, with text cut wherever these numbers say. */
function split(content: readonly Part[], cuts: readonly number[]): readonly Part[] {
  return content.flatMap((each, index) => {
    const { text } = each;
    const cut = cuts[index];
    if (text === undefined || cut === undefined || !isPlainText(each)) return [each];
    const at = cut % (text.length + 1);
    return [
      { ...each, text: text.slice(0, at) },
      { ...each, text: text.slice(at) },
    ];
  });
}

/** As readers see it: texts that follow one another are one text. */
function joined(content: readonly Part[]): readonly Part[] {
  const all: Part[] = [];
  for (const each of content) if (each.text !== '' || !isPlainText(each)) appendParts(all, [each]);
  return all;
}

test('the mark is the same however text was split into parts', () => {
  fc.assert(
    fc.property(parts, fc.array(fc.nat(20)), (content, cuts) => {
      expect(ContentMark.of(split(content, cuts)).toString()).toBe(
        ContentMark.of(content).toString(),
      );
    }),
  );
});

test('what follows a mark completes the content', () => {
  fc.assert(
    fc.property(parts, parts, fc.array(fc.nat(20)), (one, other, cuts) => {
      const whole = split([...one, ...other], cuts);
      const rest = ContentMark.of(one).rest(whole);
      expect(rest).toBeDefined();
      expect(joined([...one, ...(rest ?? [])])).toEqual(joined(whole));
    }),
  );
});

test('there is nothing to complete where the content is another', () => {
  const told = ContentMark.of([{ text: 'Hello' }]);
  expect(told.rest([{ text: 'Hel' }])).toBeUndefined();
  expect(told.rest([{ text: 'Hallo, world' }])).toBeUndefined();
  expect(told.rest([{ text: 'Hello', mediaType: 'text/html' }])).toBeUndefined();
  expect(told.rest([{ data: 'Hello' }])).toBeUndefined();
  expect(told.rest([])).toBeUndefined();
  expect(ContentMark.of([{ data: [1, 2] }]).rest([{ data: [1] }, { data: 2 }])).toBeUndefined();
});

test('the order of members means nothing', () => {
  const one = ContentMark.of([{ data: { a: 1, b: { c: 2, d: 3 } } }]);
  expect(one.rest([{ data: { b: { d: 3, c: 2 }, a: 1 } }])).toEqual([]);
});

test('a mark that was stored continues where it was', () => {
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      const stored = ContentMark.parse(ContentMark.of(one).toString());
      stored?.add(other);
      expect(stored?.toString()).toBe(ContentMark.of([...one, ...other]).toString());
    }),
  );
});

test('an invalid mark is refused', () => {
  for (const text of ['', '!1.a.b', 'k3J-x_09aQzZpL7t', '1.2', '1.g.h']) {
    expect(ContentMark.parse(text)).toBeUndefined();
  }
});

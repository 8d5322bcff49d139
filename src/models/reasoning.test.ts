import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReasoningFilter, stripReasoning } from './reasoning.ts';

test.each([
  ['no thoughts', 'start flow a', 'start flow a'],
  ['a thought before', '<think>hm, maybe b</think>\nstart flow a', 'start flow a'],
  ['a thought between', 'start flow a <think>or?</think>start flow b', 'start flow a start flow b'],
  ['other tag names', '<Thinking>x</Thinking><reasoning>y</reasoning>ok', 'ok'],
  ['nested tags of another name', '<think>a <thought>b</thought> c</think>ok', 'ok'],
  ['a thought that never ends', 'ok <think>and so on and on', 'ok'],
  ['a thought whose opening was swallowed', 'let me see\n</think>\nstart flow a', 'start flow a'],
  ['comparison signs', 'if a < b and b > c', 'if a < b and b > c'],
  ['only a thought', '<think>nothing else</think>', ''],
])('stripReasoning: %s', (_name, text, expected) => {
  expect(stripReasoning(text)).toBe(expected);
});

test('stripReasoning stays linear on text made of tags', () => {
  const hostile = '<think>'.repeat(200_000) + '</thought>'.repeat(200_000);
  expect(stripReasoning(hostile)).toBe('');
});

test('the stream filter gives what stripReasoning gives, however the text is cut', () => {
  const parts = fc.constantFrom('<think>', '</think>', '<', '>', 'word ', '<thin', 'k>', '\n', 'b');
  fc.assert(
    fc.property(
      fc.array(parts, { maxLength: 20 }),
      fc.integer({ min: 1, max: 7 }),
      (list, size) => {
        const text = list.join('');
        // A closing tag without an opening one is known only at the end; streams keep what they showed.
        fc.pre(!closesWithoutOpening(text));
        const filter = createReasoningFilter();
        let out = '';
        for (let at = 0; at < text.length; at += size)
          out += filter.push(text.slice(at, at + size));
        out += filter.end();
        expect(out.trim()).toBe(stripReasoning(text));
      },
    ),
  );
});

test('the stream filter holds back no more than a tag', () => {
  const filter = createReasoningFilter();
  expect(filter.push('hello <')).toBe('hello ');
  expect(filter.push('b> there')).toBe('<b> there');
  expect(filter.push('x <thi')).toBe('x ');
  expect(filter.push('nk>secret')).toBe('');
  expect(filter.push(' more</think> shown')).toBe(' shown');
  expect(filter.end()).toBe('');
});

function closesWithoutOpening(text: string): boolean {
  let inside = false;
  for (const [tag] of text.matchAll(/<\/?think>/g)) {
    if (tag === '</think>' && !inside) return true;
    inside = tag === '<think>';
  }
  return false;
}

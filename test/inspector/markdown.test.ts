import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { parseBlocks, splitBlocks } from '../../inspector/src/markdown/blocks.ts';
import { parseInline, safeUrl } from '../../inspector/src/markdown/inline.ts';
import type { Block, Inline } from '../../inspector/src/markdown/tree.ts';

const text = (value: string): Inline => ({ kind: 'text', text: value });

test('headings, paragraphs, lists, quotes, rules, code and tables are told apart', () => {
  const blocks = parseBlocks(
    [
      '## Title',
      'two lines',
      'of text',
      '',
      '- one',
      '- two',
      '  - inner',
      '',
      '3. three',
      '4. four',
      '> said',
      '',
      '---',
      '```js',
      'a < b && "x"',
      '```',
      '| a | b |',
      '|---|:-:|',
      '| 1 | **2** |',
    ].join('\n'),
  );
  expect(blocks.map(({ kind }) => kind)).toEqual([
    'heading',
    'paragraph',
    'list',
    'list',
    'quote',
    'rule',
    'code',
    'table',
  ]);
  expect(blocks[2]).toMatchObject({ start: undefined, items: [{}, [{}, { kind: 'list' }]] });
  expect(blocks[3]).toMatchObject({ start: 3 });
  expect(blocks[6]).toEqual({ kind: 'code', language: 'js', text: 'a < b && "x"' });
  expect(blocks[7]).toMatchObject({ rows: [[[text('1')], [{ kind: 'strong' }]]] });
});

test('emphasis, code, links and escapes', () => {
  expect(parseInline('a **b *c*** `d*` ~~e~~')).toMatchObject([
    text('a '),
    { kind: 'strong' },
    text(' '),
    { kind: 'code', text: 'd*' },
    text(' '),
    { kind: 'strike' },
  ]);
  expect(parseInline('snake_case_name and 2 * 3 * 4')).toEqual([
    text('snake_case_name and 2 * 3 * 4'),
  ]);
  expect(parseInline(String.raw`\*not\* [a](https://a.example/x_y) https://b.example/z.`)).toEqual([
    text('*not* '),
    { kind: 'link', url: 'https://a.example/x_y', content: [text('a')] },
    text(' '),
    { kind: 'link', url: 'https://b.example/z', content: [text('https://b.example/z')] },
    text('.'),
  ]);
});

test('markup stays text, and no address but a page or a mailbox becomes a link', () => {
  expect(parseInline('<img src=x onerror=alert(1)>')).toEqual([
    text('<img src=x onerror=alert(1)>'),
  ]);
  for (const address of [
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '/inside',
    '#x',
  ]) {
    expect(safeUrl(address)).toBeUndefined();
    expect(JSON.stringify(parseInline(`[a](${address})`))).not.toContain('"link"');
  }
  expect(safeUrl('mailto:a@b.example')).toBe('mailto:a@b.example');
  // A picture would be a request to somebody else.
  expect(parseInline('![alt](https://spy.example/p.png)')).toMatchObject([{ kind: 'link' }]);
});

test('a text that grows keeps all of its blocks but the last', () => {
  const whole = 'one\n\ntwo\n\n```\ncode\n\nmore\n```\n\nend';
  const final = splitBlocks(whole);
  expect(final).toEqual(['one', 'two', '```\ncode\n\nmore\n```', 'end']);
  for (let length = 1; length <= whole.length; length += 1) {
    const blocks = splitBlocks(whole.slice(0, length));
    expect(blocks.slice(0, -1)).toEqual(final.slice(0, blocks.length - 1));
  }
});

test('whatever an agent writes is read, in bounded depth and without losing words', () => {
  const depth = (blocks: readonly Block[]): number =>
    Math.max(
      0,
      ...blocks.map((block) => {
        if (block.kind === 'quote') return 1 + depth(block.blocks);
        return block.kind === 'list' ? 1 + Math.max(0, ...block.items.map(depth)) : 1;
      }),
    );
  expect(depth(parseBlocks('> '.repeat(500) + 'deep'))).toBeLessThan(10);
  expect(depth(parseBlocks(`${'- '.repeat(500)}deep`))).toBeLessThan(10);
  assert(
    property(string({ unit: 'binary', maxLength: 200 }), (said) => {
      parseBlocks(said);
      splitBlocks(said);
    }),
  );
  const words = /^[a-z ]+$/;
  assert(
    property(string({ maxLength: 100 }), (said) => {
      if (!words.test(said) || said.trim() === '') return;
      expect(JSON.stringify(parseBlocks(said))).toContain(said.trim().split(/\s+/)[0]);
    }),
  );
});

test('a long text of nothing but marks comes to an end', () => {
  for (const piece of ['**', '[', '`', '_a', '[a](', '> ', '|', 'http://', '*a *']) {
    expect(parseBlocks(piece.repeat(50_000)).length).toBeGreaterThan(0);
  }
});

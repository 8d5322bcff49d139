import { assert, property, string } from 'fast-check';
import { isValidElement, type ComponentChildren, type VNode } from 'preact';
import { expect, test } from 'vitest';
import { elementsOf, readBlock, readDocument } from '../../inspector/src/markdown/elements.ts';
import { safeUrl } from '../../inspector/src/markdown/safe-url.ts';

/** What the page would hold, without the attributes that do not concern the text. */
function html(children: ComponentChildren): string {
  if (Array.isArray(children)) return children.map((child) => html(child)).join('');
  if (!isValidElement(children)) {
    return typeof children === 'string' ? children.replaceAll('<', '&lt;') : '';
  }
  const { type, props } = children as VNode<Record<string, ComponentChildren>>;
  const shown = ['href', 'start', 'checked'].filter((name) => props[name] !== undefined);
  const attributes = shown.map((name) => ` ${name}=${JSON.stringify(props[name])}`).join('');
  return `<${String(type)}${attributes}>${html(props['children'])}</${String(type)}>`;
}

function read(text: string): string {
  const { blocks, links } = readDocument(text);
  return html(blocks.map((block) => elementsOf(readBlock(block, links))));
}

test.each([
  ['two lines\nof text', '<p>two lines<br></br>of text</p>'],
  ['## Title #', '<p>Title</p>'],
  ['Title\n=====', '<p>Title</p>'],
  ['> said\nand more', '<blockquote><p>said<br></br>and more</p></blockquote>'],
  ['a\n\n---\n\nb', '<p>a</p><hr></hr><p>b</p>'],
  ['```js\na < b\n\n  "x"\n```', '<pre><code>a &lt; b\n\n  "x"</code></pre>'],
  ['    indented', '<pre><code>indented</code></pre>'],
  [
    '- one\n- two\n  - inner',
    '<ul><li><p>one</p></li><li><p>two</p><ul><li><p>inner</p></li></ul></li></ul>',
  ],
  ['3. three\n\n4. four', '<ol start=3><li><p>three</p></li><li><p>four</p></li></ol>'],
  ['1. a\n\n   more\n\n2. b', '<ol start=1><li><p>a</p><p>more</p></li><li><p>b</p></li></ol>'],
  ['- [x] done', '<ul><li><input checked=true></input><p>done</p></li></ul>'],
  [
    '| a | b |\n|---|:-:|\n| `x|y` \\| | **2** |',
    '<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>`x</td><td>y` |</td></tr></tbody></table></div>',
  ],
  ['a **b *c*** `d*` ~~e~~', '<p>a <strong>b <em>c</em></strong> <code>d*</code> <del>e</del></p>'],
  ['snake_case_name and 2 * 3 * 4', '<p>snake_case_name and 2 * 3 * 4</p>'],
  ['***both*** and **a**b', '<p><em><strong>both</strong></em> and <strong>a</strong>b</p>'],
  ['``a ` b``', '<p><code>a ` b</code></p>'],
  ['\\*not\\* a\\_b', '<p>*not* a_b</p>'],
  ['a &amp; b &lt;c&gt; &#8364; `&amp;`', '<p>a & b &lt;c> € <code>&amp;</code></p>'],
  ['[a](https://a.example/x_(y))', '<p><a href="https://a.example/x_(y)">a</a></p>'],
  ['[a [b] c](https://a.example "t")', '<p><a href="https://a.example/">a [b] c</a></p>'],
  ['see https://b.example/z.', '<p>see <a href="https://b.example/z">https://b.example/z</a>.</p>'],
  ['<https://c.example>', '<p><a href="https://c.example/">https://c.example</a></p>'],
  ['[text][1]\n\n[1]: https://d.example', '<p><a href="https://d.example/">text</a></p>'],
  ['**[a](https://a.example)**', '<p><strong><a href="https://a.example/">a</a></strong></p>'],
])('%j is shown as %s', (text, expected) => {
  expect(read(text)).toBe(expected);
});

test('markup stays text, and only web and mail addresses become links', () => {
  expect(read('a <img src=x onerror=alert(1)>')).toBe('<p>a &lt;img src=x onerror=alert(1)></p>');
  expect(read('<script>alert(1)</script>')).toBe('<p>&lt;script>alert(1)&lt;/script></p>');
  for (const address of [
    'javascript:alert(1)',
    'java&#115;cript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '/inside',
    '#x',
  ]) {
    expect(safeUrl(address)).toBeUndefined();
    expect(read(`[a](${address}) ![b](${address}) [c]\n\n[c]: ${address}`)).not.toContain('<a');
  }
  expect(safeUrl('mailto:a@b.example')).toBe('mailto:a@b.example');
  // An image would be a request to another server.
  expect(read('![alt](https://spy.example/p.png)')).toBe(
    '<p><a href="https://spy.example/p.png">alt</a></p>',
  );
});

test('links open in a new tab without a referrer', () => {
  const [paragraph] = elementsOf(readBlock('https://a.example')) as VNode<{
    children: readonly VNode[];
  }>[];
  expect(paragraph?.props.children[0]?.props).toMatchObject({
    target: '_blank',
    rel: 'noopener noreferrer',
  });
});

test('a text that grows keeps all of its blocks but the last', () => {
  const whole = 'one\n\ntwo\n\n```\ncode\n\nmore\n```\n\nend';
  const final = readDocument(whole).blocks.map((block) => block.trim());
  expect(final).toEqual(['one', 'two', '```\ncode\n\nmore\n```', 'end']);
  for (let length = 1; length <= whole.length; length += 1) {
    const blocks = readDocument(whole.slice(0, length)).blocks.map((block) => block.trim());
    expect(blocks.slice(0, -1)).toEqual(final.slice(0, blocks.length - 1));
  }
});

test('any text is rendered in bounded depth without losing words', () => {
  const deep = (text: string) =>
    /(?:<blockquote>|<li>){10}/.test(read(text).replaceAll(/<ul>/g, ''));
  expect(deep(`${'> '.repeat(8_000)}deep`)).toBe(false);
  expect(deep(`${'- '.repeat(8_000)}deep`)).toBe(false);
  expect(deep(`${'> '.repeat(20)}deep`)).toBe(false);
  expect(read(`${'> '.repeat(20)}deep`)).toContain('deep');
  assert(
    property(string({ unit: 'binary', maxLength: 200 }), (text) => {
      expect(typeof read(text)).toBe('string');
    }),
  );
  const words = /^[a-z ]+$/;
  assert(
    property(string({ maxLength: 100 }), (text) => {
      if (!words.test(text) || text.trim() === '') return;
      expect(read(text)).toContain(text.trim().split(/\s+/)[0]);
    }),
  );
});

test('marks that would take long to parse are shown as text', () => {
  const hostile = '_a**'.repeat(4_000);
  expect(read(hostile)).toBe(`<p>${hostile}</p>`);
  expect(read('word\n\n**b** '.repeat(3_000))).toContain('<strong>b</strong>');
});

test('a long text of marks is parsed in bounded time', () => {
  for (const piece of ['**', '[', '`', '_a', '[a](', '> ', '|', 'http://', '*a *', '<a ', '\\']) {
    expect(read(piece.repeat(50_000))).not.toBe('');
  }
});

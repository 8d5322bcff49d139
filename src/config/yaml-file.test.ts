import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatProblem, Problems, YamlFile, type YamlOptions } from './index.ts';

function parse(text: string, options: YamlOptions = {}) {
  const problems = new Problems();
  const file = YamlFile.parse({ file: 'a.yml', text }, problems, options);
  return { file, problems: problems.all.map(formatProblem) };
}

const order = `# orders
flows:
  order:
    steps:
      - collect: size
      - id: pay
        action: "utter_pay"
`;

test('a value and its key know where they stand', () => {
  const { file, problems } = parse(order);
  expect(problems).toEqual([]);
  const path = ['flows', 'order', 'steps', 1, 'action'];
  expect(file.at(path)).toEqual({ file: 'a.yml', line: 7, column: 17 });
  expect(file.keyAt(path)).toEqual({ file: 'a.yml', line: 7, column: 9 });
  expect(file.place(path).path).toBe('flows.order.steps[1].action');
});

test('what does not exist stands where the nearest part of its path does', () => {
  const { file } = parse(order);
  expect(file.keyAt(['flows', 'order', 'description', 0])).toMatchObject({ line: 3, column: 3 });
});

test('a place inside a text is found where the text reads as it is', () => {
  const { file } = parse('a: slots.x and y\nb: "slots.x and y"\nc: |\n  slots.x and y\n');
  expect(file.at(['a'], 12)).toMatchObject({ line: 1, column: 16 });
  expect(file.at(['b'], 12)).toMatchObject({ line: 2, column: 17 });
  expect(file.at(['c'], 12)).toMatchObject({ line: 3, column: 4 });
});

test('variables are put into scalars, whole or in part, and remembered', () => {
  const environment = { HOST: 'example.org', PORT: '5005', KEY: 'k' };
  const { file, problems } = parse(
    'url: "http://${HOST}:${PORT}/"\nport: ${PORT}\nkey: \'${KEY}\'\nprice: "$${KEY} ${not a name}"\nplain: x\n',
    { environment },
  );
  expect(problems).toEqual([]);
  expect(file.value).toEqual({
    url: 'http://example.org:5005/',
    port: '5005',
    key: 'k',
    price: '${KEY} ${not a name}',
    plain: 'x',
  });
  expect(['url', 'port', 'key', 'price', 'plain'].map((key) => file.isReference([key]))).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
  expect(file.isInterpolated(['url'])).toBe(true);
});

test('a missing variable is a problem that names the variable and the key', () => {
  const environment = {};
  expect(parse('a:\n  key: "x${LEGATE_NO_SUCH}"\n', { environment }).problems).toEqual([
    'a.yml:2:8 a.key: environment variable LEGATE_NO_SUCH is not set; set it, or write $${LEGATE_NO_SUCH} for a dollar sign and braces',
  ]);
  expect(parse('key: "${toString}"', { environment }).problems).toHaveLength(1);
});

test('without an environment variables are text, and so is what escapes them', () => {
  const { file, problems } = parse('price: "${amount} $${amount} $"\n');
  expect(problems).toEqual([]);
  expect(file.value).toEqual({ price: '${amount} $${amount} $' });
  expect(file.isReference(['price'])).toBe(false);
});

test('keys that are there twice are reported at the second one', () => {
  expect(parse('a: 1\nb:\n  c: 1\n  c: 2\na: 3\n').problems).toEqual([
    'a.yml:4:3 b.c: duplicate key "c"; keep one of them',
    'a.yml:5:1 a: duplicate key "a"; keep one of them',
  ]);
});

test('broken YAML is reported with its place, and nothing of it is used', () => {
  const { file, problems } = parse('a: [1, 2\nb: "x\n');
  expect(file.isBroken).toBe(true);
  expect(file.value).toBeNull();
  expect(problems[0]).toMatch(/^a\.yml:\d+:\d+: invalid YAML: /);
});

test.each([
  [
    'a:\n  - text: "one\n    two\n\n    \\"three\\""\n    x: 1\n',
    { a: [{ text: 'one two\n"three"', x: 1 }] },
  ],
  [
    "a:\r\n  b: 'it''s\r\nhere'\r\n  c: 'and\r\n  there'\r\n",
    { a: { b: "it's here", c: 'and there' } },
  ],
  [
    'a:\n  b: [1,\n  2,\n3]\n  c: {x: "y\n  z",\ny: 2\n}\n',
    { a: { b: [1, 2, 3], c: { x: 'y z', y: 2 } } },
  ],
])('texts and collections continue without further indentation: %j', (text, value) => {
  const { file, problems } = parse(text);
  expect(problems).toEqual([]);
  expect(file.value).toEqual(value);
});

test('values after such a text are where they are written, and other errors stay as they are', () => {
  expect(parse('a:\n  b: "x\n  y"\n  c: 1\n').file.at(['a', 'c'])).toMatchObject({
    line: 4,
    column: 6,
  });
  expect(parse('a: "x\nb: y\n').problems).toEqual([
    'a.yml:3:1: invalid YAML: Missing closing "quote',
  ]);
  expect(parse('a: "x\nb: "y" z\n').problems[0]).toBe(
    'a.yml:1:6: invalid YAML: Missing closing "quote',
  );
});

test('YAML 1.2: yes and no are texts, True is a boolean, anchors and merges work', () => {
  const { file, problems } = parse(
    'base: &base {x: 1, y: 2}\nmore: {<<: *base, y: 3}\nsame: *base\nwords: [yes, No, True, FALSE, ~]\n1: one\n',
  );
  expect(problems).toEqual([]);
  expect(file.value).toEqual({
    base: { x: 1, y: 2 },
    more: { x: 1, y: 3 },
    same: { x: 1, y: 2 },
    words: ['yes', 'No', true, false, null],
    '1': 'one',
  });
});

test('keys that reach into JavaScript are refused', () => {
  const { file, problems } = parse('__proto__: {polluted: 1}\na: {constructor: 1}\n');
  expect(problems).toHaveLength(2);
  expect(file.value).toEqual({ a: {} });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('aliases of aliases cannot grow beyond the limit', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let at = 1; at < 12; at += 1) {
    lines.push(`a${at}: &a${at} [${Array.from({ length: 10 }, () => `*a${at - 1}`).join(', ')}]`);
  }
  const { file, problems } = parse(lines.join('\n'));
  expect(file.isBroken).toBe(true);
  expect(problems).toEqual([expect.stringContaining('more than 200000 values')]);
});

test('nesting, length and self reference are bounded', () => {
  expect(parse('['.repeat(20_000)).problems.length).toBeGreaterThan(0);
  expect(parse(`${'['.repeat(200)}${']'.repeat(200)}`).problems).toEqual([
    expect.stringContaining('nested too deeply'),
  ]);
  expect(parse('a: &a [*a]').problems.length).toBeGreaterThan(0);
  expect(parse('a: 12345', { limits: { length: 5 } }).problems).toEqual([
    'a.yml:1:1: longer than 5 characters; split the file',
  ]);
});

test('-0 is 0, as it is in JSON', () => {
  expect(parse('a: -0').file.value).toEqual({ a: 0 });
});

test('whatever the text, parsing reports problems and never throws', () => {
  const piece = fc.constantFrom(
    ...'a: |- |> |\n|  |[|]|{|}|,|"|\'|&x |*x|<<: |${V}|$${V}|!!binary |!t |# |---\n|...|? |%YAML 1.1\n|\t|é|.inf|0x1|~'.split(
      '|',
    ),
    '|',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 30 }).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(text, (one) => {
      const { file } = parse(one, { environment: { V: 'v' } });
      expect(JSON.parse(JSON.stringify(file.value))).toEqual(file.value);
      expect(file.at(['a', 0]).line).toBeGreaterThan(0);
    }),
    { numRuns: 2_000 },
  );
});

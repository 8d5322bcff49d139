import { expect, test } from 'vitest';
import { Field, formatProblem, present, Problems, type Section, YamlFile } from './index.ts';

function read(text: string, environment = {}) {
  const problems = new Problems();
  const file = YamlFile.parse({ file: 'a.yml', text }, problems, { environment });
  const section = Field.root(file, problems).section() as Section;
  return { section, list: () => problems.all.map(formatProblem) };
}

test('unknown keys are reported with the nearest known one', () => {
  const { section, list } = read('name: x\ndescripton: y\nzzz: 1\n');
  section.text('name');
  section.text('description');
  section.finish();
  expect(list()).toEqual([
    'a.yml:2:1 descripton: unknown key "descripton"; did you mean "description"?',
    'a.yml:3:1 zzz: unknown key "zzz"; known here: name, description',
  ]);
});

test('in sections with foreign keys, only misspelt keys are errors', () => {
  const { section, list } = read('nmae: x\nwebview_height: tall\n');
  section.text('name');
  section.finishLeniently();
  expect(list()).toEqual([
    'a.yml:1:1 nmae: unknown key "nmae"; did you mean "name"?',
    'a.yml:2:1 webview_height: warning: "webview_height" has no effect and is ignored',
  ]);
});

test('values of the wrong kind are shown, unless they may be secret', () => {
  const { section, list } = read(
    'a: ten\nb: [1]\nc: 1.5\nd: red\ne: {}\nf: " "\napi_key_age: hunter2\ntokens: hunter3\n',
  );
  expect(section.number('a')).toBeUndefined();
  expect(section.text('b')).toBeUndefined();
  expect(section.number('c', { isInteger: true })).toBeUndefined();
  expect(section.get('d')?.oneOf(['blue', 'green'])).toBeUndefined();
  expect(section.list('e')).toEqual([]);
  expect(section.name('f')).toBeUndefined();
  expect(section.number('api_key_age')).toBeUndefined();
  expect(section.list('tokens')).toEqual([]);
  expect(list()).toEqual([
    'a.yml:1:4 a: must be a number, but is "ten"',
    'a.yml:2:4 b: must be a text, but is a list',
    'a.yml:3:4 c: must be a whole number, but is 1.5',
    'a.yml:4:4 d: must be one of blue, green, but is "red"',
    'a.yml:5:4 e: must be a list, but is a mapping',
    'a.yml:6:4 f: must be a text that is not empty, but is " "',
    'a.yml:7:14 api_key_age: must be a number, but is another text',
    'a.yml:8:9 tokens: must be a list, but is another text',
  ]);
});

test('numbers and booleans may come from variables', () => {
  const { section, list } = read('port: ${PORT}\non: ${ON}\n', { PORT: '80', ON: 'True' });
  expect(section.number('port')).toBe(80);
  expect(section.boolean('on')).toBe(true);
  expect(list()).toEqual([]);
});

test('a secret must come from the environment, and is not repeated when it does not', () => {
  const { section, list } = read('token: "${TOKEN}"\napi_key: hunter2\npart: "x${TOKEN}"\n', {
    TOKEN: 't',
  });
  expect(section.secret('token')).toBe('t');
  expect(section.secret('api_key')).toBeUndefined();
  expect(section.secret('part')).toBeUndefined();
  expect(list()).toEqual([
    'a.yml:2:10 api_key: a secret must not be written into a file; write "${API_KEY}"',
    'a.yml:3:7 part: a secret must not be written into a file; write "${PART}"',
  ]);
});

test('what must be there is missed at the key of its mapping', () => {
  const { section, list } = read('flow:\n  order: {}\n');
  section.section('flow')?.section('order')?.require('description', 'say what it does');
  expect(list()).toEqual(['a.yml:2:3 flow.order: "description" is missing; say what it does']);
});

test('present leaves out what is undefined', () => {
  expect(present({ a: 1, b: undefined, c: null })).toStrictEqual({ a: 1, c: null });
});

import { expect, test } from 'vitest';
import { valueSchema } from './schema.ts';

const order = {
  type: 'object',
  properties: {
    code: { type: 'string', pattern: '^[A-Z]{2}-\\d+$' },
    pattern: { type: 'string', enum: ['plain', 'striped'] },
    lines: { type: 'array', items: { type: 'string', pattern: '^\\d+$' } },
  },
  required: ['code'],
};

test.each([
  [{ code: 'AB-1', pattern: 'plain', lines: ['1', '2'] }, true],
  [{ code: 'ab', pattern: 'plain' }, 'code: must match pattern /^[A-Z]{2}-\\d+$/'],
  [{ code: 'AB-1', lines: ['1', 'x'] }, 'lines.1: must match pattern /^\\d+$/'],
  [{ code: 'AB-1', pattern: 'dotted' }, /pattern: Invalid option/],
  [{}, /code: Invalid input/],
])('values of a JSON Schema with patterns: %j', async (value, expected) => {
  const parsed = await valueSchema(order).parse(value);
  if (parsed.ok) expect(expected).toBe(true);
  else if (typeof expected === 'string') expect(parsed.problem).toBe(expected);
  else expect(parsed.problem).toMatch(expected as RegExp);
});

test('a pattern of a schema can not hang the process, and one that the engine can not take is left to the tool', async () => {
  const schema = valueSchema({
    type: 'object',
    properties: {
      a: { type: 'string', pattern: '^([a-z0-9]+-?)+$' },
      b: { type: 'string', pattern: '^(?=x)' },
    },
  });
  const parsed = await schema.parse({ a: `${'a'.repeat(62)}_`, b: 'y' });
  expect(parsed).toEqual({ ok: false, problem: 'a: must match pattern /^([a-z0-9]+-?)+$/' });
  expect((await schema.parse({ b: 'y' })).ok).toBe(true);
});

test('a schema that takes too many steps, or has an invalid reference, fails the call', async () => {
  const doubled = { type: 'object', properties: { x: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } } };
  let value = {};
  for (let level = 0; level < 60; level += 1) value = { x: value };
  expect(await valueSchema(doubled).parse(value)).toEqual({
    ok: false,
    problem:
      'the value can not be checked: its JSON Schema takes more than 100000 steps to check it',
  });
  expect((await valueSchema(doubled).parse({ x: { x: {} } })).ok).toBe(true);
  expect(await valueSchema({ default: {}, $ref: '#/default' }).parse({})).toEqual({
    ok: false,
    problem:
      'the JSON Schema can not be used: $ref "#/default" does not resolve to a schema in this document; define it under $defs',
  });
});

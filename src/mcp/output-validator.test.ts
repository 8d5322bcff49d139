import { expect, test } from 'vitest';
import { outputValidator } from './output-validator.ts';

const schema = {
  type: 'object',
  properties: { code: { type: 'string', pattern: '^([a-z0-9]+-?)+$' }, sum: { type: 'number' } },
};

test('what a tool returns is checked, and a pattern of its schema can not hang the process', async () => {
  const validate = (await outputValidator()).getValidator(schema);
  expect(validate({ code: 'abc-1', sum: 1 })).toMatchObject({ valid: true });
  expect(validate({ code: 'abc-1', sum: 'x' })).toMatchObject({ valid: false });
  expect(validate({ code: `${'a'.repeat(62)}_` })).toEqual({
    valid: false,
    data: undefined,
    errorMessage: 'code: must match pattern /^([a-z0-9]+-?)+$/',
  });
});

test('a reference of a schema to a value, with a pattern in it, can not hang the process', async () => {
  const pattern = { type: 'string', pattern: '^(a+)+$' };
  const validator = await outputValidator();
  const written = {
    type: 'object',
    examples: [pattern],
    properties: { x: { $ref: '#/examples/0' } },
  };
  expect(() => validator.getValidator(written)).toThrow(
    '"#/examples/0" does not resolve to a schema in this document',
  );
  // An id in a value can not take the place of a schema either.
  const validate = validator.getValidator({
    type: 'object',
    examples: [{ $id: '#/$defs/r1', ...pattern }],
    properties: { x: { $ref: '#/$defs/a' } },
    $defs: { a: { type: 'string' } },
  });
  expect(validate({ x: `${'a'.repeat(62)}!` })).toMatchObject({ valid: true });
  expect(validate({ x: 1 })).toMatchObject({ valid: false });
});

test('a small schema that takes 2^40 steps is refused before the first', async () => {
  const doubling = Array.from({ length: 40 }, (_, at) => {
    const $ref = `#/$defs/a${at}`;
    return [`a${at + 1}`, { anyOf: [{ $ref }, { $ref }] }] as const;
  });
  const validate = (await outputValidator()).getValidator({
    type: 'object',
    properties: { x: { $ref: '#/$defs/a40' } },
    $defs: { a0: { type: 'number' }, ...Object.fromEntries(doubling) },
  });
  expect(validate({ x: 'q' })).toMatchObject({
    valid: false,
    errorMessage:
      'the value can not be checked: its JSON Schema takes more than 100000 steps to check it',
  });
  expect(validate({})).toMatchObject({ valid: true });
});

test('two schemas with one id are two schemas, and one that calls itself asynchronous is checked', async () => {
  const validator = await outputValidator();
  const $id = 'https://example.com/shape';
  validator.getValidator({ $id, type: 'object' });
  const other = { $id, $async: true, type: 'object', required: ['a'] };
  const validate = validator.getValidator(other);
  expect(validate({})).toMatchObject({ valid: false });
});

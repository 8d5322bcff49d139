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

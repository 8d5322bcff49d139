import { expect, test } from 'vitest';
import { splitPatterns } from './index.ts';

const order = {
  type: 'object',
  properties: {
    code: { type: 'string', pattern: '^[A-Z]{2}-\\d+$' },
    pattern: { type: 'string', enum: ['plain', 'striped'] },
  },
};

test('no pattern is left for a validator that would compile it', () => {
  const { schema } = splitPatterns({
    ...order,
    patternProperties: { '^(a+)+$': { type: 'string' } },
    additionalProperties: false,
    anyOf: [{ properties: { code: { pattern: '^(b+)+$' } } }],
    propertyNames: { pattern: '^(c+)+$' },
    default: { pattern: '^kept$' },
  });
  expect(JSON.stringify(schema)).not.toMatch(/\+\)\+|\[A-Z\]|additional/);
  expect(schema).toMatchObject({
    properties: { pattern: { enum: ['plain', 'striped'] } },
    default: { pattern: '^kept$' },
  });
});

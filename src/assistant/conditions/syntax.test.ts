import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCondition, type Predicate } from './parse.ts';

const leaf: fc.Arbitrary<Predicate> = fc.oneof(
  fc
    .stringMatching(/^(slots|context)\.[a-z_]{1,8}(\.[a-z]{1,3})?$/)
    .map((name): Predicate => ({ kind: 'identifier', name, offset: 0 })),
  fc.string().map((value): Predicate => ({ kind: 'literal', value, offset: 0 })),
  fc
    .integer({ min: -1_000_000, max: 1_000_000 })
    .map((value): Predicate => ({ kind: 'literal', value: value / 8, offset: 0 })),
  fc
    .constantFrom('true', 'false', 'null', 'undefined', 'empty')
    .map((value): Predicate => ({ kind: 'constant', value, offset: 0 })),
);
const set = fc
  .array(leaf, { maxLength: 3 })
  .map((items): Predicate => ({ kind: 'set', items, offset: 0 }));
const comparison = fc
  .tuple(fc.oneof(leaf, set), fc.constantFrom('=', '!=', '<', '<=', '>', '>=', 'contains'), leaf)
  .map(
    ([left, operator, right]) =>
      ({ kind: 'comparison', operator, left, right, offset: 0 }) as const,
  );
const matching = fc
  .tuple(leaf, fc.stringMatching(/^[a-z.^$]{1,6}$/), fc.constantFrom('', 'i', 'ims'))
  .map(([left, source, flags]): Predicate => {
    const right = { kind: 'pattern', source, flags, offset: 0 } as const;
    return { kind: 'comparison', operator: 'matches', left, right, offset: 0 };
  });
const { predicate } = fc.letrec<{ predicate: Predicate }>((tie) => ({
  predicate: fc.oneof(
    { maxDepth: 4 },
    leaf,
    comparison,
    matching,
    tie('predicate').map((of): Predicate => ({ kind: 'not', of, offset: 0 })),
    fc
      .tuple(tie('predicate'), fc.constantFrom('and', 'or'), tie('predicate'))
      .map(
        ([left, operator, right]) => ({ kind: 'logic', operator, left, right, offset: 0 }) as const,
      ),
  ),
}));

function withoutOffsets(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, item: unknown) => (key === 'offset' ? 0 : item)));
}

test('what is printed parses to the same predicate', () => {
  fc.assert(
    fc.property(predicate, (one) => {
      expect(withoutOffsets(parseCondition(printPredicate(one)).predicate)).toEqual(
        withoutOffsets(one),
      );
    }),
    { numRuns: 1_000 },
  );
});

/** Writes a predicate so that parsing it again gives the same predicate. */
function printPredicate(predicate: Predicate): string {
  switch (predicate.kind) {
    case 'logic':
      return `(${printPredicate(predicate.left)} ${predicate.operator} ${printPredicate(predicate.right)})`;
    case 'not':
      return `(not ${printPredicate(predicate.of)})`;
    case 'comparison':
      return `(${printPredicate(predicate.left)} ${predicate.operator} ${printPredicate(predicate.right)})`;
    case 'identifier':
      return predicate.name;
    case 'literal':
      return typeof predicate.value === 'number'
        ? String(predicate.value)
        : `"${predicate.value.replace(/["\\]/g, '\\$&')}"`;
    case 'constant':
      return predicate.value;
    case 'set':
      return `{ ${predicate.items.map(printPredicate).join(' ')} }`;
    case 'pattern':
      return `/${predicate.source}/${predicate.flags}`;
  }
}

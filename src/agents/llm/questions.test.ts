import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonValue, message, type Part } from '../../protocol/index.ts';
import { readAnswers } from './questions.ts';
import type { Ask, CallState } from '../tool-loop/call-state.ts';

const asks: fc.Arbitrary<Ask> = fc.constantFrom<Ask>(
  { request: 'confirmation' },
  { request: 'credential', scheme: 's' },
  { request: 'result', ticket: 1 },
  {
    request: 'answer',
    question: [{ text: '?' }],
    isAuthorization: false,
    state: null,
    resumes: true,
  },
);

const calls: fc.Arbitrary<readonly CallState[]> = fc
  .array(asks, { minLength: 1, maxLength: 4 })
  .map((list) => list.map((ask, index) => ({ id: `c${index}`, name: 't', input: {}, ask })));

const value: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.jsonValue().map((json) => json as JsonValue),
  fc.record(
    {
      callId: fc.constantFrom('c0', 'c1', 'other', 1, null),
      confirmed: fc.constantFrom<JsonValue>(false, 'true', 1, null, {}),
      result: fc.constantFrom<JsonValue>(1, null),
      credential: fc.constantFrom<JsonValue>('ref', 1),
    },
    { requiredKeys: [] },
  ),
);
const texts = fc.constantFrom('', 'no', 'yes but', 'YES?', 'not yes', 'y e s', 'true story');
const parts: fc.Arbitrary<readonly Part[]> = fc.array(
  fc.oneof(
    texts.map((text) => ({ text })),
    value.map((data) => ({ data })),
  ),
  { minLength: 1, maxLength: 4 },
);

test('nothing but a clear yes confirms a call', () => {
  fc.assert(
    fc.property(parts, calls, (given, open) => {
      const { calls: after } = readAnswers(message(given), open);
      expect(after).toHaveLength(open.length);
      expect(after.some(({ isConfirmed }) => isConfirmed === true)).toBe(false);
    }),
  );
});

test('a yes for one call confirms that call and no other', () => {
  fc.assert(
    fc.property(calls, fc.nat({ max: 3 }), (open, index) => {
      const target = open[index];
      const answer = message({ data: { callId: `c${index}`, confirmed: true } });
      for (const call of readAnswers(answer, open).calls) {
        const isMeant = call.id === target?.id && target.ask?.request === 'confirmation';
        expect(call.isConfirmed === true).toBe(isMeant);
      }
    }),
  );
});

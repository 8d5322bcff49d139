import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cardProblems, supersetCard } from '../../protocol/index.ts';
import { cardOf } from '../../service/index.ts';
import { triedAgent } from '../testing/tried-agent.ts';

const card = cardOf(triedAgent, {
  url: 'https://agent.example',
  capabilities: { streaming: true },
});

test('a card of ours is right, for readers of 0.3 too', () => {
  expect(cardProblems(JSON.parse(JSON.stringify(card)))).toEqual([]);
  expect(cardProblems(JSON.parse(JSON.stringify(supersetCard(card))))).toEqual([]);
});

test('whatever stands in place of a member, it is judged and never trips the judge', () => {
  const names = Object.keys(card);
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 4 }), (name, value) => {
      const problems = cardProblems({ ...card, [name]: value });
      expect(problems.length).toBeLessThanOrEqual(100);
      for (const { path, problem, fix } of problems) {
        expect([typeof path, problem === '', fix === '']).toEqual(['string', false, false]);
      }
    }),
  );
});

test('anything at all can be given for a card', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      // Nothing that is not a whole card has nothing wrong with it.
      expect(cardProblems(value).length).toBeGreaterThan(0);
    }),
  );
});

test('a hostile card does not make the report grow without end', () => {
  const skills = Array.from({ length: 5_000 }, () => ({}));
  expect(cardProblems({ ...card, skills })).toHaveLength(100);
});

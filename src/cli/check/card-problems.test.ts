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

test.each<[object, readonly string[]]>([
  [{ schemes: { token: { list: [] } } }, []],
  [{ schemes: { token: { list: ['read'] } } }, []],
  [{ schemes: { token: {} } }, []],
  [{ schemes: { token: [] } }, ['securityRequirements[0].schemes.token']],
  [{ schemes: { token: { list: 'read' } } }, ['securityRequirements[0].schemes.token.list']],
  [{ token: [] }, ['securityRequirements[0].token']],
  [{ token: { list: [] } }, ['securityRequirements[0].token']],
])('the requirement %j is accepted exactly where the proto accepts it', (requirement, paths) => {
  const securitySchemes = { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } };
  const problems = cardProblems({ ...card, securitySchemes, securityRequirements: [requirement] });
  expect(problems.map(({ path }) => path)).toEqual(paths);
});

test('a value of another type than the proto has is an error, wherever it stands', () => {
  const capabilities = { streaming: 'yes', extensions: [{ uri: 'urn:x', required: 1 }] };
  const [skill] = card.skills;
  const skills = [{ ...skill, examples: 'one' }];
  const problems = cardProblems({ ...card, capabilities, skills, iconUrl: null });
  expect(problems.map(({ level, path }) => `${level} ${path}`)).toEqual([
    'error capabilities.streaming',
    'error capabilities.extensions[0].required',
    'error skills[0].examples',
  ]);
});

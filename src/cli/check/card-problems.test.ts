import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cardProblems, supersetCard } from '../../protocol/index.ts';
import { cardOf } from '../../service/index.ts';
import { triedAgent } from '../testing/tried-agent.ts';
import { cardFindings } from './card-checks.ts';

const card = cardOf(triedAgent, {
  url: 'https://agent.example',
  capabilities: { streaming: true },
});

test('a card of ours is right, for readers of 0.3 too', () => {
  expect(cardProblems(JSON.parse(JSON.stringify(card)))).toEqual([]);
  expect(cardProblems(JSON.parse(JSON.stringify(supersetCard(card))))).toEqual([]);
});

test('any value of any member is checked without an exception', () => {
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

test.each(Object.getOwnPropertyNames(Object.prototype))('a member named %s is unknown', (name) => {
  const member: object = JSON.parse(`{${JSON.stringify(name)}:1}`);
  expect(cardProblems({ ...card, ...member }).map(({ path }) => path)).toEqual([name]);
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

const schemes = (scheme: object) => ({ securitySchemes: { s: scheme } });

test.each<[object, readonly string[]]>([
  [{ skills: [] }, ['error skills']],
  [{ defaultInputModes: ['text/plain', null] }, ['error defaultInputModes[1]']],
  [{ provider: { organization: 'Acme' } }, ['error provider.url']],
  [{ provider: { organization: 'Acme', url: 'acme' } }, ['warning provider.url']],
  [{ signatures: [{ protected: 'abc' }] }, ['error signatures[0].signature']],
  [{ securitySchemes: null, capabilities: { extensions: null } }, []],
  [{ capabilities: { extensions: [{}] } }, ['warning capabilities.extensions[0].uri']],
  [schemes({}), ['warning securitySchemes.s']],
  [
    schemes({ httpAuthSecurityScheme: {} }),
    ['error securitySchemes.s.httpAuthSecurityScheme.scheme'],
  ],
  [
    schemes({ httpAuthSecurityScheme: { scheme: 'Bearer' }, mtlsSecurityScheme: {} }),
    ['error securitySchemes.s'],
  ],
  [
    schemes({ oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: 'https://t' } } } }),
    ['error securitySchemes.s.oauth2SecurityScheme.flows.clientCredentials.scopes'],
  ],
  [schemes({ apiKeySecurityScheme: { location: 'header', name: 'X-Key' }, type: 'apiKey' }), []],
])('a card with %j: what the proto marks as required is, and nothing else', (members, wanted) => {
  const problems = cardProblems({ ...card, ...members });
  expect(problems.map(({ level, path }) => `${level} ${path}`)).toEqual(wanted);
});

test('a card of 0.3 may have empty lists, and warnings cite no specification', () => {
  const legacy = {
    name: 'old',
    description: 'Of 0.3',
    version: '1',
    url: 'https://agent.example',
    protocolVersion: '0.3.0',
    capabilities: {},
    defaultInputModes: ['text'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'a', name: 'A', description: 'a', tags: [] }],
  };
  const findings = cardFindings(legacy, { name: 'card', edition: '0.3.0' });
  expect(findings.map(({ outcome, specification }) => [outcome, specification])).toEqual([
    ['warning', undefined],
    ['warning', undefined],
  ]);
  expect(
    cardFindings({ ...legacy, skills: undefined }, { name: 'card', edition: '0.3.0' }),
  ).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ outcome: 'failed', specification: '0.3.0, 11.1.1' }),
    ]),
  );
});

import { expect, test } from 'vitest';
import { Authenticator } from './authenticator.ts';
import { bearerTokenVerifier } from './api-keys.ts';
import { allowedSkills, declareSkillScopes, neededScopes } from './scopes.ts';

const skills = ['ask', 'order', 'refund'].map((id) => ({
  id,
  name: id,
  description: id,
  tags: [],
}));
const scopes = { order: ['orders'], refund: ['orders', 'money'] };
const auth = new Authenticator({
  verifiers: [bearerTokenVerifier({ tokens: [{ token: 'x', subject: 'alice' }] })],
});

test('a message that names its skill needs what that skill needs', () => {
  expect(neededScopes('ask', skills, scopes)).toEqual([]);
  expect(neededScopes('order', skills, scopes)).toEqual(['orders']);
  expect(neededScopes('refund', skills, scopes)).toEqual(['orders', 'money']);
});

test.each([undefined, 'unknown', '__proto__', 'constructor'])(
  'a message that names %s could reach any skill and needs all scopes',
  (skillId) => {
    expect(neededScopes(skillId, skills, scopes)).toEqual(['orders', 'money']);
  },
);

test('where no skill needs a scope, no message does', () => {
  expect(neededScopes(undefined, skills, {})).toEqual([]);
});

test('a caller sees the skills it may use', () => {
  const caller = { tenant: '', subject: 'alice', method: 'jwt', scopes: ['orders'] };
  expect(allowedSkills(skills, scopes, caller).map(({ id }) => id)).toEqual(['ask', 'order']);
  const { scopes: _none, ...without } = caller;
  expect(allowedSkills(skills, scopes, without).map(({ id }) => id)).toEqual(['ask']);
});

test('the card declares what each skill needs', () => {
  const declared = declareSkillScopes(skills, scopes, auth);
  expect(declared[0]).toEqual(skills[0]);
  expect(declared[1]?.securityRequirements).toEqual([{ schemes: { token: { list: ['orders'] } } }]);
});

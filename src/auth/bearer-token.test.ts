import { expect, test } from 'vitest';
import { CredentialRefused } from './credentials.ts';
import { bearerTokenVerifier } from './api-keys.ts';

const verifier = bearerTokenVerifier({
  tokens: [
    { token: 'hunter2', subject: 'alice', scopes: ['read'] },
    { token: 'hunter3', subject: 'bob', tenant: 'acme' },
  ],
});

test('each token stands for its identity', async () => {
  expect(await verifier.verify({ headers: { authorization: 'Bearer hunter2' } })).toEqual({
    tenant: '',
    subject: 'alice',
    method: 'bearer-token',
    scopes: ['read'],
  });
  expect(await verifier.verify({ headers: { authorization: 'bearer hunter3' } })).toMatchObject({
    tenant: 'acme',
    subject: 'bob',
  });
});

test.each(['Bearer hunter4', 'Bearer hunter', 'Bearer hunter22', 'Bearer', 'Bearer   '])(
  '%j is refused',
  async (authorization) => {
    await expect(verifier.verify({ headers: { authorization } })).rejects.toBeInstanceOf(
      CredentialRefused,
    );
  },
);

test.each([undefined, 'Basic hunter2', 'hunter2', 'Bearerhunter2', 'Bearer hunter2 hunter2'])(
  '%j is not for this verifier',
  async (authorization) => {
    expect(await verifier.verify({ headers: { authorization } })).toBeUndefined();
  },
);

test.each([
  { token: '', subject: 'alice' },
  { token: 'with space', subject: 'alice' },
  { token: 'hunter2', subject: '' },
])('%j is refused at the start', (entry) => {
  expect(() => bearerTokenVerifier({ tokens: [entry] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
  );
});

test('two entries of tokens with one token are refused', () => {
  const tokens = ['hunter2', 'hunter3', 'hunter3'].map((token, index) => ({
    token,
    subject: `caller ${index}`,
  }));
  expect(() => bearerTokenVerifier({ tokens })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION_INVALID',
      message: 'tokens[1] and tokens[2] have the same bearer token; remove one',
    }),
  );
});

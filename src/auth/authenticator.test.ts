import { expect, test } from 'vitest';
import { LegateError } from '../protocol/index.ts';
import { generateSigningKey } from '../push/index.ts';
import { apiKeyVerifier, bearerTokenVerifier } from './api-keys.ts';
import { AuthError, type Verifier } from './credentials.ts';
import { Authenticator, type AuthenticatorOptions } from './authenticator.ts';
import { startIssuer } from './issuer.contract.ts';
import { jwtVerifier } from './jwt.ts';
import { mtlsVerifier } from './mtls.ts';

const secret = 's'.repeat(32);
const token = bearerTokenVerifier({ tokens: [{ token: 'hunter2', subject: 'alice' }] });
const apiKey = apiKeyVerifier({ keys: [{ key: 'my-key', subject: 'bob' }] });

async function refusal(
  options: AuthenticatorOptions,
  headers: Record<string, string | string[]>,
): Promise<AuthError> {
  const error: unknown = await new Authenticator(options)
    .authenticate({ headers })
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof AuthError)) throw new Error('was not refused', { cause: error });
  return error;
}

test('any of several verifiers may know the caller', async () => {
  const jwt = await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] });
  const auth = new Authenticator({ verifiers: [jwt, token, apiKey, mtlsVerifier()] });
  expect(await auth.authenticate({ headers: { authorization: 'Bearer hunter2' } })).toMatchObject({
    subject: 'alice',
  });
  expect(await auth.authenticate({ headers: { 'x-api-key': 'my-key' } })).toMatchObject({
    subject: 'bob',
  });
  expect(auth.isOpen).toBe(false);
});

test('what the verifiers accept is what the card declares', async () => {
  const jwt = await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] });
  const auth = new Authenticator({ verifiers: [jwt, token, apiKey, mtlsVerifier()] });
  expect(auth.securitySchemes()).toEqual({
    bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    token: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-Api-Key' } },
    mtls: { mtlsSecurityScheme: {} },
  });
  expect(auth.securityRequirements()).toEqual([
    { schemes: { bearer: { list: [] } } },
    { schemes: { token: { list: [] } } },
    { schemes: { apiKey: { list: [] } } },
    { schemes: { mtls: { list: [] } } },
  ]);
});

test('without verifiers all callers are anonymous and the card declares no scheme', async () => {
  const auth = new Authenticator({ verifiers: [] });
  expect(await auth.authenticate({ headers: { authorization: 'Bearer x' } })).toEqual({
    tenant: '',
    subject: '',
    method: 'anonymous',
  });
  expect(auth.isOpen).toBe(true);
  expect(auth.securitySchemes()).toBeUndefined();
  expect(auth.securityRequirements()).toBeUndefined();
});

test('where anonymous callers are allowed, an invalid credential is still refused', async () => {
  const options = { verifiers: [token], allowAnonymous: true };
  const auth = new Authenticator(options);
  expect(await auth.authenticate({ headers: {} })).toMatchObject({ method: 'anonymous' });
  expect(auth.securityRequirements()).toEqual([
    { schemes: { token: { list: [] } } },
    { schemes: {} },
  ]);
  expect(await refusal(options, { authorization: 'Bearer wrong' })).toMatchObject({
    code: 'UNAUTHENTICATED',
  });
});

test('AUTH-SERVER: 401 challenges for each kind of credential, with an error only for a wrong one', async () => {
  const options = {
    verifiers: [token, apiKey],
    realm: 'agents "east"',
    resourceMetadata: 'https://example.com/.well-known/oauth-protected-resource',
  };
  const metadata = `resource_metadata="${options.resourceMetadata}"`;
  expect((await refusal(options, {})).challenges).toEqual([
    String.raw`Bearer realm="agents \"east\"", ${metadata}`,
    String.raw`ApiKey realm="agents \"east\""`,
  ]);
  expect((await refusal(options, { authorization: 'Bearer wrong' })).challenges[0]).toBe(
    String.raw`Bearer realm="agents \"east\"", error="invalid_token", ${metadata}`,
  );
});

test('nothing tells which part was wrong', async () => {
  const jwt = await jwtVerifier({
    keys: { secret },
    algorithms: ['HS256'],
    issuer: 'https://a',
    audience: 'b',
  });
  const wrong = [
    { authorization: 'Bearer wrong' },
    { authorization: 'Bearer e30.e30.e30' },
    { 'x-api-key': 'wrong' },
    { authorization: ['Bearer hunter2', 'Bearer hunter2'] },
  ];
  const options = { verifiers: [jwt, token, apiKey] };
  const refusals = await Promise.all(wrong.map((headers) => refusal(options, headers)));
  const shown = refusals.map(({ code, message, metadata, violations, challenges }) =>
    JSON.stringify({ code, message, metadata, violations, challenges }),
  );
  expect(new Set(shown).size).toBe(1);
  expect(shown[0]).not.toMatch(/expired|signature|issuer|audience|unknown/);
});

test('a refusal says for the audit log what was wrong, without the credential', async () => {
  const { reasons } = await refusal(
    { verifiers: [token, apiKey] },
    { authorization: 'Bearer s3cret' },
  );
  expect(reasons).toEqual(['bearer-token: unknown token']);
  expect((await refusal({ verifiers: [token, apiKey] }, {})).reasons).toEqual(['no credentials']);
});

test('when keys cannot be fetched the answer is UNAVAILABLE, unless another verifier knows the caller', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  issuer.fail();
  const jwt = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, algorithms: ['ES256'] });
  const auth = new Authenticator({ verifiers: [jwt, token] });
  const jws = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln';
  await expect(auth.authenticate({ headers: { authorization: `Bearer ${jws}` } })).rejects.toEqual(
    expect.objectContaining({ code: 'UNAVAILABLE' }),
  );
  expect(await auth.authenticate({ headers: { authorization: 'Bearer hunter2' } })).toMatchObject({
    subject: 'alice',
  });
});

test('AUTH-SCOPE: a missing scope is 403 with the scope that is needed', () => {
  const auth = new Authenticator({ verifiers: [token] });
  const caller = { tenant: '', subject: 'alice', method: 'jwt', scopes: ['read'] };
  expect(() => auth.requireScopes(caller, [])).not.toThrow();
  expect(() => auth.requireScopes(caller, ['read'])).not.toThrow();
  const attempt = () => auth.requireScopes(caller, ['read', 'write']);
  expect(attempt).toThrow(
    expect.objectContaining({
      code: 'PERMISSION_DENIED',
      challenges: ['Bearer realm="legate", error="insufficient_scope", scope="read write"'],
    }),
  );
  const { scopes: _none, ...without } = caller;
  expect(() => auth.requireScopes(without, ['read'])).toThrow(AuthError);
});

test.each<[string, () => Authenticator]>([
  ['two schemes of one name', () => new Authenticator({ verifiers: [token, token] })],
  [
    'two issuers whose subjects could be the same',
    () => new Authenticator({ verifiers: [issuedBy('https://a', ''), issuedBy('https://b', '')] }),
  ],
  ['a realm that cannot be sent', () => new Authenticator({ verifiers: [token], realm: 'a\r\nb' })],
])('%s is refused at the start', (_what, make) => {
  expect(make).toThrow(LegateError);
});

test('two issuers with prefixes of their own are fine', () => {
  const verifiers = [issuedBy('https://a', 'a:'), issuedBy('https://b', 'b:')];
  expect(() => new Authenticator({ verifiers })).not.toThrow();
});

function issuedBy(issuer: string, subjectPrefix: string): Verifier {
  return {
    method: 'jwt',
    challenge: 'Bearer',
    schemes: { [issuer]: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    issuer,
    subjectPrefix,
    verify: async () => undefined,
  };
}

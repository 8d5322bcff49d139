import type { ServerResponse } from 'node:http';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { checkFiles } from '../net/index.ts';
import { generateSigningKey, guardedFetch, publicKeySet, type SigningKey } from '../push/index.ts';
import { CredentialRefused, type Verifier } from './credentials.ts';
import { startIssuer } from './issuer.contract.ts';
import { jwtVerifier, type JwtVerifierOptions } from './jwt.ts';

function token(key: SigningKey, claims: Record<string, string> = {}): Promise<string> {
  return new SignJWT({ sub: 'alice', ...claims })
    .setProtectedHeader({ alg: key.algorithm, kid: key.kid })
    .setExpirationTime('1h')
    .sign(key.privateKey);
}

async function verify(verifier: Verifier, jwt: string) {
  return verifier.verify({ headers: { authorization: `Bearer ${jwt}` } });
}

const es256: Pick<JwtVerifierOptions, 'algorithms'> = { algorithms: ['ES256'] };

test('keys are fetched once and kept', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, ...es256 });
  expect(issuer.fetches()).toBe(0);
  for (let count = 0; count < 5; count += 1) {
    expect(await verify(verifier, await token(key))).toMatchObject({ subject: 'alice' });
  }
  expect(issuer.fetches()).toBe(1);
});

test('a new key is found when a token names it, and an old one no longer counts after that', async () => {
  const [former, current] = [generateSigningKey(), generateSigningKey()];
  await using issuer = await startIssuer([former]);
  const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, cooldown: 0, ...es256 });
  await verify(verifier, await token(former));
  issuer.publish([current]);
  expect(await verify(verifier, await token(current))).toMatchObject({ subject: 'alice' });
  await expect(verify(verifier, await token(former))).rejects.toBeInstanceOf(CredentialRefused);
});

test('a reload refuses a key that was withdrawn, and a failed one keeps the known keys', async () => {
  const [former, current] = [generateSigningKey(), generateSigningKey()];
  await using issuer = await startIssuer([former, current]);
  const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, ...es256 });
  const reload = async () =>
    (await checkFiles()).find(({ paths }) => paths.includes(issuer.jwksUrl));
  await verify(verifier, await token(former));
  issuer.publish([current]);
  expect(await reload()).toMatchObject({ what: 'jwt keys', outcome: 'reloaded' });
  await expect(verify(verifier, await token(former))).rejects.toBeInstanceOf(CredentialRefused);
  expect(await reload()).toMatchObject({ outcome: 'unchanged' });
  issuer.fail();
  expect(await reload()).toMatchObject({ outcome: 'failed', error: expect.any(String) as string });
  expect(await verify(verifier, await token(current))).toMatchObject({ subject: 'alice' });
});

test('tokens with unknown keys do not make us ask again and again', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, ...es256 });
  await verify(verifier, await token(key));
  for (let count = 0; count < 3; count += 1) {
    const forged = await token(generateSigningKey());
    await expect(verify(verifier, forged)).rejects.toBeInstanceOf(CredentialRefused);
  }
  expect(issuer.fetches()).toBe(1);
});

test('while the issuer is down the old keys are used for staleTime, then verification is unavailable', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  let now = Date.now();
  const verifier = await jwtVerifier({
    keys: { jwksUrl: issuer.jwksUrl },
    clock: { now: () => now },
    cacheTime: 0,
    staleTime: 1_800_000,
    ...es256,
  });
  await verify(verifier, await token(key));
  issuer.fail();
  expect(await verify(verifier, await token(key))).toMatchObject({ subject: 'alice' });
  now += 1_800_001;
  await expect(verify(verifier, await token(key))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    retryAfter: 5,
  });
});

test('an issuer that is down is not asked with every request', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  issuer.fail();
  let now = Date.now();
  const verifier = await jwtVerifier({
    keys: { jwksUrl: issuer.jwksUrl },
    clock: { now: () => now },
    ...es256,
  });
  for (let count = 0; count < 3; count += 1) {
    await expect(verify(verifier, await token(key))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
  expect(issuer.fetches()).toBe(1);
  now += 5_000;
  issuer.publish([key]);
  expect(await verify(verifier, await token(key))).toMatchObject({ subject: 'alice' });
});

test('a token signed with a key of the set but another algorithm is refused', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, algorithms: ['RS256'] });
  await expect(verify(verifier, await token(key))).rejects.toBeInstanceOf(CredentialRefused);
});

test('keys given by value need no network', async () => {
  const key = generateSigningKey();
  const jwks = { keys: [...publicKeySet([key]).keys] } as Extract<
    JwtVerifierOptions['keys'],
    { jwks: unknown }
  >['jwks'];
  const verifier = await jwtVerifier({ keys: { jwks }, ...es256 });
  expect(await verify(verifier, await token(key))).toMatchObject({ subject: 'alice' });
});

test('OpenID Connect: the keys are discovered, the issuer is required of tokens, the card says where', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  const verifier = await jwtVerifier({ keys: { openIdIssuer: issuer.url }, ...es256 });
  expect(verifier.schemes).toEqual({
    openId: {
      openIdConnectSecurityScheme: {
        openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration`,
      },
    },
  });
  expect(await verify(verifier, await token(key, { iss: issuer.url }))).toMatchObject({
    subject: 'alice',
  });
  await expect(verify(verifier, await token(key, { iss: 'https://other' }))).rejects.toBeInstanceOf(
    CredentialRefused,
  );
});

test('OpenID Connect: a document that names another issuer is not believed', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key], { claimedIssuer: 'https://other.example.com' });
  const verifier = await jwtVerifier({ keys: { openIdIssuer: issuer.url }, ...es256 });
  await expect(verify(verifier, await token(key, { iss: issuer.url }))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    cause: { message: expect.stringContaining('another issuer') },
  });
});

test('OpenID Connect: discovery that failed is tried again later', async () => {
  const key = generateSigningKey();
  await using issuer = await startIssuer([key]);
  issuer.fail();
  let now = Date.now();
  const verifier = await jwtVerifier({
    keys: { openIdIssuer: issuer.url },
    clock: { now: () => now },
    ...es256,
  });
  const jwt = await token(key, { iss: issuer.url });
  await expect(verify(verifier, jwt)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  issuer.publish([key]);
  now += 5_000;
  expect(await verify(verifier, jwt)).toMatchObject({ subject: 'alice' });
});

test.each(['http://issuer.example.com/jwks', 'ftp://a/', 'jwks', ''])(
  'keys are not fetched from %j unless the operator allows it',
  async (jwksUrl) => {
    for (const keys of [{ jwksUrl }, { openIdIssuer: jwksUrl }]) {
      await expect(jwtVerifier({ keys, ...es256 })).rejects.toMatchObject({
        code: 'CONFIGURATION_INVALID',
      });
    }
    const policy = { schemes: ['http'] as const, allowLoopback: false, allowPrivate: false };
    const keys = { jwksUrl: 'http://issuer.example.com/jwks' };
    await expect(jwtVerifier({ keys, policy, ...es256 })).resolves.toBeDefined();
  },
);

test('the fetch can be replaced', async () => {
  const key = generateSigningKey();
  const fetch = Object.assign(async () => Response.json(publicKeySet([key])), { close() {} });
  const verifier = await jwtVerifier({
    keys: { jwksUrl: 'https://issuer.example.com/jwks' },
    fetch: fetch satisfies ReturnType<typeof guardedFetch>,
    ...es256,
  });
  expect(await verify(verifier, await token(key))).toMatchObject({ subject: 'alice' });
});

test.for<readonly [string, string]>([
  ['no JSON', '<html>'],
  ['no key set', '{"hello": 1}'],
  ['a key set without keys', '{"keys": []}'],
  ['more than 1 MiB', ' '.repeat(1_100_000)],
])(
  'an issuer that answers with %s is not believed, nor asked with every request',
  async ([, body]) => {
    const key = generateSigningKey();
    await using issuer = await startIssuer([key]);
    let now = Date.now();
    const options = { clock: { now: () => now }, cacheTime: 0, staleTime: 60_000, ...es256 };
    const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, ...options });
    const jwt = await token(key);
    await verify(verifier, jwt);
    issuer.answer((response) => void response.end(body));
    for (let count = 0; count < 3; count += 1) {
      expect(await verify(verifier, jwt)).toMatchObject({ subject: 'alice' });
    }
    expect(issuer.fetches()).toBe(2);
    // What it answers does not make the old keys young again.
    for (const seconds of [30, 31]) {
      now += seconds * 1_000;
      const verdict = verify(verifier, jwt).catch((error: unknown) => error);
      expect(await verdict).toMatchObject(
        seconds === 30 ? { subject: 'alice' } : { code: 'UNAVAILABLE' },
      );
    }
  },
);

test('an issuer that does not end its answer holds up one token of a known key, not every one', async () => {
  const [former, current] = [generateSigningKey(), generateSigningKey()];
  await using issuer = await startIssuer([former]);
  const verifier = await jwtVerifier({ keys: { jwksUrl: issuer.jwksUrl }, cacheTime: 0, ...es256 });
  const jwt = await token(former);
  await verify(verifier, jwt);
  const pending = Promise.withResolvers<ServerResponse>();
  issuer.answer((response) => {
    response.write(' ');
    pending.resolve(response);
  });
  // Both while the answer is awaited: the second would otherwise take as long as it.
  for (let count = 0; count < 2; count += 1) {
    expect(await verify(verifier, jwt)).toMatchObject({ subject: 'alice' });
  }
  expect(issuer.fetches()).toBe(2);
  const fresh = verify(verifier, await token(current));
  (await pending.promise).end(JSON.stringify(publicKeySet([current])));
  expect(await fresh, 'of a new key').toMatchObject({ subject: 'alice' });
  issuer.publish([current]);
  await expect(verify(verifier, jwt), 'of the former key').rejects.toBeInstanceOf(
    CredentialRefused,
  );
});

test('OpenID Connect: an issuer that moves its keys to another address is followed', async () => {
  const [former, current] = [generateSigningKey(), generateSigningKey()];
  await using issuer = await startIssuer([former]);
  const keys = { openIdIssuer: issuer.url };
  const verifier = await jwtVerifier({ keys, cooldown: 0, ...es256 });
  const claims = { iss: issuer.url };
  expect(await verify(verifier, await token(former, claims))).toMatchObject({ subject: 'alice' });
  issuer.move('/keys');
  issuer.publish([current]);
  expect(await verify(verifier, await token(current, claims))).toMatchObject({ subject: 'alice' });
});

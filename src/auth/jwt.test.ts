import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { CredentialRefused } from './credentials.ts';
import type { JwtAlgorithm } from './public-keys.ts';
import { jwtVerifier, type JwtVerifierOptions } from './jwt.ts';

const now = 1_800_000_000;
const clock = { now: () => now * 1_000 };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const secret = 's'.repeat(64);

function pem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

interface TokenOptions {
  readonly algorithm?: string;
  readonly key?: KeyObject | Uint8Array;
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, string>;
}

function token({ algorithm = 'RS256', key = rsa.privateKey, claims, header }: TokenOptions = {}) {
  return new SignJWT({ sub: 'alice', exp: now + 60, ...claims })
    .setProtectedHeader({ alg: algorithm, ...header })
    .sign(key);
}

async function verify(jwt: string, options: Partial<JwtVerifierOptions> = {}) {
  const verifier = await jwtVerifier({
    keys: { publicKey: pem(rsa.publicKey) },
    clock,
    ...options,
  });
  return verifier.verify({ headers: { authorization: `Bearer ${jwt}` } });
}

test.each<[JwtAlgorithm, JwtVerifierOptions['keys'], KeyObject | Uint8Array]>([
  ['HS256', { secret }, Buffer.from(secret)],
  ['HS512', { secret }, Buffer.from(secret)],
  ['RS256', { publicKey: pem(rsa.publicKey) }, rsa.privateKey],
  ['RS512', { publicKey: pem(rsa.publicKey) }, rsa.privateKey],
  ['PS256', { publicKey: pem(rsa.publicKey) }, rsa.privateKey],
  ['ES256', { publicKey: pem(p256.publicKey) }, p256.privateKey],
  ['ES512', { publicKey: pem(p521.publicKey) }, p521.privateKey],
])('a token signed with %s is accepted', async (algorithm, keys, key) => {
  const jwt = await token({ algorithm, key });
  expect(await verify(jwt, { keys, algorithms: [algorithm] })).toEqual({
    tenant: '',
    subject: 'alice',
    method: 'jwt',
  });
});

test('a request without a bearer token is not for this verifier', async () => {
  const verifier = await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] });
  expect(await verifier.verify({ headers: {} })).toBeUndefined();
  expect(await verifier.verify({ headers: { authorization: 'Basic YTpi' } })).toBeUndefined();
});

test('the scheme is read whatever its case', async () => {
  const verifier = await jwtVerifier({ keys: { publicKey: pem(rsa.publicKey) }, clock });
  const headers = { authorization: `bEaReR ${await token()}` };
  expect(await verifier.verify({ headers })).toMatchObject({ subject: 'alice' });
});

test.each<[string, TokenOptions, Partial<JwtVerifierOptions>]>([
  ['an expired token', { claims: { exp: now - 31 } }, {}],
  ['a token without expiry', { claims: { exp: undefined } }, {}],
  ['a token that is not valid yet', { claims: { nbf: now + 31 } }, {}],
  ['another issuer', { claims: { iss: 'https://b' } }, { issuer: 'https://a' }],
  ['no issuer where one is required', {}, { issuer: 'https://a' }],
  ['another audience', { claims: { aud: ['x', 'y'] } }, { audience: 'z' }],
  ['no audience where one is required', {}, { audience: ['z'] }],
  ['no subject', { claims: { sub: undefined } }, {}],
  ['an empty subject', { claims: { sub: '' } }, {}],
  ['a subject with control characters', { claims: { sub: 'a\u0000b' } }, {}],
  ['a subject that is not text', { claims: { uid: 7 } }, { subjectClaim: 'uid' }],
  ['no tenant where one is required', {}, { tenantClaim: 'org' }],
  ['another type of token', { header: { typ: 'JWT' } }, { type: 'at+jwt' }],
  ['another key', { key: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey }, {}],
  ['another algorithm of the same key', { algorithm: 'PS256' }, {}],
  // Algorithm confusion: the public key, used as if it were a shared secret.
  [
    'HS256 with the public key as secret',
    { algorithm: 'HS256', key: Buffer.from(pem(rsa.publicKey)) },
    {},
  ],
])('%s is refused', async (_what, tokenOptions, options) => {
  await expect(verify(await token(tokenOptions), options)).rejects.toBeInstanceOf(
    CredentialRefused,
  );
});

test.each([
  ['alg none', `${part({ alg: 'none' })}.${part({ sub: 'alice', exp: now + 60 })}.`],
  ['no token at all', ''],
  ['rubbish', 'rubbish'],
  ['three dots', '...'],
  ['a header that is not JSON', 'e30.e30.e30'],
  ['too long', 'a'.repeat(20_000)],
])('%s is refused', async (_what, jwt) => {
  await expect(verify(jwt)).rejects.toBeInstanceOf(CredentialRefused);
});

test('a token whose expiry never comes is refused', async () => {
  const jwt = await token({ claims: { exp: 1e300 } });
  await expect(verify(jwt)).rejects.toThrow(CredentialRefused);
  expect(await verify(await token({ claims: { exp: now + 0.5 } }))).toBeDefined();
});

test('a changed payload is refused', async () => {
  const [header, , signature] = (await token()).split('.');
  const forged = `${header}.${part({ sub: 'mallory', exp: now + 60 })}.${signature}`;
  await expect(verify(forged)).rejects.toBeInstanceOf(CredentialRefused);
});

test('an unknown critical header is refused', async () => {
  const input = `${part({ alg: 'ES256', crit: ['x'], x: 1 })}.${part({ sub: 'alice', exp: now + 60 })}`;
  const signature = signBytes('sha256', Buffer.from(input), {
    key: p256.privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  const jwt = `${input}.${signature.toString('base64url')}`;
  const options = { keys: { publicKey: pem(p256.publicKey) }, algorithms: ['ES256'] as const };
  await expect(verify(jwt, options)).rejects.toBeInstanceOf(CredentialRefused);
});

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

test('clocks may differ by the tolerance', async () => {
  expect(await verify(await token({ claims: { exp: now - 29 } }))).toBeDefined();
  const late = await token({ claims: { exp: now - 29 } });
  await expect(verify(late, { clockTolerance: 0 })).rejects.toBeInstanceOf(CredentialRefused);
});

test('claims become the caller: tenant, prefixed subject, name and scopes', async () => {
  const jwt = await token({
    claims: { oid: 'u-1', org: 'acme', name: 'Alice', scope: 'read  write', aud: 'legate' },
  });
  const options = {
    subjectClaim: 'oid',
    subjectPrefix: 'corp:',
    tenantClaim: 'org',
    audience: 'legate',
  };
  expect(await verify(jwt, options)).toEqual({
    tenant: 'acme',
    subject: 'corp:u-1',
    method: 'jwt',
    displayName: 'Alice',
    scopes: ['read', 'write'],
  });
});

test.each([
  [{ scp: ['a', 'b', 7] }, {}, ['a', 'b']],
  [{ scp: 'a b' }, {}, ['a', 'b']],
  [{ permissions: ['p'], scope: 'x' }, { scopeClaim: 'permissions' }, ['p']],
  [{ scope: 7 }, {}, undefined],
])('scopes are read from %j', async (claims, options, scopes) => {
  const caller = await verify(await token({ claims }), options);
  expect(caller?.scopes).toEqual(scopes);
});

test('a key file may hold a public key or a certificate', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'legate-jwt-'));
  try {
    const certificate = makeCertificate({
      commonName: 'issuer',
      notAfter: new Date((now + 3_600) * 1_000),
    });
    await writeFile(join(directory, 'key.pem'), pem(rsa.publicKey));
    await writeFile(join(directory, 'certificate.pem'), certificate.certificate);
    const fromKey = { keys: { publicKeyFile: join(directory, 'key.pem') } };
    expect(await verify(await token(), fromKey)).toMatchObject({ subject: 'alice' });
    const jwt = await token({ algorithm: 'ES256', key: createPrivateKey(certificate.key) });
    const fromCertificate = {
      keys: { publicKeyFile: join(directory, 'certificate.pem') },
      algorithms: ['ES256'] as const,
    };
    expect(await verify(jwt, fromCertificate)).toMatchObject({ subject: 'alice' });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test.each<[string, Pick<JwtVerifierOptions, 'keys' | 'algorithms'>]>([
  ['a short secret', { keys: { secret: 'short' }, algorithms: ['HS256'] }],
  ['a secret too short for HS512', { keys: { secret: 's'.repeat(32) }, algorithms: ['HS512'] }],
  ['a secret for RS256', { keys: { secret }, algorithms: ['RS256'] }],
  ['a public key for HS256', { keys: { publicKey: pem(rsa.publicKey) }, algorithms: ['HS256'] }],
  ['HS256 together with RS256', { keys: { secret }, algorithms: ['HS256', 'RS256'] }],
  ['an EC key for RS256', { keys: { publicKey: pem(p256.publicKey) }, algorithms: ['RS256'] }],
  ['the wrong curve', { keys: { publicKey: pem(p256.publicKey) }, algorithms: ['ES512'] }],
  ['no algorithm', { keys: { publicKey: pem(rsa.publicKey) }, algorithms: [] }],
  ['a file that does not exist', { keys: { publicKeyFile: '/nonexistent/key.pem' } }],
  ['rubbish for a key', { keys: { publicKey: 'rubbish' } }],
  ['a JWKS for HS256', { keys: { jwks: { keys: [] } }, algorithms: ['HS256'] }],
  [
    'a private key',
    { keys: { publicKey: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() } },
  ],
  [
    'a short RSA key',
    { keys: { publicKey: pem(generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey) } },
  ],
])('%s is refused at the start', async (_what, options) => {
  await expect(jwtVerifier(options)).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
});

test('an empty list of key files says what is missing', async () => {
  await expect(jwtVerifier({ keys: { publicKeyFile: [] } })).rejects.toThrow(
    /name at least one public key file/,
  );
});

test('the card declares a bearer token, or what the operator says', async () => {
  const plain = await jwtVerifier({ keys: { secret }, algorithms: ['HS256'] });
  expect(plain.schemes).toEqual({
    bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
  });
  const scheme = {
    oauth2SecurityScheme: {
      flows: { clientCredentials: { tokenUrl: 'https://a/token', scopes: { read: 'Read' } } },
    },
  };
  const oauth = await jwtVerifier({
    keys: { secret },
    algorithms: ['HS256'],
    scheme,
    schemeName: 'oauth',
  });
  expect(oauth.schemes).toEqual({ oauth: scheme });
});

test('the error for a key of the wrong type names the type that the algorithm needs', async () => {
  const wrong = { keys: { publicKey: pem(p256.publicKey) }, algorithms: ['RS256'] as const };
  await expect(jwtVerifier(wrong)).rejects.toThrow(
    'jwt: the public key does not fit RS256: it is of type ec on the curve prime256v1, and RS256 needs an RSA key of at least 2048 bits',
  );
  await expect(jwtVerifier({ keys: { secret }, algorithms: ['RS256'] })).rejects.toThrow(
    'jwt: RS256 needs a public key; a secret is for HS256 and HS512',
  );
});

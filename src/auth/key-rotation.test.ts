import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../test/certificate.ts';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { checkFiles } from '../net/index.ts';
import { generateSigningKey } from '../push/index.ts';
import { silentLogger } from '../telemetry/index.ts';
import { apiKeyVerifier } from './api-keys.ts';
import { cardVerifier } from './card-trust.ts';
import type { Verifier } from './credentials.ts';
import { startIssuer } from './issuer.contract.ts';
import { jwtVerifier, type JwtVerifierOptions } from './jwt.ts';

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [first, second, third] = [pair(), pair(), pair()] as const;
const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

function token(key: KeyObject, header: Record<string, string> = {}): Promise<string> {
  return new SignJWT({ sub: 'alice' })
    .setProtectedHeader({ alg: 'ES256', ...header })
    .setExpirationTime('1 h')
    .sign(key);
}

async function isAccepted(verifier: Verifier, jwt: string, more = {}): Promise<boolean> {
  return verifier.verify({ headers: { authorization: `Bearer ${jwt}` }, ...more }).then(
    (caller) => caller?.subject === 'alice',
    () => false,
  );
}

function verifierOf(keys: JwtVerifierOptions['keys']): Promise<Verifier> {
  return jwtVerifier({ keys, algorithms: ['ES256'], logger: silentLogger });
}

/** Which of the three keys are accepted. */
async function accepted(verifier: Verifier): Promise<readonly boolean[]> {
  return Promise.all(
    [first, second, third].map(async ({ privateKey }) =>
      isAccepted(verifier, await token(privateKey)),
    ),
  );
}

test('a PEM file with two keys uses both, as do two files', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'keys.pem');
  const other = join(folder.path, 'other.pem');
  await writeFile(path, `# old and new\n${pem(first.publicKey)}${pem(second.publicKey)}`);
  await writeFile(other, pem(third.publicKey));
  const both = await verifierOf({ publicKeyFile: path });
  expect(await accepted(both)).toEqual([true, true, false]);
  const all = await verifierOf({ publicKeyFile: [path, other] });
  expect(await accepted(all)).toEqual([true, true, true]);
});

test('keys rotate while the server runs; a file that is cut off changes nothing', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'keys.pem');
  await writeFile(path, pem(first.publicKey));
  const verifier = await verifierOf({ publicKeyFile: path });
  const whole = `${pem(first.publicKey)}${pem(second.publicKey)}`;
  // In the middle of the second key: the first one alone would be valid PEM.
  await writeFile(path, whole.slice(0, -60));
  await checkFiles();
  expect(await accepted(verifier)).toEqual([true, false, false]);
  await writeFile(path, whole);
  await checkFiles();
  expect(await accepted(verifier)).toEqual([true, true, false]);
  await writeFile(`${path}.new`, pem(second.publicKey));
  await rename(`${path}.new`, path);
  await checkFiles();
  expect(await accepted(verifier)).toEqual([false, true, false]);
  // An empty file adds no key and revokes none.
  await writeFile(path, '');
  await checkFiles();
  expect(await accepted(verifier)).toEqual([false, true, false]);
});

test('a key set file: by name, without a name, and two keys of one name', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'jwks.json');
  const jwk = async (key: KeyObject, kid: string) => ({ ...(await exportJWK(key)), kid });
  const keys = [await jwk(first.publicKey, 'a'), await jwk(second.publicKey, 'a')];
  await writeFile(path, JSON.stringify({ keys }));
  const verifier = await verifierOf({ jwksFile: path });
  for (const { privateKey } of [first, second]) {
    expect(await isAccepted(verifier, await token(privateKey, { kid: 'a' }))).toBe(true);
    expect(await isAccepted(verifier, await token(privateKey))).toBe(true);
    expect(await isAccepted(verifier, await token(privateKey, { kid: 'b' }))).toBe(false);
  }
  expect(await isAccepted(verifier, await token(third.privateKey, { kid: 'a' }))).toBe(false);
  await writeFile(path, JSON.stringify({ keys: [await jwk(third.publicKey, 'c')] }));
  await checkFiles();
  expect(await accepted(verifier)).toEqual([false, false, true]);
  await writeFile(path, '{"keys": []}');
  await checkFiles();
  expect(await accepted(verifier)).toEqual([false, false, true]);
});

test('a key set file with private keys, or without a usable one, is refused by its path', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'jwks.json');
  const privateJwk = await exportJWK(first.privateKey);
  for (const [content, reason] of [
    [JSON.stringify({ keys: [privateJwk] }), 'holds a private key'],
    ['{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', 'holds a private key'],
    ['{"keys": []}', 'has no key for ES256'],
    ['[]', 'is not a key set'],
    ['{', 'is not JSON'],
  ] as const) {
    await writeFile(path, content);
    await expect(verifierOf({ jwksFile: path })).rejects.toThrow(
      `jwt: the key set file ${path} ${reason}`,
    );
  }
});

test('of a certificate chain only the certificate itself signs tokens, and not after its end', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'chain.pem');
  const authority = makeCertificate({ commonName: 'Authority', isAuthority: true });
  const leaf = makeCertificate({ commonName: 'issuer', issuer: authority });
  await writeFile(path, leaf.certificate + authority.certificate);
  const { createPrivateKey } = await import('node:crypto');
  const [ofLeaf, ofAuthority] = [leaf, authority].map(({ key }) => createPrivateKey(key));
  if (ofLeaf === undefined || ofAuthority === undefined) throw new Error('no keys');
  const keys = { publicKeyFile: path };
  const verifier = await verifierOf(keys);
  expect(await isAccepted(verifier, await token(ofLeaf))).toBe(true);
  expect(await isAccepted(verifier, await token(ofAuthority))).toBe(false);
  const clock = { now: () => Date.now() + 3 * 86_400_000 };
  await expect(jwtVerifier({ keys, algorithms: ['ES256'], clock })).rejects.toThrow('has expired');
});

test('secrets in files rotate too', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'secret');
  const [old, next] = ['o'.repeat(32), 'n'.repeat(32)];
  await writeFile(path, `${old}\n`);
  const keys = { secretFile: [path] };
  const verifier = await jwtVerifier({ keys, algorithms: ['HS256'], logger: silentLogger });
  const signed = (secret: string): Promise<string> =>
    new SignJWT({ sub: 'alice' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1 h')
      .sign(new TextEncoder().encode(secret));
  expect(await isAccepted(verifier, await signed(old))).toBe(true);
  await writeFile(path, 'short');
  await checkFiles();
  expect(await isAccepted(verifier, await signed(old))).toBe(true);
  await writeFile(path, next);
  await checkFiles();
  expect(await isAccepted(verifier, await signed(old))).toBe(false);
  expect(await isAccepted(verifier, await signed(next))).toBe(true);
});

test('a token that is bound to a certificate needs that certificate', async () => {
  const verifier = await verifierOf({ publicKey: pem(first.publicKey) });
  const fingerprint = 'AB'.repeat(32).replaceAll(/(..)(?=.)/g, '$1:');
  const thumbprint = Buffer.from('ab'.repeat(32), 'hex').toString('base64url');
  const jwt = await new SignJWT({ sub: 'alice', cnf: { 'x5t#S256': thumbprint } })
    .setProtectedHeader({ alg: 'ES256' })
    .setExpirationTime('1 h')
    .sign(first.privateKey);
  const peer = { alternativeNames: [], fingerprint, validTo: Infinity };
  expect(await isAccepted(verifier, jwt, { tlsPeer: peer })).toBe(true);
  expect(await isAccepted(verifier, jwt)).toBe(false);
  const other = { ...peer, fingerprint: fingerprint.replace('AB', 'CD') };
  expect(await isAccepted(verifier, jwt, { tlsPeer: other })).toBe(false);
});

test('API keys in a file are given out and taken back while the server runs', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'keys.json');
  const write = (...keys: readonly string[]): Promise<void> =>
    writeFile(path, JSON.stringify(keys.map((key) => ({ key, subject: `owner-of-${key}` }))));
  await write('one', 'two');
  const verifier = apiKeyVerifier({ file: path, logger: silentLogger });
  const subjectOf = (key: string) =>
    verifier.verify({ headers: { 'x-api-key': key } }).then(
      (caller) => caller?.subject,
      () => 'refused',
    );
  expect(await subjectOf('one')).toBe('owner-of-one');
  await writeFile(path, '[{"key": "three", "subj');
  await checkFiles();
  expect(await subjectOf('one')).toBe('owner-of-one');
  expect(await subjectOf('three')).toBe('refused');
  await write('two', 'three');
  await checkFiles();
  expect(await Promise.all(['one', 'two', 'three'].map(subjectOf))).toEqual([
    'refused',
    'owner-of-two',
    'owner-of-three',
  ]);
});

test('a source of keys at an address alone is checked there, and has no files', async () => {
  await using issuer = await startIssuer([generateSigningKey()]);
  const what = `sub agent ${crypto.randomUUID()}`;
  const verify = cardVerifier({ jwksUrl: issuer.jwksUrl }, { what, logger: silentLogger });
  expect(verify).toBeTypeOf('function');
  const looked = (await checkFiles()).filter((check) => check.what.includes(what));
  expect(looked).toEqual([
    {
      what: expect.any(String) as string,
      paths: [issuer.jwksUrl],
      outcome: 'reloaded',
    },
  ]);
});

import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { silentLogger } from '../telemetry/index.ts';
import {
  bodySigner,
  generateSigningKey,
  publicKeySet,
  readSigningKey,
  verifyBodySignature,
} from './body-signature.ts';
import { rotatingSigner, signingKeyFiles } from './push-section.ts';

const facts = { audience: 'https://example.com/hook', id: 't/c/1', now: 1_000_000 };
const body = '{"statusUpdate":{"taskId":"ü"}}';

test('a signed body verifies with the published keys and tells its id', async () => {
  const signer = bodySigner([generateSigningKey()]);
  const signature = await signer.sign(body, facts);
  expect(signature).toMatch(/^[\w-]+\.\.[\w-]+$/);
  const options = { keys: await signer.jwks(), ...facts };
  expect(await verifyBodySignature(signature, body, options)).toEqual({ id: 't/c/1' });
  expect(await verifyBodySignature(signature, Buffer.from(body), options)).toEqual({ id: 't/c/1' });
});

test.each([
  ['another body', { body: `${body} ` }],
  ['another receiver', { audience: 'https://other.example.com/hook' }],
  ['a signature too old', { now: facts.now + 86_402_000 }],
  ['a signature from the future', { now: facts.now - 120_000 }],
  ['keys that do not hold it', { keys: publicKeySet([generateSigningKey()]) }],
])('%s is refused', async (_what, change) => {
  const signer = bodySigner([generateSigningKey({ kid: 'k' })]);
  const signature = await signer.sign(body, facts);
  const given = { body, keys: await signer.jwks(), ...facts, ...change };
  await expect(verifyBodySignature(signature, given.body, given)).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
});

test.each(['', 'a', 'a.b', 'a.b.c', '..', 'e30..'])(
  '%j is not accepted as a signature',
  async (signature) => {
    const keys = publicKeySet([generateSigningKey()]);
    await expect(verifyBodySignature(signature, body, { keys, ...facts })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  },
);

test('a former key stays published while a new one signs', async () => {
  const former = generateSigningKey();
  const current = generateSigningKey();
  const keys = await bodySigner([current, former]).jwks();
  const signature = await bodySigner([former]).sign(body, facts);
  expect(await verifyBodySignature(signature, body, { keys, ...facts })).toEqual({ id: 't/c/1' });
});

test('a rotated key is published without a call: another replica may sign with it already', async () => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'hooks.pem');
  const write = async (): Promise<void> => {
    const { privateKey } = generateSigningKey();
    await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  };
  await write();
  const files = { directory: folder.path, logger: silentLogger, what: 'push.signing_key' };
  const open = () => rotatingSigner(signingKeyFiles([path], files));
  const replica = open();
  await write();
  const signature = await open().sign(body, facts);
  const publishes = async (): Promise<boolean> => {
    const keys = await replica.jwks();
    return verifyBodySignature(signature, body, { keys, ...facts }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(publishes, { timeout: 10_000 }).toBe(true);
});

test.each([
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
  ['PS256', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
  ['EdDSA', generateKeyPairSync('ed25519')],
])(
  'a key read from PEM or JWK signs with %s and is named by its thumbprint',
  async (algorithm, pair) => {
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const key = readSigningKey(pem);
    expect(key.algorithm).toBe(algorithm);
    expect(key.kid).toBe(
      await calculateJwkThumbprint(pair.publicKey.export({ format: 'jwk' }) as JWK),
    );
    const jwk = JSON.stringify(pair.privateKey.export({ format: 'jwk' }));
    const signer = bodySigner([readSigningKey(jwk, { kid: 'named' })]);
    const signature = await signer.sign(body, facts);
    expect(
      await verifyBodySignature(signature, body, { keys: await signer.jwks(), ...facts }),
    ).toEqual({
      id: 't/c/1',
    });
  },
);

test('published keys hold no private member', () => {
  const [key] = publicKeySet([generateSigningKey()]).keys;
  expect(Object.keys(key ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
});

test.each([
  ['rubbish', 'not a key'],
  ['broken JSON', '{"kty":'],
  [
    'a public key',
    generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }),
  ],
  [
    'a short RSA key',
    generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }),
  ],
  [
    'an X25519 key',
    generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
  ],
])('%s is refused as a signing key', (_what, text) => {
  expect(() => readSigningKey(text.toString())).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
  );
});

test('an algorithm that does not fit the key is refused', () => {
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  expect(() => readSigningKey(pem.toString(), { algorithm: 'RS256' })).toThrow('use ES256');
});

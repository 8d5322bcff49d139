import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { MessageSigner, type SignedMessage } from './signer.ts';
import { MessageVerifier, selfAsserted } from './verifier.ts';
import { readBusIdentity } from './read-identity.ts';

const alice = generateSigningKey();
const gatewayKey = generateSigningKey();
const verifier = new MessageVerifier({
  trusted: [
    { issuer: 'alice', keys: publicKeySet([alice]) },
    { issuer: 'gateway', keys: publicKeySet([gatewayKey]), mayVouch: true },
  ],
});
const signer = new MessageSigner({ issuer: 'alice', key: alice });
const gateway = new MessageSigner({ issuer: 'gateway', key: gatewayKey });
const message: SignedMessage = {
  topic: 'agent.task.bob',
  body: '{"message":{}}',
  correlationId: 'c',
  replyTo: 'agent.response.alice',
};

test('a message of a trusted sender is known by its token', async () => {
  const token = await signer.sign(message);
  expect(await verifier.verify(token, message)).toEqual({
    tenant: '',
    subject: 'alice',
    method: 'message-token',
  });
});

test('a gateway vouches for its callers, whose names are never those of others', async () => {
  const principal = { subject: 'alice', tenant: 't', displayName: 'Alice', scopes: ['a', 'b'] };
  const token = await gateway.sign(message, principal);
  expect(await verifier.verify(token, message)).toEqual({
    tenant: 't',
    subject: 'gateway/alice',
    method: 'message-token',
    displayName: 'Alice',
    scopes: ['a', 'b'],
  });
});

test('a peer that speaks for itself has the scopes of its entry and cannot grant itself others', async () => {
  const principal = { subject: 'alice', tenant: '', scopes: ['a', 'admin'] };
  const token = await signer.sign(message, principal);
  expect(await verifier.verify(token, message)).not.toHaveProperty('scopes');
  const trusted = [{ issuer: 'alice', keys: publicKeySet([alice]), scopes: ['a'] }];
  const given = new MessageVerifier({ trusted });
  expect(await given.verify(token, message)).toMatchObject({ subject: 'alice', scopes: ['a'] });
});

test('a gateway states scopes within those it may state', async () => {
  const trusted = [
    { issuer: 'gateway', keys: publicKeySet([gatewayKey]), mayVouch: true, scopes: ['a'] },
  ];
  const token = await gateway.sign(message, { subject: 'bob', tenant: '', scopes: ['a', 'b'] });
  const caller = await new MessageVerifier({ trusted }).verify(token, message);
  expect(caller.scopes).toEqual(['a']);
});

test('whom a verifier can prove is known, in any case of letters', () => {
  expect(['alice', 'Alice', 'gateway'].every((name) => verifier.knows(name))).toBe(true);
  expect(['bob', 'unverified:alice', ''].some((name) => verifier.knows(name))).toBe(false);
});

test('an agent may speak for itself only', async () => {
  const token = await signer.sign(message, { subject: 'bob', tenant: '' });
  await expect(verifier.verify(token, message)).rejects.toThrow(/may speak for itself only/);
});

test.each([
  ['body', { body: '{"message":{"x":1}}' }],
  ['topic', { topic: 'agent.task.eve' }],
  ['correlation', { correlationId: 'other' }],
  ['place to answer to', { replyTo: 'agent.response.eve' }],
])('a token is of no use on a message with another %s', async (_what, change) => {
  const token = await signer.sign(message);
  await expect(verifier.verify(token, { ...message, ...change })).rejects.toThrow(/invalid token/);
});

test('a key of one sender does not make the tokens of another', async () => {
  const forged = new MessageSigner({ issuer: 'gateway', key: alice });
  const token = await forged.sign(message, { subject: 'admin', tenant: '' });
  await expect(verifier.verify(token, message)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  const stranger = new MessageSigner({ issuer: 'eve', key: generateSigningKey() });
  await expect(verifier.verify(await stranger.sign(message), message)).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
});

test('a token is worthless after its time, and what is no token is refused', async () => {
  const late = new MessageVerifier({
    trusted: [{ issuer: 'alice', keys: publicKeySet([alice]) }],
    clock: { now: () => Date.now() + 8 * 24 * 60 * 60 * 1000 },
  });
  await expect(late.verify(await signer.sign(message), message)).rejects.toThrow(/ERR_JWT_EXPIRED/);
  for (const token of ['', 'a.b.c', 'x'.repeat(5000), 'e30.e30.']) {
    await expect(verifier.verify(token, message)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  }
});

test('who proves nothing is called by the name it gives itself, marked as unproved', () => {
  expect(selfAsserted('alice')).toMatchObject({
    subject: 'unverified:alice',
    method: 'self-asserted',
  });
  expect(selfAsserted('#').subject).toBe('unverified:unknown');
  expect(selfAsserted(undefined).subject).toBe('unverified:unknown');
});

test('keys are read from the files that the configuration names', async () => {
  await using folder = await temporaryDirectory();
  const directory = folder.path;
  const key = generateSigningKey();
  const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(join(directory, 'own.pem'), pem);
  await writeFile(join(directory, 'own.jwks.json'), JSON.stringify(publicKeySet([key])));
  await writeFile(join(directory, 'no.json'), '{"keys": 1, "secret": "hunter2"}');
  const read = (section: object) => readBusIdentity(section, { directory, issuer: 'alice' });
  const own = await read({
    type: 'rabbitmq',
    signing_key: 'own.pem',
    trusted: [{ issuer: 'alice', keys: 'own.jwks.json' }],
    require_signed: true,
  });
  const token = (await own.signer?.sign(message)) ?? '';
  expect(await own.verifier?.verify(token, message)).toMatchObject({ subject: 'alice' });
  expect(own.requireSigned).toBe(true);
  expect(await read({ type: 'memory' })).toEqual({});
  for (const [section, words] of [
    [{ signing_key: 'none.pem' }, /bus\.signing_key: the file none\.pem/],
    [{ trusted: [{ issuer: 'a', keys: 'no.json' }] }, /bus\.trusted\[0\]\.keys: no\.json/],
    [{ trusted: [{ issuer: 'a', key: 'own.jwks.json' }] }, /bus\.trusted\.0/],
    [{ require_signed: true }, /no issuer is trusted/],
  ] as const) {
    await expect(read(section)).rejects.toThrow(words);
    await expect(read(section)).rejects.not.toThrow(/hunter2/);
  }
});

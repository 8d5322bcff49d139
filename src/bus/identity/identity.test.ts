import { createPublicKey } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/support/stores.ts';
import { checkFiles } from '../../net/index.ts';
import { generateSigningKey, publicKeySet } from '../../push/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
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

test('a verified sender is known, case-insensitively', () => {
  expect(['alice', 'Alice', 'gateway'].every((name) => verifier.knows(name))).toBe(true);
  expect(['bob', 'unverified:alice', ''].some((name) => verifier.knows(name))).toBe(false);
});

test('an agent may not send messages on behalf of others', async () => {
  const token = await signer.sign(message, { subject: 'bob', tenant: '' });
  await expect(verifier.verify(token, message)).rejects.toThrow(
    /may not send messages on behalf of others: set may_vouch/,
  );
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
    message: 'the message has an invalid token (the issuer "eve" is not in bus.trusted)',
  });
});

test('expired and malformed tokens are refused', async () => {
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
  // Rotation: the new public key beside the old one, then the new private key.
  const next = generateSigningKey();
  await writeFile(join(directory, 'own.jwks.json'), JSON.stringify(publicKeySet([key, next])));
  await writeFile(
    join(directory, 'own.pem'),
    next.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  );
  await checkFiles();
  const later = (await own.signer?.sign(message)) ?? '';
  expect(decodeProtectedHeader(later).kid).toBe(next.kid);
  expect(await own.verifier?.verify(later, message)).toMatchObject({ subject: 'alice' });
  expect(await own.verifier?.verify(token, message)).toMatchObject({ subject: 'alice' });
  // Without the old key its messages are no longer those of a trusted sender.
  await writeFile(join(directory, 'own.jwks.json'), JSON.stringify(publicKeySet([next])));
  await checkFiles();
  await expect(own.verifier?.verify(token, message)).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
  // Other processes of an agent have its own key: it is trusted without an entry.
  await writeFile(join(directory, 'other.jwks.json'), JSON.stringify(publicKeySet([alice])));
  const among = await read({
    signing_key: 'own.pem',
    trusted: [{ issuer: 'bob', keys: 'other.jwks.json' }],
  });
  const announced = (await among.signer?.sign(message)) ?? '';
  expect(await among.verifier?.verify(announced, message)).toMatchObject({ subject: 'alice' });
  expect(await read({ type: 'memory' })).toEqual({});
  for (const [section, words] of [
    [{ signing_key: 'none.pem' }, /bus\.signing_key: the file .*none\.pem doesn't exist/],
    [
      { trusted: [{ issuer: 'a', keys: 'no.json' }] },
      /bus\.trusted\[0\]\.keys: the file \S*no\.json contains no key/,
    ],
    [{ trusted: [{ issuer: 'a', key: 'own.jwks.json' }] }, /bus\.trusted\.0/],
    [{ require_signed: true }, /no issuer is trusted/],
  ] as const) {
    await expect(read(section)).rejects.toThrow(words);
    await expect(read(section)).rejects.not.toThrow(/hunter2/);
  }
});

test('keys of senders come from PEM files, key sets, several files and addresses, and rotate', async () => {
  await using directory = await temporaryDirectory();
  const [old, next, published] = [generateSigningKey(), generateSigningKey(), generateSigningKey()];
  const pem = (key: typeof old): string =>
    createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString();
  const server = createServer((request, response) => {
    const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    const discovery = { issuer, jwks_uri: `${issuer}/keys` };
    const isKeys = request.url === '/keys';
    response.end(JSON.stringify(isKeys ? publicKeySet([published]) : discovery));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const at = (name: string): string => join(directory.path, name);
  await writeFile(at('old.pem'), pem(old));
  await writeFile(at('next.jwks.json'), JSON.stringify(publicKeySet([next])));
  const identityOf = (entry: object) =>
    readBusIdentity(
      { trusted: [{ issuer: 'alice', ...entry }] },
      { directory: directory.path, issuer: 'bob', logger: silentLogger },
    );
  const accepted = async (entry: object): Promise<readonly boolean[]> => {
    const { verifier: made } = await identityOf(entry);
    return Promise.all(
      [old, next, published].map(async (key) => {
        const token = await new MessageSigner({ issuer: 'alice', key }).sign(message);
        return made?.verify(token, message).then(
          () => true,
          () => false,
        );
      }),
    ).then((all) => all.map((one) => one === true));
  };
  try {
    expect(await accepted({ keys: 'old.pem' })).toEqual([true, false, false]);
    expect(await accepted({ keys: ['old.pem', 'next.jwks.json'] })).toEqual([true, true, false]);
    expect(await accepted({ jwks_url: `${origin}/keys` })).toEqual([false, false, true]);
    expect(await accepted({ openid_issuer: origin })).toEqual([false, false, true]);
    expect(await accepted({ keys: 'old.pem', jwks_url: `${origin}/keys` })).toEqual([
      true,
      false,
      true,
    ]);
    await expect(identityOf({ jwks_url: 'http://keys.example/' })).rejects.toThrow(
      /bus\.trusted\[0\]\.jwks_url: must be an https address.*allowed_names: \[keys\.example\]/,
    );
    const named = { jwks_url: 'http://keys.example/', allowed_names: ['*.Example'] };
    expect(await identityOf(named)).toHaveProperty('verifier');
    await expect(identityOf({ ...named, allowed_names: ['http://x'] })).rejects.toThrow(
      /bus\.trusted\.0\.allowed_names/,
    );
    await expect(identityOf({})).rejects.toThrow(/keys, jwks_url or openid_issuer/);
    const { verifier: rotating } = await identityOf({ keys: 'old.pem' });
    await writeFile(at('old.pem'), pem(old) + pem(next));
    await checkFiles();
    const token = await new MessageSigner({ issuer: 'alice', key: next }).sign(message);
    expect(await rotating?.verify(token, message)).toMatchObject({ subject: 'alice' });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

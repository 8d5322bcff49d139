import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { temporaryDirectory } from '../../test/support/stores.ts';
import { openMemory } from '../store/index.ts';
import { ApiKeys, apiKeyVerifier } from './api-keys.ts';
import { CredentialRefused } from './credentials.ts';

function setting(options: { cacheTime?: number } = {}) {
  const time = { now: 1_000 };
  const { records } = openMemory({ clock: { now: () => time.now } });
  return { records, time, keys: new ApiKeys({ records, ...options }) };
}

test('a key stands for its identity, and an identity may have several', async () => {
  const { keys } = setting();
  const identity = { subject: 'bob', tenant: 'acme', displayName: 'Bob', scopes: ['read'] };
  const [first, second] = [await keys.create(identity), await keys.create(identity)];
  const verifier = apiKeyVerifier({ stored: keys });
  for (const { key } of [first, second]) {
    expect(await verifier.verify({ headers: { 'x-api-key': key } })).toEqual({
      ...identity,
      method: 'api-key',
    });
  }
  expect(first.key).not.toBe(second.key);
});

test('only a digest of the key is stored', async () => {
  const { keys, records } = setting();
  const { key } = await keys.create({ subject: 'bob' });
  const stored = await records.list({ space: 'api-keys', limit: 10, now: 0 });
  expect(stored).toHaveLength(1);
  expect(JSON.stringify(stored.map((record) => [record.key, record.value.value]))).not.toContain(
    key.slice(4),
  );
});

test('a revoked key stops at once here, and elsewhere when the cache time is over', async () => {
  const { keys, records, time } = setting();
  const elsewhere = new ApiKeys({ records });
  const { key, record } = await keys.create({ subject: 'bob' });
  const other = await keys.create({ subject: 'bob' });
  expect(await elsewhere.find(key)).toMatchObject({ subject: 'bob' });
  expect(await keys.find(key)).toMatchObject({ subject: 'bob' });
  expect(await keys.revoke(record.id)).toBe(true);
  expect(await keys.find(key)).toBeUndefined();
  expect(await elsewhere.find(key)).toBeDefined();
  time.now += 5_000;
  expect(await elsewhere.find(key)).toBeUndefined();
  expect(await elsewhere.find(other.key)).toBeDefined();
  expect(await keys.revoke(record.id)).toBe(false);
  expect(await keys.revoke('')).toBe(false);
});

test('a lookup that is in flight during a change of its key is not cached', async () => {
  const { records } = setting();
  const get = records.get.bind(records);
  const read = Promise.withResolvers<void>();
  const slow = async (...query: Parameters<typeof get>) => {
    const found = await get(...query);
    await read.promise;
    return found;
  };
  const keys = new ApiKeys({ records });
  const { key, record } = await keys.create({ subject: 'bob' });
  const other = 'k'.repeat(20);
  const spy = vi.spyOn(records, 'get').mockImplementation(slow);
  const inFlight = [keys.find(key), keys.find(other)];
  await expect.poll(() => spy.mock.calls.length).toBe(2);
  spy.mockRestore();
  await keys.revoke(record.id);
  await keys.add(other, { subject: 'ada' });
  read.resolve();
  await Promise.all(inFlight);
  expect(await keys.find(key)).toBeUndefined();
  expect(await keys.find(other)).toMatchObject({ subject: 'ada' });
});

test('an expired key is unknown, also while it is cached', async () => {
  const { keys, time } = setting({ cacheTime: 1_000_000 });
  const { key } = await keys.create({ subject: 'bob' }, { expiresAt: 2_000 });
  expect(await keys.find(key)).toMatchObject({ expiresAt: 2_000 });
  time.now = 2_000;
  expect(await keys.find(key)).toBeUndefined();
});

test('unknown keys are cached too, and a key made after that is found', async () => {
  const { keys, records } = setting();
  const reads = vi.spyOn(records, 'get');
  const counted = new ApiKeys({ records });
  const key = 'k'.repeat(20);
  for (let count = 0; count < 3; count += 1) expect(await counted.find(key)).toBeUndefined();
  expect(reads).toHaveBeenCalledTimes(1);
  await counted.add(key, { subject: 'bob' });
  expect(await counted.find(key)).toMatchObject({ subject: 'bob' });
  expect(await keys.find(key)).toMatchObject({ subject: 'bob' });
});

test('keys are listed by identity, without anything to use them by', async () => {
  const { keys } = setting();
  const made = [];
  for (let index = 0; index < 5; index += 1) {
    made.push(await keys.create({ subject: index % 2 === 0 ? 'even' : 'odd' }));
  }
  const ids = made.map(({ record }) => record.id).sort();
  expect((await keys.list()).map(({ id }) => id)).toEqual(ids);
  expect(await keys.list({ subject: 'odd' })).toHaveLength(2);
  expect((await keys.list({ after: ids[1] ?? '', limit: 2 })).map(({ id }) => id)).toEqual(
    ids.slice(2, 4),
  );
  expect(JSON.stringify(await keys.list())).not.toContain('lgk_');
});

test.each(['', 'short', 'with space '.repeat(3), 'ü'.repeat(30), 'k'.repeat(513)])(
  'a key that is unusable or easy to guess is not stored: %j',
  async (key) => {
    const { keys } = setting();
    await expect(keys.add(key, { subject: 'bob' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
    });
  },
);

test('a key exists once', async () => {
  const { keys } = setting();
  await keys.add('k'.repeat(20), { subject: 'bob' });
  await expect(keys.add('k'.repeat(20), { subject: 'eve' })).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
  });
  expect(await keys.find('k'.repeat(20))).toMatchObject({ subject: 'bob' });
});

test('keys of the configuration work beside stored ones', async () => {
  const { keys } = setting();
  const { key } = await keys.create({ subject: 'stored' });
  const verifier = apiKeyVerifier({ keys: [{ key: 'my-key', subject: 'fixed' }], stored: keys });
  expect(await verifier.verify({ headers: { 'x-api-key': 'my-key' } })).toMatchObject({
    subject: 'fixed',
  });
  expect(await verifier.verify({ headers: { 'x-api-key': key } })).toMatchObject({
    subject: 'stored',
  });
});

test.each([
  ['an unknown key', { 'x-api-key': 'unknown' }],
  ['an empty key', { 'x-api-key': '' }],
  ['two keys', { 'x-api-key': ['my-key', 'my-key'] }],
  ['a key too long', { 'x-api-key': 'k'.repeat(20_000) }],
])('%s is refused', async (_what, headers) => {
  const verifier = apiKeyVerifier({ keys: [{ key: 'my-key', subject: 'fixed' }] });
  await expect(verifier.verify({ headers })).rejects.toBeInstanceOf(CredentialRefused);
});

const bob = { subject: 'bob', key: 'k'.repeat(20) };

test.each([
  ['no JSON', '{', 'is not JSON'],
  ['no list', '{}', 'is not a list of keys; write ['],
  ['empty', '[]', 'is not a list of keys; write ['],
  ['without a key', JSON.stringify([bob, { subject: 'eve' }]), 'is not a list of keys, see 1.key;'],
  ['with a key that has spaces', JSON.stringify([{ ...bob, key: 'a b' }]), 'see 0.key;'],
  [
    'with a key of two callers',
    JSON.stringify([bob, { ...bob, subject: 'eve' }]),
    'lists the same key twice (entry 1); remove one',
  ],
])('a file that is %s is refused by its path, without its content', async (_, content, reason) => {
  await using folder = await temporaryDirectory();
  const file = join(folder.path, 'keys.json');
  await writeFile(file, content);
  const opening = () => apiKeyVerifier({ file });
  expect(opening).toThrow(`the API key file ${file} `);
  expect(opening).toThrow(reason);
  expect(opening).not.toThrow(bob.key);
});

test('two entries of keys with one key are refused', () => {
  const keys = [bob, { subject: 'ada', key: 'other' }, { ...bob, subject: 'eve' }];
  const opening = () => apiKeyVerifier({ keys });
  expect(opening).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION_INVALID',
      message: 'keys[0] and keys[2] have the same API key; remove one',
    }),
  );
});

test('a request without a key is not for this verifier', async () => {
  const verifier = apiKeyVerifier({ keys: [{ key: 'my-key', subject: 'fixed' }] });
  const query = new URLSearchParams({ key: 'my-key' });
  expect(await verifier.verify({ headers: {}, query })).toBeUndefined();
});

test('the header can have another name, and a query parameter must be asked for', async () => {
  const verifier = apiKeyVerifier({
    keys: [{ key: 'my-key', subject: 'fixed' }],
    header: 'X-Agent-Key',
    queryParameter: 'key',
  });
  const query = new URLSearchParams({ key: 'my-key' });
  expect(await verifier.verify({ headers: {}, query })).toMatchObject({ subject: 'fixed' });
  expect(await verifier.verify({ headers: { 'x-agent-key': 'my-key' } })).toBeDefined();
  expect(verifier.schemes).toEqual({
    apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-Agent-Key' } },
    apiKeyQuery: { apiKeySecurityScheme: { location: 'query', name: 'key' } },
  });
});

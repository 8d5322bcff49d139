/** §8.4: cards are signed once per version, and believed by keys that the operator configured. */
import { createPublicKey, verify } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FlattenedSign } from 'jose';
import { afterEach, expect, test } from 'vitest';
import { canonicalJson } from '../../src/auth/card-signature.ts';
import { signCard, type TrustedKeys, verifyCard } from '../../src/auth/index.ts';
import { connect, fetchAgentCard } from '../../src/client/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import type { AgentCard, JsonObject } from '../../src/protocol/index.ts';
import { generateSigningKey, publicKeySet, type SigningKey } from '../../src/push/index.ts';
import { actor } from './support/agents.ts';

let server: Serving | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: ServeOptions): Promise<string> {
  server = await serve(actor, { drainMs: 0, ...options });
  return `http://127.0.0.1:${server.port}`;
}

async function cardAt(url: string, version = '1.0'): Promise<JsonObject> {
  const response = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: version === '' ? {} : { 'a2a-version': version },
  });
  return (await response.json()) as JsonObject;
}

const trust = (...keys: SigningKey[]): TrustedKeys[] => [{ keys: publicKeySet(keys) }];
const believing = (trusted: readonly TrustedKeys[]) => async (card: unknown) =>
  (await verifyCard(card, { trusted })).card;
const headerOf = (signature: unknown): JsonObject =>
  JSON.parse(
    Buffer.from((signature as { protected: string }).protected, 'base64url').toString(),
  ) as JsonObject;
const invalid = { code: 'PEER_INVALID' };

test('CARD-SIGN-001, CARD-SIGN-002: what is signed is the canonical card without its signatures', async () => {
  const key = generateSigningKey();
  const url = await start({ cardKeys: [key] });
  const { signatures, ...content } = await cardAt(url);
  const [signature] = signatures as unknown as { protected: string; signature: string }[];
  if (signature === undefined) throw new Error('not signed');
  // Made again by hand, from nothing but the card as it was served.
  const payload = Buffer.from(canonicalJson(content)).toString('base64url');
  const isValid = verify(
    'sha256',
    Buffer.from(`${signature.protected}.${payload}`),
    { key: createPublicKey(key.privateKey), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature.signature, 'base64url'),
  );
  expect(isValid).toBe(true);
});

test('CARD-SIGN-003: each signature has alg, kid and typ in its protected header, one for each key', async () => {
  const keys = [generateSigningKey({ kid: 'a' }), generateSigningKey({ kid: 'b' })] as const;
  const url = await start({ cardKeys: [...keys] });
  const headers = ((await cardAt(url))['signatures'] as unknown[]).map(headerOf);
  expect(new Set(headers.map(({ kid }) => kid))).toEqual(new Set(['a', 'b']));
  for (const header of headers) expect(header).toMatchObject({ alg: 'ES256', typ: 'JOSE' });
});

test('CARD-SIGN-004: keys that have expired or were taken out verify nothing', async () => {
  const key = generateSigningKey();
  const url = await start({ cardKeys: [key] });
  const now = Date.now();
  const keys = publicKeySet([key]);
  const connectTrusting = (trusted: readonly TrustedKeys[]) =>
    connect(url, { verifyCard: believing(trusted), retry: false });
  expect((await connectTrusting([{ keys, notAfter: now + 60_000 }])).card.name).toBe('actor');
  await expect(connectTrusting([{ keys, notAfter: now - 1 }])).rejects.toMatchObject(invalid);
  await expect(connectTrusting([])).rejects.toMatchObject(invalid);
});

test('a card is signed once for each of its versions, however often it is asked for', async () => {
  const url = await start({ cardKeys: [generateSigningKey()] });
  const first = await cardAt(url);
  // Signatures by this algorithm never come out the same twice.
  expect((await cardAt(url))['signatures']).toEqual(first['signatures']);
  const response = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { 'a2a-version': '1.0' },
  });
  const etag = response.headers.get('etag') ?? '';
  const { cards } = server?.router ?? {};
  if (cards === undefined) throw new Error('no cards');
  await cards.replace({ ...cards.current, version: '2.0.0' });
  const second = await cardAt(url);
  expect(second['version']).toBe('2.0.0');
  expect(second['signatures']).not.toEqual(first['signatures']);
  const again = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { 'a2a-version': '1.0', 'if-none-match': etag },
  });
  expect(again.status).toBe(200);
});

test('the card for readers of both versions verifies too', async () => {
  const key = generateSigningKey();
  const url = await start({ cardKeys: [key] });
  const superset = await cardAt(url, '');
  expect(superset).toHaveProperty('url');
  const { card } = await verifyCard(superset, { trusted: trust(key) });
  expect(card).not.toHaveProperty('url');
});

test('the client believes a card by its configured roots, when fetched, given and fetched again', async () => {
  const key = generateSigningKey();
  const url = await start({ cardKeys: [key] });
  const options = { verifyCard: believing(trust(key)), retry: false } as const;
  const client = await connect(url, options);
  expect(client.card.name).toBe('actor');
  expect((await fetchAgentCard(url, options)).card.name).toBe('actor');
  expect((await connect(await cardAt(url), options)).card.name).toBe('actor');
  const { cards } = server?.router ?? {};
  if (cards === undefined) throw new Error('no cards');
  await cards.replace({ ...cards.current, description: 'newer' });
  expect((await client.refreshCard()).description).toBe('newer');

  const strict = { verifyCard: believing(trust(generateSigningKey())), retry: false } as const;
  await expect(connect(url, strict)).rejects.toMatchObject(invalid);
  await expect(fetchAgentCard(url, strict)).rejects.toMatchObject(invalid);
  await expect(connect(await cardAt(url), strict)).rejects.toMatchObject(invalid);
});

test('a card that is not signed, or was changed on its way, leads nowhere', async () => {
  const key = generateSigningKey();
  const url = await start({ cardKeys: [key] });
  const options = { verifyCard: believing(trust(key)), retry: false } as const;
  const card = await cardAt(url);
  const { signatures: _, ...unsigned } = card;
  await expect(connect(unsigned, options)).rejects.toMatchObject(invalid);
  const moved = structuredClone(card) as unknown as { supportedInterfaces: { url: string }[] };
  for (const each of moved.supportedInterfaces) each.url = 'https://evil.example.com';
  await expect(connect(moved as unknown as JsonObject, options)).rejects.toMatchObject(invalid);
});

test('what a signature does not cover does not reach the client', async () => {
  const key = generateSigningKey();
  const url = await start({ cardKeys: [key] });
  const card = {
    ...(await cardAt(url)),
    url: 'https://evil.example.com',
    preferredTransport: 'JSONRPC',
  };
  const client = await connect(card, { verifyCard: believing(trust(key)), retry: false });
  expect(JSON.stringify(client.card)).not.toContain('evil');
});

test('the address of keys in a card is never followed', async () => {
  const hits: string[] = [];
  const forger = generateSigningKey({ kid: 'forged' });
  const keys = createServer((request, response) => {
    hits.push(request.url ?? '');
    response.end(JSON.stringify(publicKeySet([forger])));
  });
  await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve));
  const jku = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/jwks.json`;
  const url = await start({});
  const card = (await cardAt(url)) as unknown as AgentCard;
  const { signatures: _, ...content } = await signCard(card, { keys: [forger] });
  const payload = new TextEncoder().encode(canonicalJson(content));
  const signature = await new FlattenedSign(payload)
    .setProtectedHeader({ alg: 'ES256', kid: 'forged', typ: 'JOSE', jku })
    .sign(forger.privateKey);
  const forged = {
    ...content,
    signatures: [
      { protected: signature.protected ?? '', signature: signature.signature, header: { jku } },
    ],
  };
  const honest = generateSigningKey({ kid: 'forged' });
  await expect(
    connect(forged as unknown as JsonObject, {
      verifyCard: believing(trust(honest)),
      retry: false,
    }),
  ).rejects.toMatchObject(invalid);
  expect(hits).toEqual([]);
  await new Promise((resolve) => keys.close(resolve));
});

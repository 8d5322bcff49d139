import { expect, test, vi } from 'vitest';
import { bodySigner, generateSigningKey, publicKeySet } from '../../push/index.ts';
import type { NetworkPicture } from './model.ts';
import { bakery, inspectedServer } from './testing/inspected-server.ts';
import { post, send } from './testing/requests.ts';

test('the network picture has callers, agents, webhooks and the peers of the provider', async () => {
  await using server = await inspectedServer(
    { push: { maxAttempts: 1 } },
    {
      network: {
        levels: [{ name: 'observe', description: '' }],
        peers: async () => [
          {
            id: 'p1',
            name: 'mill',
            address: 'https://mill.example',
            transport: 'http',
            reach: 'reachable',
            trust: 'observe',
          },
        ],
        calls: async () => [
          { from: bakery.name, to: 'p1', count: 7, failed: 1 },
          { from: 'stranger', to: 'p1', count: 1, failed: 0 },
        ],
      },
    },
  );
  await send(server, 'hello', 'alice');
  await send(server, 'fail', 'alice');
  const picture = await server.get<NetworkPicture>('network');
  expect(picture.nodes.map(({ kind, name }) => `${kind} ${name}`).toSorted()).toEqual([
    'agent bakery',
    'caller alice',
    'peer mill',
  ]);
  expect(picture.calls).toContainEqual({ from: 'bakery', to: 'p1', count: 7, failed: 1 });
  expect(picture.calls).toContainEqual(
    expect.objectContaining({ to: 'bakery', count: 2, failed: 1 }),
  );
  expect(picture.calls).toHaveLength(2);
});

test('a delivery whose stored configuration is unreadable does not break the picture', async () => {
  await using server = await inspectedServer();
  const taskId = await send(server, 'hello', 'alice');
  const registration = { config: { id: 'c', url: '' }, wireVersion: '1.0' as const };
  vi.spyOn(server.serving.router.store.push, 'deliveries').mockResolvedValue([
    {
      id: 1,
      taskId,
      sequence: 1,
      attempts: 0,
      push: registration,
      unreadable: 'not a configuration',
      state: 'dead',
      nextAttemptAt: 0,
    },
  ]);
  const { nodes } = await server.get<NetworkPicture>('network');
  expect(nodes.map(({ kind }) => kind)).toEqual(['agent', 'caller']);
});

test('trust is granted and approvals decided through the provider, within its levels', async () => {
  const done: unknown[] = [];
  await using server = await inspectedServer(
    {},
    {
      network: {
        levels: [
          { name: 'observe', description: 'may ask' },
          { name: 'act', description: 'may do' },
        ],
        peers: async () => [],
        setTrust: async (...given) => void done.push(given),
        approvals: async () => [{ id: 'a1', peerId: 'p1', title: 'bake', since: 1 }],
        decide: async (...given) => void done.push(given),
      },
    },
  );
  expect(await server.get('peers')).toMatchObject({ canSetTrust: true, levels: [{}, {}] });
  expect(await server.get('approvals')).toHaveLength(1);
  const grant = { level: 'act', approvedSkills: ['bake'] };
  expect((await server.api('peers/p1/trust', post(grant))).status).toBe(200);
  expect((await server.api('approvals/a1', post({ decision: 'approve' }))).status).toBe(200);
  expect(done).toEqual([
    ['p1', grant],
    ['a1', 'approve'],
  ]);
  for (const [path, body] of [
    ['peers/p1/trust', { level: 'king' }],
    ['peers/p1/trust', { level: 'act', approvedSkills: 'all' }],
    ['approvals/a1', { decision: 'maybe' }],
    ['approvals/a1', []],
  ] as const) {
    expect((await server.api(path, post(body))).status).toBe(400);
  }
  expect(done).toHaveLength(2);
});

test('without a provider there are no peers, and nothing to grant', async () => {
  await using server = await inspectedServer();
  expect(await server.get('peers')).toEqual({
    levels: [],
    canSetTrust: false,
    peers: [],
    subAgents: [],
  });
  expect(await server.get('approvals')).toEqual([]);
  expect((await server.api('peers/p/trust', post({ level: 'act' }))).status).toBe(400);
});

test('signatures of cards are verified with our own keys, or with given ones', async () => {
  const [own, other] = [generateSigningKey(), generateSigningKey()];
  await using server = await inspectedServer({
    cardKeys: [own],
    push: { signer: bodySigner([own]) },
  });
  const card = server.serving.router.cards.current;
  const check = async (body: object) => (await server.api('cards/check', post(body))).json();
  expect(await check({ card })).toMatchObject({ verified: { kid: own.kid } });
  const { signatures: _, ...unsigned } = card;
  expect(await check({ card: unsigned })).toEqual({
    signatures: 0,
    problem: 'the card is not signed',
  });
  expect(await check({ card: { ...card, name: 'forged' } })).toMatchObject({
    problem: 'no signature of the card is by a trusted key',
  });
  expect(await check({ card, jwks: publicKeySet([other]) })).not.toHaveProperty('verified');
  expect(await check({ card, jwks: publicKeySet([own]) })).toHaveProperty('verified');
  expect(await check({})).toMatchObject({ problem: expect.any(String) as string });
});

import { expect, test } from 'vitest';
import { agent } from '../../agents/index.ts';
import { serve } from '../../http/index.ts';
import { openMemory } from '../../store/index.ts';
import { readTrustName } from '../trust/trust-subject.ts';
import { inspectedNetwork } from './inspected-network.ts';
import { joinPeers } from './join-peers.ts';

const alice = { method: 'message-token', tenant: '', subject: 'alice' };

async function start() {
  const network = await joinPeers({
    name: 'me',
    store: openMemory(),
    wellKnown: [{ name: 'bob' }],
  });
  return {
    network,
    view: inspectedNetwork(network, { name: 'me' }),
    [Symbol.asyncDispose]: () => network.close(),
  };
}

test('the inspector sees peers and callers, with what they may do', async () => {
  await using made = await start();
  const { network, view } = made;
  await network.trust.note(alice, 'Alice');
  expect(await view.peers()).toMatchObject([
    { id: 'peer::bob', name: 'bob', address: 'bob', transport: 'bus', trust: 'observe' },
    { id: 'message-token::alice', name: 'Alice', transport: 'bus', interactions: 1 },
  ]);
  expect(await view.calls?.()).toMatchObject([
    { from: 'message-token::alice', to: 'me', count: 1 },
  ]);
});

test('what is set there holds exactly, and is in the audit log', async () => {
  await using made = await start();
  const { network, view } = made;
  await view.setTrust?.('message-token::alice', {
    level: 'act',
    approvedSkills: ['Echo', 'notify'],
  });
  await view.setTrust?.('message-token::alice', { level: 'propose', approvedSkills: ['echo'] });
  expect(await network.trust.find(alice)).toMatchObject({
    level: 'propose',
    approvedSkills: ['echo'],
  });
  const lines = await network.trust.audit.read();
  expect(lines.map(({ by, event }) => `${by} ${event}`)).toEqual([
    'inspector trust.granted',
    'inspector trust.revoked',
    'inspector trust.granted',
  ]);
  await expect(
    view.setTrust?.('self-asserted::mallory', { level: 'act', approvedSkills: [] }),
  ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

test('proposals wait there for a decision', async () => {
  await using made = await start();
  const { network, view } = made;
  const asked = { ...alice, displayName: 'Alice', skill: 'pay', text: 'Pay the bill' };
  for (const id of ['one', 'two']) await network.proposals.open({ ...asked, id }, 60_000);
  expect(await view.approvals?.()).toMatchObject([
    { id: 'one', peerId: 'message-token::alice', title: 'Alice asks for pay' },
    { id: 'two' },
  ]);
  await view.decide?.('one', 'approve');
  await view.decide?.('two', 'reject');
  expect((await network.proposals.find('one'))?.state).toBe('approved');
  expect((await network.proposals.find('two'))?.state).toBe('refused');
  expect(await view.approvals?.()).toEqual([]);
});

test('the page grants and lists over its own API', async () => {
  await using made = await start();
  const { network, view } = made;
  const token = 'the-token-of-the-inspector';
  await using server = await serve(
    agent({ name: 'me' }, async function* () {}),
    { inspect: { network: view, token }, drainMs: 0 },
  );
  const call = (path: string, body?: object) =>
    fetch(`${server.url}/inspect/api/${path}`, {
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        origin: server.url,
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  const path = `peers/${encodeURIComponent('peer::bob')}/trust`;
  const set = await call(path, { level: 'act', approvedSkills: ['meet'] });
  expect(set.status).toBe(200);
  expect(await network.trust.mayAct(readTrustName('peer:bob'), 'meet')).toBe(true);
  expect(await (await call('peers')).json()).toMatchObject({
    canSetTrust: true,
    peers: [{ name: 'bob', trust: 'act', approvedSkills: ['meet'] }],
  });
});

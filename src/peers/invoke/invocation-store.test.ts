import { expect, test } from 'vitest';
import { Json } from '../../protocol/index.ts';
import { openStore } from '../../store/index.ts';
import { InvocationStore } from './invocation-store.ts';

test('an invocation of an earlier version is read with its present names', async () => {
  const store = await openStore({ type: 'memory' });
  const stored = {
    id: 'i-1',
    agent: 'bob',
    skill: 'echo',
    reach: 'bus',
    session: { id: 'c-1', caller: { tenant: '', subject: 'ada', method: 'none' } },
    mode: 'notify',
    state: 'ended',
    message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] },
    request: 'hi',
    rounds: 0,
    timeoutMs: 1_000,
    startedAt: 0,
    deadline: 1_000,
    isTold: true,
  };
  const write = { space: 'invocations', key: 'me\ni-1', value: Json.of(stored), expiresAt: 1e15 };
  await store.records.write([write], 0);
  const invocation = await new InvocationStore(store.records, 'me', { now: () => 0 }).find('i-1');
  await store.close();
  expect(invocation).toMatchObject({ transportKind: 'bus', isNotified: true });
});

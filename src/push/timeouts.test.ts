/** Outbound calls: 5 s to connect, 30 s overall and 5 s for DNS, where nobody says otherwise. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeliverySender } from './delivery-sender.ts';
import { GuardedClient, guardedFetch, outboundTimeouts } from './guarded-client.ts';
import { publicPolicy, type UrlPolicy } from './policy.ts';
import { startReceiver } from './receiver.contract.ts';
import { checkPushAddress } from './registration.ts';

const loopback: UrlPolicy = { ...publicPolicy, allowLoopback: true };
const url = 'https://hooks.example.com/';

// Only what the code sets: the network keeps its own time. Nothing is polled, which would move the time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** What work fails with when so much time has passed, and not a millisecond sooner. */
async function failureAfter(milliseconds: number, work: Promise<unknown>): Promise<string> {
  let failure: string | undefined;
  const settled = work.then(
    () => (failure = 'none'),
    (error: unknown) => (failure = String(error)),
  );
  await vi.advanceTimersByTimeAsync(milliseconds - 1);
  expect(failure).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  return settled;
}

test('the defaults', () => {
  expect(outboundTimeouts).toEqual({ dns: 5_000, connect: 5_000, overall: 30_000 });
});

test('DNS has 5 s, at registration and at every call', async () => {
  let asked = Promise.withResolvers<void>();
  const resolver = (): Promise<never> => {
    asked.resolve();
    return new Promise(() => {});
  };
  const registered = checkPushAddress({ url }, { policy: publicPolicy, resolver });
  expect(await failureAfter(5_000, registered)).toContain('cannot be looked up');
  asked = Promise.withResolvers<void>();
  const client = new GuardedClient({ policy: publicPolicy, resolver });
  const { signal } = new AbortController();
  const call = client.send(url, { method: 'GET', headers: {}, signal });
  await asked.promise;
  expect(await failureAfter(5_000, call)).toContain('took longer than 5000 ms');
  client.close();
});

test('connecting has 5 s', async () => {
  // Accepts TCP and stays silent, so that the TLS handshake never ends.
  const connected = Promise.withResolvers<Socket>();
  const server = createServer((socket) => connected.resolve(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new GuardedClient({ policy: loopback });
  try {
    const silent = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { signal } = new AbortController();
    const call = client.send(silent, { method: 'GET', headers: {}, signal });
    call.catch(() => undefined);
    const socket = await connected.promise;
    expect(await failureAfter(5_000, call)).toContain('took longer than 5000 ms');
    socket.destroy();
  } finally {
    client.close();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a call has 30 s overall, and so has a delivery', async () => {
  const called = Promise.withResolvers<void>();
  await using receiver = await startReceiver(() => called.resolve());
  const fetch = guardedFetch(loopback);
  const call = fetch(receiver.url);
  call.catch(() => undefined);
  await called.promise;
  expect(await failureAfter(30_000, call)).toContain('30000 ms');
  fetch.close();
  const sender = new DeliverySender({
    store: { readEvents: async () => [] },
    policy: loopback,
    taskAt: async () => undefined,
    scheduler: { now: () => 0, after: () => ({ cancel: () => undefined }) },
  });
  expect(sender.timeout).toBe(30_000);
  sender.close();
});

import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { silentLogger } from '../../telemetry/index.ts';
import { domain, TestClock } from '../testing/domain.ts';
import { InProcessActions } from './in-process.ts';
import { RemoteActions } from './remote.ts';
import { type ActionRunner, defineAction } from './runner.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** What runs of an action leave behind, though their time is far from over. */
async function leftovers(actions: ActionRunner, count: number) {
  // Their timers are of the system and can't be counted, but nothing may make one.
  const made = [vi.spyOn(AbortSignal, 'timeout'), vi.spyOn(AbortSignal, 'any')];
  const { signal } = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
  const before = timers();
  for (let at = 0; at < count; at += 1) {
    await actions.run({
      name: 'action_rate',
      senderId: 'ada',
      slots: {},
      tracker: () => Promise.resolve({}),
      domain: domain([]),
      context: {},
      channel: 'rest',
      stream: () => Promise.resolve(),
      newId: () => 'id',
      signal,
      clock: new TestClock(),
      logger: silentLogger,
    });
  }
  return {
    signals: made.reduce((sum, { mock }) => sum + mock.calls.length, 0),
    listeners: getEventListeners(signal, 'abort').length,
    timers: Math.max(0, timers() - before),
  };
}

const nothing = { signals: 0, listeners: 0, timers: 0 };

test('an action in this process leaves no timer and no listener behind', async () => {
  const seen = new Set<AbortSignal>();
  const rate = defineAction({
    name: 'action_rate',
    run: ({ signal }) => {
      seen.add(signal);
      return Promise.resolve();
    },
  });
  expect(await leftovers(new InProcessActions([rate]), 200)).toEqual(nothing);
  expect(seen.size).toBe(200);
  for (const signal of seen) expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an action of a server leaves no timer and no listener behind', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"events": [], "responses": []}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`;
  expect(await leftovers(new RemoteActions({ url }), 50)).toEqual(nothing);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

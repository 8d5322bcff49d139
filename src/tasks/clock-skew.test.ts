import { expect, test } from 'vitest';
import { agent } from '../agents/index.ts';
import { openMemory, openMemoryReplicas, type Store } from '../store/index.ts';
import { type Logger, startTelemetry } from '../telemetry/index.ts';
import { Engine } from './index.ts';

const idle = agent({ name: 'idle' }, async function* () {});

/** A store with a clock of its own, and a log. */
function setting() {
  const clock = { skew: 0, now: () => Date.now(), skewMs: () => clock.skew };
  const [inner] = openMemoryReplicas(1);
  const store = new Proxy(inner ?? openMemory(), {
    get(target, name: keyof Store) {
      if (name === 'clock') return clock;
      const member: unknown = target[name];
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const lines: [string, unknown][] = [];
  const write = (fields: object, event?: string): void => void lines.push([event ?? '', fields]);
  const logger: Logger = {
    debug: () => {},
    info: write,
    warn: write,
    error: write,
    child: () => logger,
  };
  return { clock, store, lines, logger };
}

test('a wall clock more than a second from that of the store is logged once, and counted', async () => {
  const { clock, store, lines, logger } = setting();
  await using telemetry = await startTelemetry();
  let beats = 0;
  const beating = new Proxy(store, {
    get: (target, name: keyof Store) => {
      if (name === 'heartbeat') beats += 1;
      return target[name];
    },
  });
  clock.skew = 1_000;
  const engine = await Engine.start({ agent: idle, store: beating, leaseMs: 30, logger });
  clock.skew = -61_000;
  await expect.poll(() => lines).toEqual([['store.clock_skew', { skewMs: -61_000 }]]);
  expect(await telemetry.prometheus()).toMatch(/^legate_store_clock_skew_seconds -61$/m);
  const before = beats;
  await expect.poll(() => beats).toBeGreaterThan(before + 3);
  expect(lines).toHaveLength(1);
  clock.skew = 10;
  await expect.poll(() => lines[1]).toEqual(['store.clock_skew.over', { skewMs: 10 }]);
  await engine.stop();
});

test('engines of one process that share a store say it once', async () => {
  const { clock, store, lines, logger } = setting();
  clock.skew = 61_000;
  const started = [];
  for (const name of ['a', 'b', 'c']) {
    const made = agent({ name }, async function* () {});
    started.push(await Engine.start({ agent: made, store, leaseMs: 30, logger }));
  }
  clock.skew = 0;
  await expect.poll(() => lines.length).toBe(2);
  expect(lines.map(([event]) => event)).toEqual(['store.clock_skew', 'store.clock_skew.over']);
  for (const engine of started) await engine.stop();
});

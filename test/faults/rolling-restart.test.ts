import { expect, test } from 'vitest';
import { rollingRestart } from './rolling-restart.ts';

test(
  'replicas restart by turns behind a balancer that repeats nothing, and no request fails',
  { timeout: 180_000 },
  async () => {
    // Another one every time; the message of a failure names it.
    const seed = Math.floor(Math.random() * 2 ** 31);
    const { violations, injected, checked } = await rollingRestart({
      seed,
      milliseconds: 20_000,
      requests: 2_000,
      report: () => undefined,
    });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    expect(injected['rolling restarts']).toBeGreaterThan(0);
    expect(checked['requests']).toBeGreaterThan(100);
    expect(checked['streams']).toBeGreaterThan(5);
  },
);

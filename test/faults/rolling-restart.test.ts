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
      milliseconds: 60_000,
      requests: 3_000,
      report: () => undefined,
    });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    expect(injected['rolling restarts']).toBeGreaterThan(0);
    expect(checked['requests']).toBeGreaterThan(1_000);
    expect(checked['streams']).toBeGreaterThan(5);
  },
);

import { expect, test } from 'vitest';
import { runFaults } from './run.ts';

test(
  'replicas and their database are killed at random, and every promise is kept',
  {
    timeout: 180_000,
  },
  async () => {
    // Another one every time; the message of a failure names it.
    const seed = Math.floor(Math.random() * 2 ** 31);
    const { violations, acknowledged, conversations, faults } = await runFaults({
      seed,
      milliseconds: 20_000,
      conversations: 24,
    });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    expect(acknowledged).toBeGreaterThan(100);
    expect(conversations).toBeGreaterThan(24);
    expect(Object.values(faults).reduce((sum, count) => sum + count)).toBeGreaterThan(2);
  },
);

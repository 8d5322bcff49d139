import { expect, test } from 'vitest';
import { scenarios } from './scenarios.ts';

/** Long enough for each scenario to inject its faults and to check something. */
const shortRunMs: Readonly<Record<string, number>> = {
  replicas: 12_000,
  'half-open': 10_000,
  'disk-full': 8_000,
  pooler: 10_000,
  'frozen-database': 8_000,
};

// Another seed every time; a failure names it.
const seed = Math.floor(Math.random() * 2 ** 31);

/** Scenarios with tests of their own. */
const apart = new Set(['rolling-restart', 'broker', 'bus-fuzz']);

test.for(Object.keys(scenarios).filter((name) => !apart.has(name)))(
  'a short run of scenario %s breaks no promise',
  { timeout: 180_000 },
  async (name) => {
    const result = await scenarios[name]?.({
      seed,
      milliseconds: shortRunMs[name] ?? 5_000,
      report: () => {},
    });
    expect({ name, seed, violations: result?.violations }).toEqual({ name, seed, violations: [] });
    const notInjected = Object.entries(result?.injected ?? {}).filter(([, count]) => count === 0);
    expect({ name, seed, notInjected }).toEqual({ name, seed, notInjected: [] });
    expect(sum(result?.injected)).toBeGreaterThan(0);
    expect(sum(result?.checked)).toBeGreaterThan(10);
  },
);

function sum(counts: Readonly<Record<string, number>> = {}): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

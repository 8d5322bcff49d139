import { expect, test } from 'vitest';
import { brokerFaults } from './broker.ts';
import { busCampaign } from './campaign.ts';

// Another seed every time; a failure names it.
const seed = Math.floor(Math.random() * 2 ** 31);

test(
  'a broker that restarts, hangs, raises alarms and carries poison costs no task its answer',
  { timeout: 300_000 },
  async () => {
    const result = await brokerFaults({ seed, milliseconds: 5_000, report: () => {} });
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    expect(result.injected).toMatchObject({
      'memory alarm': expect.any(Number) as unknown,
      'disk alarm': expect.any(Number) as unknown,
      freeze: expect.any(Number) as unknown,
      restart: expect.any(Number) as unknown,
      'poison messages': expect.any(Number) as unknown,
    });
  },
);

test(
  'workers that are killed and frozen, and a broker that fails, lose and double no task',
  { timeout: 300_000 },
  async () => {
    const result = await busCampaign({ seed, faults: 6, poison: 100, report: () => {} });
    expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
    expect(result.injected['poison messages']).toBe(100);
    expect(result.checked['answered tasks']).toBeGreaterThan(0);
  },
);

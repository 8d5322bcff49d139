import { expect, test } from 'vitest';
import { brokerFaults } from './broker.ts';
import { fuzzBus } from './fuzz.ts';

// Another seed every time; a failure names it.
const seed = Math.floor(Math.random() * 2 ** 31);

test(
  'three thousand hostile messages end nobody on the bus, and hold nobody up',
  { timeout: 240_000 },
  async () => {
    const isOver = (sent: number): boolean => sent >= 3_000;
    const { violations, injected } = await fuzzBus({ seed, isOver, report: () => {} });
    expect({ seed, violations }).toEqual({ seed, violations: [] });
    expect(Object.keys(injected).toSorted()).toEqual([
      'agent.response',
      'agent.task',
      'agent.task.cancel',
      'agent.task.status',
      'discovery.announce',
      'straight into a queue',
    ]);
  },
);

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

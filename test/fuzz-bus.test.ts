import { expect, test } from 'vitest';
import { fuzzBus } from './faults/bus/fuzz.ts';

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

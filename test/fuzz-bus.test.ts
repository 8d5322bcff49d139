import { expect, test } from 'vitest';
import { fuzzBus } from './faults/bus/fuzz.ts';

// Another seed every time; a failure names it.
const seed = Math.floor(Math.random() * 2 ** 31);

test.each(['legate', 'rockbot'] as const)(
  'three thousand hostile messages end nobody on the bus, and hold nobody up (dialect %s)',
  { timeout: 240_000 },
  async (dialect) => {
    const isOver = (sent: number): boolean => sent >= 3_000;
    const { violations, injected } = await fuzzBus({ seed, dialect, isOver, report: () => {} });
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

import type { StoreClock } from './contract.ts';

/** The clock of a store that one process has to itself: that of the process, or the one it is given. */
export function processClock(clock: { now(): number } = { now: Date.now }): StoreClock {
  return { now: () => clock.now(), skewMs: () => 0 };
}

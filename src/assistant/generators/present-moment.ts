import type { GeneratorInput } from '../commands/generator.ts';

/** Milliseconds since 1970 for this turn: the slot `mocked_datetime` of a test wins over the clock. */
export function presentMoment(input: Pick<GeneratorInput, 'slots' | 'clock'>): number {
  const mocked = input.slots['mocked_datetime'];
  const parsed = typeof mocked === 'string' ? Date.parse(mocked) : Number.NaN;
  return Number.isNaN(parsed) ? input.clock.now() : parsed;
}

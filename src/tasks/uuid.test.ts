import { expect, test } from 'vitest';
import { timeOrderedUuid } from './uuid.ts';

test('ids are version 7, unique, and sort by their time', () => {
  const early = Array.from({ length: 2_000 }, () => timeOrderedUuid(1_700_000_000_000));
  const late = timeOrderedUuid(1_700_000_000_001);
  for (const id of early) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(id < late).toBe(true);
  }
  expect(new Set(early).size).toBe(2_000);
});

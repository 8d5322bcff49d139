import { expect, test } from 'vitest';
import { type Judged, measure, type Part, projectNames } from './measure.ts';

/** Least shares of messages that are understood; raise them when the generator gets better. */
const floors: Readonly<Record<Part, number>> = { tuned: 0.96, kept: 0.87 };

const share = (rows: readonly Judged[]): number =>
  rows.filter(({ isMet }) => isMet).length / rows.length;

test.each(projectNames)('%s understands what people write, as well as before', async (name) => {
  const judged = await measure(name);
  for (const part of ['tuned', 'kept'] as const) {
    const rows = judged.filter((one) => one.part === part);
    expect(share(rows), `${name}, ${part}`).toBeGreaterThanOrEqual(floors[part]);
  }
  // Whatever else goes wrong: nothing starts that was not asked for. Of the part kept apart one message
  // (a table for a kitchen) is known to start a booking.
  const started = judged.filter(
    ({ category, expected, reaction }) =>
      category === 'out of scope' &&
      expected.includes('refuse') &&
      reaction.commands.some(({ command }) => command === 'start flow'),
  );
  expect(started.filter(({ part }) => part === 'tuned').map(({ text }) => text)).toEqual([]);
  expect(started.length).toBeLessThanOrEqual(1);
});

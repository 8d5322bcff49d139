import { expect, test } from 'vitest';
import { type Judged, measure, type Part, projectNames } from './measure.ts';

/** Least shares of messages that are understood; raise them when the generator gets better. */
const floors: Readonly<Record<Part, number>> = { tuned: 0.98, kept: 0.92 };

const share = (rows: readonly Judged[]): number =>
  rows.filter(({ isMet }) => isMet).length / rows.length;

/** Over a thousand conversations, on machines that may be busy. */
const timeout = 120_000;

test.each(projectNames)(
  '%s understands what people write, as well as before',
  async (name) => {
    const judged = await measure(name);
    for (const [part, rows] of Map.groupBy(judged, (one) => one.part)) {
      expect(share(rows), `${name}, ${part}`).toBeGreaterThanOrEqual(floors[part]);
    }
    // Whatever else goes wrong: nothing starts that was not asked for.
    const started = judged.filter(
      ({ category, expected, reaction }) =>
        category === 'out of scope' &&
        expected.includes('refuse') &&
        reaction.commands.some(({ command }) => command === 'start flow'),
    );
    expect(started.map(({ text }) => text)).toEqual([]);
  },
  timeout,
);

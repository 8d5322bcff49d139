import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import { atMost, type Row } from '../row.ts';

const measured = z.object({
  peakMiB: z.number(),
  rareMs: z.number(),
  commonMs: z.number(),
  again: z.number(),
});

/** Documents of 10,000 passages: their memory, their queries, and the cost of a changed document. */
export const search: Row = {
  name: 'search',
  title: 'search in 10,000 passages',
  async run() {
    // In a separate process, because the peak memory of a process never falls. With a small young
    // generation, the peak shows the memory that is needed; with a large one, it depends on when V8
    // collects garbage.
    const program = join(import.meta.dirname, '..', 'search-load.ts');
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--expose-gc', '--max-semi-space-size=4', program],
      {
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
    const { peakMiB, rareMs, commonMs, again } = measured.parse(JSON.parse(stdout));
    return {
      verdicts: [
        atMost('peak memory above an empty process', peakMiB, 200, 'MiB'),
        atMost('CPU of a query with rare words', rareMs, 20, 'ms'),
        atMost('CPU of a query of the commonest words', commonMs, 20, 'ms'),
        atMost('passages embedded after a change of one document of 20', again, 20, ''),
      ],
    };
  },
};

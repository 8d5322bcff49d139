import { streamMessage } from '../requests.ts';
import { besideSdk, type Row } from '../row.ts';

/** A message in, the task, its artifact and its end out, as events. */
export const stream: Row = {
  name: 'stream',
  title: 'stream of 3 events, in memory',
  async run(bench) {
    const figures = await bench.compare(['raw', ...bench.sdks, 'memory'], ({ port }) =>
      streamMessage(port),
    );
    const { verdict, notes } = besideSdk(figures, 'memory', 2.5);
    return { figures, notes, verdicts: [verdict] };
  },
};

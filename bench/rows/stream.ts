import { streamMessage } from '../requests.ts';
import { atLeast, cpuNotes, ratio, type Row } from '../row.ts';

/** A message in, the task, its artifact and its end out, as events. */
export const stream: Row = {
  name: 'stream',
  title: 'stream of 3 events, in memory',
  async run(bench) {
    const figures = await bench.compare(['raw', 'sdk', 'memory'], ({ port }) =>
      streamMessage(port),
    );
    return {
      figures,
      notes: cpuNotes(figures, 'memory'),
      verdicts: [
        atLeast(
          'streams/s, of the official SDK',
          ratio(figures, 'requestsPerSecond', 'memory', 'sdk'),
          5,
          'x',
        ),
      ],
    };
  },
};

import { type Bench, median, type ServerName } from '../bench.ts';
import { streamMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { work } from '../work.ts';

/** A token of a language model, more or less. */
const size = 8;

/** One long answer, streamed token by token: the time until its last event has arrived. */
export const chunks: Row = {
  name: 'chunks',
  title: 'one stream of 4,000 chunks',
  async run(bench) {
    const ours1000 = await time(bench, 'memory', 1000, 5);
    const ours4000 = await time(bench, 'memory', 4000, 5);
    const sqlite4000 = await time(bench, 'sqlite', 4000, 3);
    // Its time grows with the square of the chunks: half a minute, so once has to do.
    const sdk4000 = await time(bench, 'sdk', 4000, 1);
    return {
      notes: {
        'memory, 1,000 chunks, ms': ours1000,
        'memory, 4,000 chunks, ms': ours4000,
        'sqlite, 4,000 chunks, ms': sqlite4000,
        'official SDK, 4,000 chunks, ms': sdk4000,
      },
      verdicts: [
        atLeast('faster than the official SDK', sdk4000 / ours4000, 100, 'x'),
        atMost('time of 4,000 chunks, of 1,000', ours4000 / ours1000, 5, 'x'),
      ],
    };
  },
};

async function time(
  bench: Bench,
  name: ServerName,
  count: number,
  repeats: number,
): Promise<number> {
  const server = await bench.start(name);
  const warmUp = streamMessage(server.port, work('chunks', 100, size));
  await bench.load(warmUp, { connections: 1, requests: 10 });
  const request = streamMessage(server.port, work('chunks', count, size));
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const { seconds } = await bench.load(request, { connections: 1, requests: 1 });
    times.push(seconds * 1000);
  }
  await server.stop();
  return median(times);
}

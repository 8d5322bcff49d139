import { type Bench, median, type ServerName } from '../bench.ts';
import { streamMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { work } from '../work.ts';

/** The approximate length of a token of a language model. */
const size = 8;

/** One long answer, streamed token by token: the time until its last event has arrived. */
export const chunks: Row = {
  name: 'chunks',
  title: 'one stream of 4,000 chunks',
  async run(bench) {
    const [ours1000, ours4000] = await times(bench, 'memory', 9);
    const [, sqlite4000] = await times(bench, 'sqlite', 3);
    // Its time grows with the square of the number of chunks, to some twenty seconds, so it runs once.
    const [, sdk4000] = await times(bench, 'sdk', 1);
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

/** The times of 1,000 and of 4,000 chunks on one server, one after the other. */
async function times(
  bench: Bench,
  name: ServerName,
  repeats: number,
): Promise<[of1000: number, of4000: number]> {
  const server = await bench.start(name);
  const stream = async (count: number, requests: number): Promise<number> => {
    const request = streamMessage(server.port, work('chunks', count, size));
    const { seconds } = await bench.load(request, { connections: 1, requests });
    return seconds * 1000;
  };
  // A warm-up until V8 has compiled the code.
  await stream(1000, 10);
  const [of1000, of4000]: [number[], number[]] = [[], []];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    of1000.push(await stream(1000, 1));
    of4000.push(await stream(4000, 1));
  }
  await server.stop();
  return [median(of1000), median(of4000)];
}

import { existsSync } from 'node:fs';
import { type Bench, median, type Server } from '../bench.ts';
import { call, getTask, sendMessage, userMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { SlowFlush } from '../slow-flush.ts';

const flushMs = 5;
const sendsPerSecond = 1_000;
const getsPerSecond = 100;

/**
 * SQLite on a disk that takes 5 ms for each flush. The file is in memory if the machine has such a
 * directory, so that only these flushes count. GetTask waits for flushes on the event loop:
 * docs/decisions/2026-11-18-sqlite-writer-thread.md.
 */
export const slowDisk: Row = {
  name: 'slow-disk',
  title: `SQLite with ${flushMs} ms per flush`,
  async run(bench) {
    using slow = new SlowFlush(flushMs);
    const server = await bench.start('sqlite', {
      environment: slow.environment,
      ...(existsSync('/dev/shm') && { directory: '/dev/shm' }),
    });
    await bench.load(sendMessage(server.port), { requests: 10_000, seconds: 10 });
    const rounds: Round[] = [];
    for (let round = 0; round < bench.options.rounds; round += 1) {
      rounds.push(await measure(bench, server));
    }
    await server.stop();
    const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
    return {
      notes: {
        'GetTask beside the sends, p50 ms': of((round) => round.get.p50Ms),
        'GetTask beside the sends, p99 ms': of((round) => round.get.p99Ms),
        'send at 1,000/s, p99 ms': of((round) => round.send.p99Ms),
      },
      verdicts: [
        atMost(
          'send at 1,000/s, p50',
          of((round) => round.send.p50Ms),
          30,
          'ms',
        ),
        atLeast(
          'sends of 32 callers',
          of((round) => round.closedLoop),
          1_300,
          '/s',
        ),
      ],
    };
  },
};

type Round = Awaited<ReturnType<typeof measure>>;

async function measure(bench: Bench, { port }: Server) {
  const { seconds } = bench.options;
  const { task } = (await call(port, 'SendMessage', {
    message: userMessage(crypto.randomUUID(), 'hello'),
  })) as { readonly task: { readonly id: string } };
  const [send, get] = await Promise.all([
    bench.load(sendMessage(port), { seconds, connections: 128, perSecond: sendsPerSecond }),
    bench.load(getTask(port, [task.id]), { seconds, connections: 8, perSecond: getsPerSecond }),
  ]);
  const closed = await bench.load(sendMessage(port), { seconds, connections: 32 });
  return { send, get, closedLoop: closed.requests / closed.seconds };
}

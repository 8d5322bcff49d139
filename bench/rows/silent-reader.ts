import { setTimeout as wait } from 'node:timers/promises';
import type { Bench, Server, ServerName } from '../bench.ts';
import { sendAndLeave, streamMessage } from '../requests.ts';
import { atMost, type Row } from '../row.ts';
import { work } from '../work.ts';

const events = 60_000;
const size = 1024;
const mebibyte = 1024 * 1024;
const patienceMs = 120_000;

/**
 * A client opens a stream and never reads it. Its events must neither delay the agent nor accumulate in
 * memory. The same turn runs first without a subscriber: it measures the agent without any delay, and
 * lets the process grow to its working size.
 */
export const silentReader: Row = {
  name: 'silent-reader',
  title: 'a reader that never reads, 60,000 events of 1 KiB, SQLite',
  async run(bench) {
    const ours = await measure(bench, 'sqlite');
    const sdk = await measure(bench, 'sdk');
    return {
      notes: {
        'agent without a listener, ms': ours.aloneMs,
        'agent with the silent reader, ms': ours.ignoredMs,
        'official SDK, agent with the silent reader, ms': sdk.ignoredMs,
        'official SDK, RSS growth, MiB': sdk.growth / mebibyte,
      },
      verdicts: [
        atMost(
          'agent time, of its time without a listener',
          ours.ignoredMs / ours.aloneMs,
          1.5,
          'x',
        ),
        atMost('RSS growth', ours.growth / mebibyte, 20, 'MiB'),
      ],
    };
  },
};

interface Measured {
  readonly aloneMs: number;
  readonly ignoredMs: number;
  readonly growth: number;
}

async function measure(bench: Bench, name: ServerName): Promise<Measured> {
  const server = await bench.start(name);
  const words = work('replacements', events, size);
  await bench.load(sendAndLeave(server.port, words), { connections: 1, requests: 1 });
  const alone = await turnEnded(server, 1);
  const before = await server.usage();
  await bench.ignore(streamMessage(server.port, words));
  const ignored = await turnEnded(server, 2);
  const after = await server.usage();
  await bench.hangUp();
  await server.stop();
  return {
    aloneMs: alone.lastTurnMs,
    ignoredMs: ignored.lastTurnMs,
    growth: Math.max(ignored.peakRss, after.peakRss) - before.rss,
  };
}

/** Waits until the agent has ended this many turns; the peak covers the whole wait. */
async function turnEnded(server: Server, turns: number) {
  const deadline = performance.now() + patienceMs;
  let peakRss = 0;
  for (;;) {
    const usage = await server.usage();
    peakRss = Math.max(peakRss, usage.peakRss);
    if (usage.turns >= turns) return { lastTurnMs: usage.lastTurnMs, peakRss };
    if (performance.now() > deadline) return { lastTurnMs: Number.POSITIVE_INFINITY, peakRss };
    await wait(100);
  }
}

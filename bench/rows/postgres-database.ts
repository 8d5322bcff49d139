import type { Bench } from '../bench.ts';
import { DatabaseMeter } from '../database-meter.ts';
import { sendMessage } from '../requests.ts';

const sends = 20_000;
const steps = 5;
const sendsOfStep = 10_000;

export interface DatabaseCost {
  /** Per send: processor time in microseconds, and bytes of the write-ahead log. */
  readonly cpuMicros: number;
  readonly walBytes: number;
  /** Bytes of tables and indexes for each task. */
  readonly storedBytes: number;
  /** The share of updates that changed no index. */
  readonly hotShare: number;
  /** Processor time of a send after 50,000 sends beside an open snapshot, relative to that before it. */
  readonly growth: number;
}

/** Measures the cost of sends in the database; `port` is that of its only server. */
export async function databaseCost(
  bench: Bench,
  { port, database }: { readonly port: number; readonly database: string },
): Promise<DatabaseCost> {
  await using meter = await DatabaseMeter.open(database);
  const perSend = async (requests: number) => {
    const before = await meter.usage();
    await bench.load(sendMessage(port), { requests, connections: 32 });
    const after = await meter.usage();
    return {
      cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
      walBytes: (after.walBytes - before.walBytes) / requests,
    };
  };
  const quiet = await perSend(sends);
  const beside: number[] = [];
  await using _ = await meter.openSnapshot(database);
  for (let step = 0; step < steps; step += 1) beside.push((await perSend(sendsOfStep)).cpuMicros);
  const { hotUpdates, updates } = await meter.usage();
  return {
    ...quiet,
    storedBytes: await meter.storedBytesOfTask(),
    hotShare: updates === 0 ? 1 : hotUpdates / updates,
    growth: (beside.at(-1) ?? Number.NaN) / quiet.cpuMicros,
  };
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, median } from '../bench.ts';
import { startHelper } from '../ipc.ts';
import type { Usage } from '../protocol.ts';
import type { Received } from '../receiver.ts';
import { call, sendMessage, userMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { work } from '../work.ts';

const deliveries = 10_000;
const webhooks = 40;
const cycles = 5;
/** Each task has its first event, its chunks and its end. */
const chunks = deliveries / cycles / webhooks - 2;
const sliceSeconds = 0.5;
const patienceMs = 120_000;

/**
 * 10,000 deliveries to a receiver that fails every tenth call, while others send messages: none may be
 * lost or come out of order, and the senders should hardly notice. They are measured in slices, with
 * deliveries and without them in turn, so that a slow moment of the machine falls on both.
 */
export const push: Row = {
  name: 'push',
  title: '10,000 webhook deliveries, SQLite, every tenth call failing',
  async run(bench) {
    const directory = await mkdtemp(join(tmpdir(), 'bench-push-'));
    const server = await startHelper<unknown, Usage, { port: number }>({
      file: 'servers/webhooks.ts',
      arguments: [directory],
      core: 0,
    });
    const receiver = await startHelper<unknown, Received, { port: number }>({
      file: 'receiver.ts',
      core: 1,
    });
    const { port } = server.ready;
    const quiet: number[] = [];
    const busy: number[] = [];
    let seconds = 0;
    try {
      await bench.load(sendMessage(port), { seconds: 2 });
      for (let cycle = 1; cycle <= cycles; cycle += 1) {
        const slices = Math.max(4, busy.length / cycle);
        quiet.push(...(await sending(bench, port, (count) => count < slices)));
        const start = performance.now();
        await notify(port, receiver.ready.port, cycle);
        const isUnderWay = async (): Promise<boolean> =>
          (await receiver.helper.ask({})).delivered < (deliveries / cycles) * cycle &&
          performance.now() - start < patienceMs;
        busy.push(...(await sending(bench, port, isUnderWay)));
        seconds += (performance.now() - start) / 1000;
      }
      const received = await receiver.helper.ask({});
      const loss = (1 - median(busy) / median(quiet)) * 100;
      return {
        notes: {
          'sends/s without deliveries': median(quiet),
          'sends/s while deliveries go out': median(busy),
          'deliveries/s beside them': deliveries / seconds,
          'calls in all': received.calls,
          'calls that failed': received.failed,
        },
        verdicts: [
          atLeast('deliveries that arrived', received.delivered, deliveries, ''),
          atMost('deliveries out of order', received.outOfOrder, 0, ''),
          atMost('loss of sends/s while deliveries go out', loss, 20, '%'),
        ],
      };
    } finally {
      await server.helper.stop();
      await receiver.helper.stop();
      await rm(directory, { recursive: true });
    }
  },
};

/** Messages a second, slice by slice. */
async function sending(
  bench: Bench,
  port: number,
  goesOn: (count: number) => boolean | Promise<boolean>,
): Promise<number[]> {
  const rates: number[] = [];
  while (await goesOn(rates.length)) {
    const result = await bench.load(sendMessage(port), { seconds: sliceSeconds });
    rates.push(result.requests / result.seconds);
  }
  return rates;
}

/** Starts the tasks whose events are owed to the receiver, each to a webhook of its own. */
async function notify(port: number, receiverPort: number, cycle: number): Promise<void> {
  for (let index = 0; index < webhooks; index += 1) {
    await call(port, 'SendMessage', {
      message: userMessage(crypto.randomUUID(), work('chunks', chunks, 16)),
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: { url: `http://127.0.0.1:${receiverPort}/${cycle}/${index}` },
      },
    });
  }
}

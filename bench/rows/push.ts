import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Bench, median } from '../bench.ts';
import { type Helper, startHelper } from '../ipc.ts';
import type { Usage } from '../protocol.ts';
import type { Received } from '../receiver.ts';
import { call, sendMessage, userMessage } from '../requests.ts';
import { atLeast, atMost, type Row } from '../row.ts';
import { work } from '../work.ts';

const webhooks = 40;
const chunks = 247;
/** A task has its first event, its chunks, and two words on its state. */
const deliveries = webhooks * (chunks + 3);
const patienceMs = 300_000;

/**
 * 10,000 deliveries to a receiver that fails every tenth call, while others send messages: none may be
 * lost or come out of order, and the senders should hardly notice.
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
    try {
      const quiet = await sending(bench, port);
      const start = performance.now();
      await notify(port, receiver.ready.port);
      const first = await receiver.helper.ask({});
      const busy = await sending(bench, port);
      const meanwhile = await receiver.helper.ask({});
      const received = await untilDelivered(receiver.helper);
      const seconds = (performance.now() - start) / 1000;
      return {
        notes: {
          'sends/s without deliveries': quiet,
          'sends/s while deliveries go out': busy,
          'deliveries while senders were busy': meanwhile.delivered - first.delivered,
          'calls in all': received.calls,
          'calls that failed': received.failed,
          'deliveries/s over all': deliveries / seconds,
        },
        verdicts: [
          atLeast('deliveries that arrived', received.delivered, deliveries, ''),
          atMost('deliveries out of order', received.outOfOrder, 0, ''),
          atMost('loss of sends/s while deliveries go out', (1 - busy / quiet) * 100, 20, '%'),
        ],
      };
    } finally {
      await server.helper.stop();
      await receiver.helper.stop();
      await rm(directory, { recursive: true });
    }
  },
};

/** Messages a second, the median of the rounds. */
async function sending(bench: Bench, port: number): Promise<number> {
  const { seconds, rounds } = bench.options;
  const rates: number[] = [];
  await bench.load(sendMessage(port), { seconds: Math.min(1, seconds) });
  for (let round = 0; round < rounds; round += 1) {
    const result = await bench.load(sendMessage(port), { seconds });
    rates.push(result.requests / result.seconds);
  }
  return median(rates);
}

/** Starts the tasks whose events are owed to the receiver, each to a webhook of its own. */
async function notify(port: number, receiverPort: number): Promise<void> {
  for (let index = 0; index < webhooks; index += 1) {
    await call(port, 'SendMessage', {
      message: userMessage(crypto.randomUUID(), work('chunks', chunks, 16)),
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: { url: `http://127.0.0.1:${receiverPort}/${index}` },
      },
    });
  }
}

async function untilDelivered(receiver: Helper<unknown, Received>): Promise<Received> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const received = await receiver.ask({});
    if (received.delivered >= deliveries || performance.now() > deadline) return received;
    await wait(200);
  }
}

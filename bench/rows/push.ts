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
/** Each task has its first event, its chunks and its final event. */
const chunks = deliveries / webhooks - 2;
const sliceSeconds = 0.5;
const connections = 16;
const patienceMs = 300_000;

/**
 * 10,000 deliveries to a receiver that fails every tenth call, while other clients send messages. No
 * delivery may be lost or arrive out of order, and sending should slow down little. Two servers on one
 * processor get the same load at the same time, and only one of them has deliveries: other load on the
 * machine affects both.
 */
export const push: Row = {
  name: 'push',
  title: '10,000 webhook deliveries, SQLite, every tenth call failing',
  async run(bench) {
    await using stage = new AsyncDisposableStack();
    const delivering = stage.use(await startServer());
    const idle = stage.use(await startServer());
    const receiver = await startHelper<unknown, Received, { port: number }>({
      file: 'receiver.ts',
      core: 1,
    });
    stage.defer(() => receiver.helper.stop());
    // Both warm up together, so that neither is measured during the other's warm-up.
    const warmUp = Math.ceil((bench.options.seconds * bench.options.rounds) / 2 / sliceSeconds);
    await compare(bench, delivering, idle, (count) => count < Math.max(4, warmUp));
    const start = performance.now();
    await notify(delivering.port, receiver.ready.port);
    const isUnderWay = async (): Promise<boolean> =>
      (await receiver.helper.ask({})).delivered < deliveries &&
      performance.now() - start < patienceMs;
    const slices = await compare(bench, delivering, idle, isUnderWay);
    const seconds = (performance.now() - start) / 1000;
    const received = await receiver.helper.ask({});
    const rest = await compare(bench, delivering, idle, (count) => count < Math.max(4, warmUp));
    const loss = (1 - ratioOf(slices) / ratioOf(rest)) * 100;
    return {
      notes: {
        'sends/s beside deliveries': median(slices.map((slice) => slice.delivering)),
        'sends/s of the server without': median(slices.map((slice) => slice.idle)),
        'the same ratio when nothing is delivered': ratioOf(rest),
        'deliveries/s': deliveries / seconds,
        'calls in all': received.calls,
        'calls that failed': received.failed,
      },
      verdicts: [
        atLeast('deliveries that arrived', received.delivered, deliveries, ''),
        atMost('deliveries out of order', received.outOfOrder, 0, ''),
        atMost('loss of sends/s while deliveries go out', loss, 20, '%'),
      ],
    };
  },
};

interface BenchServer extends AsyncDisposable {
  readonly port: number;
}

async function startServer(): Promise<BenchServer> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-push-'));
  const { helper, ready } = await startHelper<unknown, Usage, { port: number }>({
    file: 'servers/webhooks.ts',
    arguments: [directory],
    core: 0,
  });
  return {
    port: ready.port,
    async [Symbol.asyncDispose]() {
      await helper.stop();
      await rm(directory, { recursive: true });
    },
  };
}

/** Messages per second of both servers at the same time. */
interface Slice {
  readonly delivering: number;
  readonly idle: number;
}

async function compare(
  bench: Bench,
  delivering: BenchServer,
  idle: BenchServer,
  goesOn: (count: number) => boolean | Promise<boolean>,
): Promise<Slice[]> {
  const rate = async ({ port }: BenchServer): Promise<number> => {
    const limits = { connections, seconds: sliceSeconds };
    const { requests, seconds } = await bench.load(sendMessage(port), limits);
    return requests / seconds;
  };
  const slices: Slice[] = [];
  while (await goesOn(slices.length)) {
    const [first, second] = await Promise.all([rate(delivering), rate(idle)]);
    slices.push({ delivering: first, idle: second });
  }
  return slices;
}

function ratioOf(slices: readonly Slice[]): number {
  return median(slices.map(({ delivering, idle }) => delivering / idle));
}

/** Starts the tasks that notify the receiver, each at its own webhook. */
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

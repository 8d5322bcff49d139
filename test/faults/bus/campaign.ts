import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  busLink,
  declareAgentQueue,
  openBus,
  taskQueueName,
  topics,
} from '../../../src/bus/index.ts';
import { replyName } from '../../../src/bus/link/bus-link.ts';
import { joinPeers } from '../../../src/peers/index.ts';
import { openMemory } from '../../../src/store/index.ts';
import { storeScheduler } from '../../../src/tasks/index.ts';
import { postgres } from '../../support/postgres.ts';
import { rabbitMq, type RabbitMq } from '../../support/rabbitmq.ts';
import { RawPublisher } from '../../support/raw-amqp.ts';
import { Random } from '../random.ts';
import type { ScenarioResult } from '../scenario.ts';
import { Counts, isBrokerAway } from './counts.ts';
import { hostileMessage } from './hostile-messages.ts';
import { Processes } from './processes.ts';
import { callerProcess, gatewayProcess, type TaskSender } from './senders.ts';

const worker = join(import.meta.dirname, '../../../src/bus/proof/worker.contract.ts');
/** How long tasks may take to end after the last fault. */
const settleMs = 180_000;

type Faults = Readonly<Record<string, () => Promise<void>>>;

export interface CampaignOptions {
  readonly seed: number;
  /** Faults of processes and of the broker. */
  readonly faults: number;
  /** Poison messages, spread over the faults. */
  readonly poison: number;
  readonly report: (line: string) => void;
}

/**
 * Kills and freezes workers, kills a caller and a gateway, restarts and freezes the broker, raises its
 * alarms, cuts its connections and sends poison messages, a given number of times and several at once,
 * while tasks are sent to two workers on PostgreSQL.
 *
 * Checked: no task that was taken on is lost, none is answered wrongly, no turn starts twice in the same
 * attempt, and nothing is left in the queue.
 */
export async function busCampaign(options: CampaignOptions): Promise<ScenarioResult> {
  const { seed, faults: wanted, poison, report } = options;
  // Each has its own numbers, so that the seed decides them.
  const pauses = new Random(seed + 1);
  const broker = await rabbitMq();
  const exchange = `campaign-${seed}-${Date.now()}`;
  const name = `worker-${exchange}`;
  const directory = mkdtempSync(join(tmpdir(), 'legate-campaign-'));
  const log = join(directory, 'log');
  const database = await (await postgres()).database();
  const workers = new Processes({
    file: worker,
    args: () => [broker.url, exchange, name, log, 'run-again', database],
  });
  const [injected, checked] = [new Counts(), new Counts()];
  const violations: string[] = [];
  const bus = await openBus({
    type: 'rabbitmq',
    url: broker.url,
    exchange,
    publishTimeoutMs: 90_000,
  });
  const store = openMemory();
  const senders: TaskSender[] = [];
  try {
    await declareAgentQueue(bus, name);
    await workers.start(2);
    const common = { url: broker.url, exchange, agent: name, directory, checked, violations };
    const caller = await callerProcess(common);
    senders.push(caller);
    const server = await gatewayProcess(common);
    senders.push(server);
    await using network = await joinPeers({
      name: 'caller',
      store,
      links: [busLink({ bus })],
      wellKnown: [{ name }],
      timeoutMs: 15 * 60_000,
      maxInFlight: 100_000,
    });
    const session = { id: 'campaign', caller: { tenant: '', subject: 'user', method: 'test' } };
    const running = new Set<Promise<void>>();
    let sent = 0;
    const over = new AbortController();
    const send = (): void => {
      const text = `task ${(sent += 1)}`;
      const sender = senders[sent % 4];
      if (sender !== undefined) return sender.send(text);
      const request = { agent: name, message: text };
      const call = network.invoker.invokeAndWait(request, session).then(
        ({ outcome }) => {
          checked.add('answered tasks');
          if (outcome?.text !== `begun done ${text}`)
            violations.push(`${text} was answered with: ${outcome?.text}`);
        },
        (error: unknown) => {
          checked.add('tasks refused to their sender');
          if (!isBrokerAway(error)) violations.push(`${text} was refused: ${String(error)}`);
        },
      );
      running.add(call);
      void call.finally(() => running.delete(call));
    };
    const sending = (async () => {
      while (!over.signal.aborted) {
        send();
        await pause(pauses.between(20, 120));
      }
    })();
    const randoms = {
      workers: new Random(seed + 2),
      callers: new Random(seed + 3),
      broker: new Random(seed + 4),
    };
    const faults = faultsOf({ broker, workers, caller, server, randoms });
    const openTasks = () => running.size + senders.reduce((sum, it) => sum + it.open().length, 0);
    const replies = topics.response(
      await replyName('caller', store.records, storeScheduler(store)),
    );
    let done = 0;
    /** One fault after the other, while the other lanes have theirs. */
    const lane = async (all: Faults, random: Random, count: number): Promise<void> => {
      const names = Object.keys(all);
      for (let index = 0; index < count; index += 1) {
        const kind = names[index] ?? random.pick(names);
        await all[kind]?.();
        injected.add(kind);
        done += 1;
        if (done % 10 === 0) report(`${done} faults, ${sent} tasks, ${openTasks()} open`);
        await pause(random.between(50, 500));
      }
    };
    const poisoning = { broker, random: new Random(seed + 5), exchange, name, replies, injected };
    const share = Math.floor(wanted * 0.3);
    await Promise.all([
      lane(faults.workers, randoms.workers, share),
      lane(faults.callers, randoms.callers, share),
      lane(faults.broker, randoms.broker, wanted - 2 * share),
      sendPoison({ ...poisoning, count: poison, progress: () => done / wanted }),
    ]);
    over.abort();
    await sending;
    const settledBy = Date.now() + settleMs;
    while (openTasks() > 0 && Date.now() < settledBy) await pause(200);
    for (const sender of senders) {
      for (const text of sender.open()) violations.push(`${text} is stuck`);
    }
    if (running.size > 0) violations.push(`${running.size} tasks of the first caller are stuck`);
    const state = await bus.inspect(taskQueueName(name));
    if (state?.messages !== 0) violations.push(`${state?.messages} tasks wait in the queue`);
    for (const line of doubled(log)) violations.push(`started twice: ${line}`);
    checked.add('tasks', sent);
    return { injected: injected.values, checked: checked.values, violations };
  } finally {
    for (const each of [workers, ...senders]) each.stop();
    await bus.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Each is over, and everything well again, when it resolves. */
function faultsOf(options: {
  readonly broker: RabbitMq;
  readonly workers: Processes;
  readonly caller: TaskSender;
  readonly server: TaskSender;
  readonly randoms: Readonly<Record<'workers' | 'broker', Random>>;
}): Readonly<Record<'workers' | 'callers' | 'broker', Faults>> {
  const { broker, workers, caller, server, randoms } = options;
  const random = randoms.broker;
  const alarm = async (kind: 'memory' | 'disk'): Promise<void> => {
    await broker.alarm(kind, true);
    await pause(random.between(200, 1_500));
    await broker.alarm(kind, false);
  };
  return {
    workers: {
      'worker killed': () => workers.kill(randoms.workers.between(0, 2)),
      'worker frozen': () =>
        workers.freeze(randoms.workers.between(0, 2), randoms.workers.between(500, 5_000)),
    },
    callers: {
      'caller killed': () => caller.kill(),
      'gateway killed': () => server.kill(),
    },
    broker: {
      'broker frozen': async () => {
        broker.freeze();
        await pause(random.between(300, 2_000));
        broker.thaw();
      },
      'connections cut': () => broker.closeConnections(),
      'memory alarm': () => alarm('memory'),
      'disk alarm': () => alarm('disk'),
      'broker restarted': () => broker.restart(),
    },
  };
}

/** Spread over the faults; a message that the broker has not confirmed is sent again. */
async function sendPoison(options: {
  readonly count: number;
  /** The part of the faults that are over, from 0 to 1. */
  readonly progress: () => number;
  readonly broker: RabbitMq;
  readonly random: Random;
  readonly exchange: string;
  readonly name: string;
  /** The topic of the caller's answers. */
  readonly replies: string;
  readonly injected: Counts;
}): Promise<void> {
  const { count, progress, broker, random, exchange, name, replies, injected } = options;
  const targets = {
    exchange,
    topics: [topics.task(name), topics.cancel(name), topics.status, replies],
    queues: [taskQueueName(name)],
    words: [name, 'caller', topics.task(name), replies],
  };
  let sent = 0;
  while (sent < count) {
    try {
      await using publisher = await RawPublisher.open(broker.url);
      while (sent < count && !publisher.isBroken) {
        if (sent >= progress() * count && progress() < 1) {
          await pause(100);
          continue;
        }
        await publisher.publish(hostileMessage(random, targets));
        sent += 1;
        injected.add('poison messages');
      }
    } catch {
      // The broker is away, or closed the connection.
      await pause(200);
    }
  }
}

/** Turns that started more than once in the same attempt. */
function doubled(log: string): readonly string[] {
  if (!existsSync(`${log}.turns`)) return ['no turn was logged'];
  const seen = new Set<string>();
  return readFileSync(`${log}.turns`, 'utf8')
    .split('\n')
    .filter((line) => /^task \d+ \d+$/.test(line))
    .filter((line) => seen.size === seen.add(line).size);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

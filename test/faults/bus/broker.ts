import { Random } from '../random.ts';
import { rabbitMq, type RabbitMq } from '../../support/rabbitmq.ts';
import { RawPublisher } from '../../support/raw-amqp.ts';
import { hostileMessage } from './hostile-messages.ts';
import { type Participants, startParticipants, topicsOf } from './participants.ts';
import type { ScenarioOptions, ScenarioResult } from '../scenario.ts';
import { answerOf, Counts, isBrokerAway } from './counts.ts';

/** How long calls may take to end once the broker is well again. */
const settleMs = 120_000;

/**
 * Restarts the broker, freezes it, raises its memory and disk alarms, cuts its connections and sends
 * poison messages, while tasks are sent to a worker.
 *
 * Checked: every task that was taken on is answered, with its own answer; none is worked on twice;
 * and a task that is sent afterwards is answered over the bus and over HTTP.
 */
export async function brokerFaults(options: ScenarioOptions): Promise<ScenarioResult> {
  const { seed, milliseconds, report } = options;
  const random = new Random(seed);
  const broker = await rabbitMq();
  const exchange = `broker-${seed}-${Date.now()}`;
  const [injected, checked] = [new Counts(), new Counts()];
  const violations: string[] = [];
  await using participants = await startParticipants({
    url: broker.url,
    exchange,
    publishTimeoutMs: 90_000,
  });
  const end = Date.now() + milliseconds;
  const calls = sendTasks(participants, { end, random: new Random(seed + 1), checked, violations });
  const faults = disturb({ broker, participants, exchange, random, injected });
  // One of each, in an order that the seed decides; then any of them.
  const first = shuffled(Object.keys(faults), random);
  for (let count = 0; count < first.length || Date.now() < end; count += 1) {
    const name = first[count] ?? random.pick(Object.keys(faults));
    report(name);
    await faults[name]?.();
    await pause(random.between(100, 1_000));
  }
  await calls;
  for (const label of ['over the bus', 'over HTTP']) {
    const called =
      label === 'over HTTP' ? participants.callOverHttp(label) : participants.call(label);
    const answer = await answerOf(called, settleMs);
    if (!answer.includes(`heard ${label}`)) violations.push(`afterwards, ${label}: ${answer}`);
    checked.add('tasks afterwards');
  }
  return { injected: injected.values, checked: checked.values, violations };
}

/** Sends tasks until the end, and waits for the answers. */
async function sendTasks(
  participants: Participants,
  options: {
    readonly end: number;
    readonly random: Random;
    readonly checked: Counts;
    readonly violations: string[];
  },
): Promise<void> {
  const { end, random, checked, violations } = options;
  const calls: Promise<void>[] = [];
  for (let number = 0; Date.now() < end || number < 20; number += 1) {
    const text = `task ${number}`;
    calls.push(
      participants.call(text).then(
        (answer) => {
          checked.add('answered tasks');
          if (answer !== `heard ${text}`) violations.push(`${text} was answered with: ${answer}`);
        },
        (error: unknown) => {
          checked.add('tasks refused to their sender');
          if (!isBrokerAway(error)) violations.push(`${text} was refused: ${String(error)}`);
        },
      ),
    );
    await pause(random.between(20, 200));
  }
  const all = Promise.all(calls).then(() => 'all');
  const settled = await answerOf(all, settleMs);
  if (settled !== 'all') violations.push(`tasks are under way still: ${settled}`);
  for (const [text, count] of participants.turns) {
    if (text.startsWith('task ') && count > 1) violations.push(`${text} ran ${count} times`);
  }
}

/** Each fault by its name; each is over, and the broker well, when it resolves. */
function disturb(options: {
  readonly broker: RabbitMq;
  readonly participants: Participants;
  readonly exchange: string;
  readonly random: Random;
  readonly injected: Counts;
}): Readonly<Record<string, () => Promise<void>>> {
  const { broker, participants, exchange, random, injected } = options;
  const alarm = async (kind: 'memory' | 'disk'): Promise<void> => {
    await broker.alarm(kind, true);
    await pause(random.between(500, 2_000));
    await broker.alarm(kind, false);
    injected.add(`${kind} alarm`);
  };
  return {
    'memory alarm': () => alarm('memory'),
    'disk alarm': () => alarm('disk'),
    async freeze() {
      broker.freeze();
      await pause(random.between(500, 3_000));
      broker.thaw();
      injected.add('freeze');
    },
    async 'cut connections'() {
      await broker.closeConnections();
      injected.add('cut connections');
    },
    async restart() {
      await broker.restart();
      injected.add('restart');
    },
    async poison() {
      await using publisher = await RawPublisher.open(broker.url);
      const topics = topicsOf(participants);
      const words = [participants.agent, 'caller', ...topics];
      const targets = { exchange, topics, queues: [participants.queue], words };
      for (let count = 0; count < 50; count += 1) {
        await publisher.publish(hostileMessage(random, targets));
        injected.add('poison messages');
      }
    },
  };
}

function shuffled(names: readonly string[], random: Random): readonly string[] {
  return names
    .map((name) => ({ name, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ name }) => name);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

import type { BusDialect } from '../../../src/bus/index.ts';
import { Random } from '../random.ts';
import { rabbitMq } from '../../support/rabbitmq.ts';
import { RawPublisher } from '../../support/raw-amqp.ts';
import { hostileMessage } from './hostile-messages.ts';
import { type Participants, startParticipants, topicsOf } from './participants.ts';
import type { ScenarioOptions, ScenarioResult } from '../scenario.ts';
import { answerOf, Counts } from './counts.ts';

/** Messages that the broker has not confirmed yet, at most. */
const maxUnconfirmed = 200;
/** A valid task is sent, and must be answered, after so many. */
const checkEvery = 1_000;
const settleMs = 120_000;

/** Sends hostile messages to everybody on a bus, for a time: see `fuzzBus`. */
export function busFuzz({ milliseconds, ...options }: ScenarioOptions): Promise<ScenarioResult> {
  const end = Date.now() + milliseconds;
  return fuzzBus({ ...options, isOver: () => Date.now() >= end });
}

/**
 * Sends hostile messages to a worker, a caller of peers, a gateway and an onlooker over a real broker:
 * as tasks, cancellation requests, responses, states and announcements, and straight into queues.
 *
 * Checked: nobody exits, no consumer meets an error that it does not expect, no connection is lost, a
 * valid task is answered in between and at the end over the bus and over HTTP, queues run empty, and
 * dead letters can be listed.
 */
export async function fuzzBus(options: {
  readonly seed: number;
  /** @default 'legate' */
  readonly dialect?: BusDialect;
  readonly report: (line: string) => void;
  /** Asked with the number of messages that were sent. */
  readonly isOver: (sent: number) => boolean;
}): Promise<ScenarioResult> {
  const { seed, dialect = 'legate', report, isOver } = options;
  const random = new Random(seed);
  const { url } = await rabbitMq();
  const exchange = `fuzz-${seed}-${Date.now()}`;
  await using participants = await startParticipants({ url, exchange, dialect });
  const [injected, checked] = [new Counts(), new Counts()];
  const violations: string[] = [];

  async function check(label: string): Promise<void> {
    const answered = await answerOf(participants.call(label), settleMs);
    if (answered !== `heard ${label}`) violations.push(`${label}, over the bus: ${answered}`);
    const served = await answerOf(participants.callOverHttp(`http ${label}`), settleMs);
    if (!served.includes(`heard http ${label}`)) {
      violations.push(`${label}, over HTTP: ${served.slice(0, 200)}`);
    }
    checked.add('answered tasks', 2);
  }

  await check('before');
  const targets = {
    exchange,
    topics: topicsOf(participants),
    dialect,
    queues: [
      participants.bus.brokerQueueName(participants.queue),
      participants.bus.deadQueueName(participants.queue),
    ],
    words: [participants.agent, 'caller', 'gateway', ...topicsOf(participants), 'agent.response.x'],
  };
  let publisher = await RawPublisher.open(url);
  const unconfirmed = new Set<Promise<void>>();
  while (!isOver(injected.total)) {
    const message = hostileMessage(random, targets);
    const kind = message.routingKey.split('.').slice(0, 3).join('.');
    injected.add(message.exchange === '' ? 'straight into a queue' : withoutNames(kind));
    const sending = publisher.publish(message).then(
      () => void unconfirmed.delete(sending),
      () => {
        unconfirmed.delete(sending);
        checked.add('refused by the broker');
      },
    );
    unconfirmed.add(sending);
    if (unconfirmed.size >= maxUnconfirmed) await Promise.race(unconfirmed);
    if (publisher.isBroken) publisher = await RawPublisher.open(url);
    if (injected.total % checkEvery === 0) {
      await check(`after ${injected.total}`);
      report(`${injected.total} messages`);
    }
  }
  await Promise.all(unconfirmed);
  await publisher.close();
  await check('at the end');
  await drained(participants, violations, checked);
  const { failures, events } = participants;
  for (const failure of failures) violations.push(failure);
  checked.add('refused messages', events.values['bus.message.refused'] ?? 0);
  checked.add('dead letters', events.values['bus.dead_letter'] ?? 0);
  return { injected: injected.values, checked: checked.values, violations };
}

/** Nothing may be left in the hands of a consumer that does not continue. */
async function drained(
  { bus, queue }: Participants,
  violations: string[],
  checked: Counts,
): Promise<void> {
  const end = Date.now() + settleMs;
  let state = await bus.inspect(queue);
  while ((state?.messages ?? 0) > 0 && Date.now() < end) {
    await new Promise((resolve) => void setTimeout(resolve, 200));
    state = await bus.inspect(queue);
  }
  if (state?.messages !== 0)
    violations.push(`${state?.messages} tasks wait, and nobody takes them`);
  const letters = await bus.deadLetters(queue, { limit: 1_000 });
  checked.add('listed dead letters', letters.length);
}

function withoutNames(topic: string): string {
  const known = ['agent.task.cancel', 'agent.task.status', 'agent.task', 'agent.response'];
  return known.find((each) => topic.startsWith(each)) ?? topic;
}

import type { Broker, BrokerMessage } from '../transport/broker-bus.ts';
import {
  type AckDecision,
  type BusMessage,
  type ConsumeOptions,
  type DeadLetter,
  type DeclaredObject,
  type DeclareOptions,
  type Delivery,
  done,
  messageTypes,
  type PublishOptions,
  type QueueSettings,
  type QueueState,
  withDefaults,
} from '../transport/bus.ts';
import { ownName } from '../transport/checks.ts';
import { isResponseTopic, statusQueue, taskQueue, topics } from '../transport/topics.ts';
import { invalidConfiguration, LruMap } from '../../protocol/index.ts';
import { headerNames, readCard } from '../exchange.ts';
import { rockbotTypes } from './bodies.ts';
import { type FromRockbot, fromRockbot } from './decode.ts';
import { toRockbot } from './encode.ts';

export interface RockbotBrokerOptions {
  readonly broker: Broker;
  readonly newId: () => string;
}

/** The maximum number of agents and of tasks that are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * Adds RockBot's wire format to a broker. Both formats are decoded; the format of outgoing messages depends
 * on the receiver:
 *
 * - replies, and tasks that are published again, have the format of the original message;
 * - other tasks and cancellation requests have RockBot's, unless the agent has announced an A2A card;
 * - announcements and states have RockBot's; an announcement also contains the A2A card.
 */
export class RockbotBroker implements Broker {
  readonly #broker: Broker;
  readonly #newId: () => string;
  /** Agents that have announced an A2A card, in lower case. */
  readonly #natives = new LruMap<true>(MAX_REMEMBERED);
  /** The number of the next update of each task that was sent. */
  readonly #sent = new LruMap<number>(MAX_REMEMBERED);

  constructor({ broker, newId }: RockbotBrokerOptions) {
    this.#broker = broker;
    this.#newId = newId;
  }

  get type(): Broker['type'] {
    return this.#broker.type;
  }

  get version(): string | undefined {
    return this.#broker.version;
  }

  get isConnected(): boolean {
    return this.#broker.isConnected;
  }

  get isBlocked(): boolean {
    return this.#broker.isBlocked;
  }

  async publish(topic: string, message: BrokerMessage, options: PublishOptions): Promise<void> {
    if (!this.#isForRockbot(topic, message)) return this.#broker.publish(topic, message, options);
    const type = messageTypes.find((each) => each === message.type);
    const encoded = type === undefined ? undefined : toRockbot(topic, { ...message, type });
    if (encoded === undefined) return undefined;
    const { correlationId } = message;
    if (message.type === 'task' && correlationId !== undefined) this.#sent.set(correlationId, 0);
    // A broadcast does not require a receiver.
    const isMoved = encoded.topic !== topic;
    return this.#broker.publish(encoded.topic, encoded.message, {
      ...options,
      ...(isMoved && { mandatory: false }),
    });
  }

  declare(settings: QueueSettings, options: DeclareOptions): Promise<readonly DeclaredObject[]> {
    return this.#broker.declare(renamed(settings), options);
  }

  async consume(
    settings: QueueSettings,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions,
  ): Promise<() => Promise<void>> {
    const { onRefused } = options;
    const take = async (delivery: Delivery): Promise<AckDecision> => {
      const decoded = this.#decoded(delivery);
      const { problem: reason } = decoded;
      if (reason === undefined) return handler(decoded);
      await onRefused?.(decoded, reason);
      return { kind: 'dead', reason };
    };
    const stop = await this.#broker.consume(renamed(settings), take, {
      ...options,
      ...(onRefused !== undefined && {
        onRefused: (message: BusMessage, reason: string) => onRefused(fromRockbot(message), reason),
      }),
    });
    if (!settings.topics.some(isResponseTopic)) return stop;
    try {
      const stopStates = await this.#consumeStates(settings.name, handler);
      return async () => {
        await Promise.all([stop(), stopStates()]);
      };
    } catch (error) {
      await stop();
      throw error;
    }
  }

  inspect(queueName: string): Promise<QueueState | undefined> {
    return this.#broker.inspect(rockbotQueueName(queueName));
  }

  queueName(queueName: string): string {
    return rockbotQueueName(queueName);
  }

  deadQueueName(queueName: string): string {
    return this.#broker.deadQueueName(rockbotQueueName(queueName));
  }

  deadLetters(queueName: string, limit: number): Promise<readonly DeadLetter[]> {
    return this.#broker.deadLetters(rockbotQueueName(queueName), limit);
  }

  bury(...[settings, message, death]: Parameters<Broker['bury']>): Promise<void> {
    return this.#broker.bury(renamed(settings), message, death);
  }

  replay(queueName: string, ids: readonly string[] | undefined): Promise<number> {
    return this.#broker.replay(rockbotQueueName(queueName), ids);
  }

  oldest(queueName: string): Promise<number | undefined> {
    return this.#broker.oldest(rockbotQueueName(queueName));
  }

  purge(queueName: string): Promise<number> {
    return this.#broker.purge(rockbotQueueName(queueName));
  }

  delete(queueName: string): Promise<void> {
    return this.#broker.delete(rockbotQueueName(queueName));
  }

  close(): Promise<void> {
    return this.#broker.close();
  }

  #isForRockbot(topic: string, { type, headers }: BrokerMessage): boolean {
    if (type === 'announce' || topic === topics.status) return true;
    const dialect = headers?.[headerNames.dialect];
    if (dialect !== undefined || (type !== 'task' && type !== 'cancel')) {
      return dialect === 'rockbot';
    }
    const agent = topic.split('.').at(-1) ?? '';
    return this.#natives.get(agent.toLowerCase()) === undefined;
  }

  /** RockBot's agents publish the progress of all tasks. */
  #consumeStates(
    name: string,
    handler: (delivery: Delivery) => Promise<AckDecision>,
  ): Promise<() => Promise<void>> {
    const listener = name.split('.').at(-1) ?? name;
    const settings = withDefaults(statusQueue(ownName(listener, { uuid: this.#newId })));
    return this.#broker.consume(
      settings,
      async (delivery) => {
        if (delivery.type !== rockbotTypes.status) return done;
        const decoded = this.#decoded(delivery);
        const isOurs = this.#sent.get(decoded.correlationId ?? '') !== undefined;
        return isOurs && decoded.problem === undefined ? handler(decoded) : done;
      },
      // In order, because they are numbered.
      { prefetch: 100, concurrency: 1 },
    );
  }

  #decoded(delivery: Delivery): Delivery & Pick<FromRockbot, 'problem'> {
    const decoded = { ...delivery, ...fromRockbot(delivery) };
    if (decoded.type === 'announce') this.#noteAgent(decoded, delivery.type);
    if (decoded.type !== 'update' || delivery.type !== rockbotTypes.status) return decoded;
    const sent = this.#sent.get(decoded.correlationId ?? '');
    const sequence = sent ?? 0;
    if (decoded.correlationId !== undefined && sent !== undefined) {
      this.#sent.set(decoded.correlationId, sequence + 1);
    }
    const headers = { ...decoded.headers, [headerNames.sequence]: String(sequence) };
    return { ...decoded, headers };
  }

  #noteAgent({ body, headers }: BusMessage, wireType: string): void {
    try {
      const name = readCard(body).name.toLowerCase();
      const isNative = wireType === 'announce' || headers[headerNames.dialect] === 'legate';
      if (isNative) this.#natives.set(name, true);
      else this.#natives.delete(name);
    } catch {
      // Its receivers refuse it.
    }
  }
}

/** RockBot's name of an agent's queue, which triggers of KEDA name; other queues keep theirs. */
export function rockbotQueueName(name: string): string {
  const [, kind, agent] = /^legate\.(task|cancel)\.([^.]+)$/.exec(name) ?? [];
  if (agent === undefined) return name;
  return `rockbot.${agent}.agent-task-${kind === 'cancel' ? 'cancel-' : ''}${agent}`;
}

/** Refuses settings that would become arguments of the queue. Queues of cancellation requests have none. */
function refuseOthers(settings: QueueSettings, name: string): void {
  if (settings.deadLetters === undefined) return;
  const usual = withDefaults(taskQueue('any'));
  const { deadLetters: letters = settings.deadLetters } = usual;
  const wrong = [
    ['max_messages', settings.maxMessages, usual.maxMessages],
    ['message_ttl', settings.messageTtlMs, usual.messageTtlMs],
    [
      'consumer_timeout',
      settings.consumerTimeoutMs ?? usual.consumerTimeoutMs,
      usual.consumerTimeoutMs,
    ],
    ['dead_letter_ttl', settings.deadLetters.ttlMs, letters.ttlMs],
    ['dead_letter_max_messages', settings.deadLetters.maxMessages, letters.maxMessages],
    ['dead_letter_max_bytes', settings.deadLetters.maxBytes, letters.maxBytes],
  ].flatMap(([key, given, expected]) => (given === expected ? [] : [`queues.${key}`]));
  if (wrong.length === 0) return;
  throw invalidConfiguration(
    `${wrong.join(', ')} can't be set with dialect rockbot: RockBot deletes the queue ${name} with its messages if its arguments are not those that RockBot sets. Remove ${wrong.length === 1 ? 'the setting' : 'these settings'}, or set a policy on the broker`,
  );
}

/** Queues with RockBot's names get its arguments: otherwise RockBot would delete and declare them again. */
function renamed(settings: QueueSettings): QueueSettings {
  const name = rockbotQueueName(settings.name);
  if (name === settings.name) return settings;
  refuseOthers(settings, name);
  if (settings.deadLetters !== undefined) return { ...settings, name };
  // Cancellation requests: in RockBot's queues they don't expire, and become dead letters.
  const { deadLetters, messageTtlMs } = withDefaults({ name, topics: settings.topics });
  return { ...settings, name, deadLetters, messageTtlMs };
}

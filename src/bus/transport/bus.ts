import type { Slots } from './slots.ts';

/**
 * The interface of the bus. Terms:
 *
 * - **topic**: the routing key of a message. The broker copies a message to every queue bound to its topic.
 * - **queue**: stores messages until they are consumed. Consumers of one queue share its messages.
 * - **delivery**: a message that a consumer has not settled yet. The broker redelivers it if the
 *   consumer dies.
 * - **ack decision**: how a delivery is settled: done, released, retried later, or dead.
 * - **dead letter**: a message that failed for good, kept with the reason in a queue of its own.
 *
 * Delivery is at least once: consumers must deduplicate.
 */

/** The types of bodies. All of them are A2A 1.x as JSON. */
export const messageTypes = [
  'task',
  'cancel',
  'update',
  'result',
  'error',
  'announce',
  'query',
] as const;
/** The type of a message. */
export type MessageType = (typeof messageTypes)[number];

/**
 * A message to publish.
 * @example
 * const outgoing: OutgoingMessage = {
 *   type: 'task',
 *   body: JSON.stringify({ message: message('Where is order 17?') }),
 *   correlationId: 'order-17',
 *   replyTo: topics.response('shop'),
 * };
 */
export interface OutgoingMessage {
  readonly type: MessageType;
  /** JSON text. */
  readonly body: string;
  /** Relates a reply to its request: the caller's id of the task. */
  readonly correlationId?: string | undefined;
  /** The topic for replies. */
  readonly replyTo?: string | undefined;
  /** Names in lower case; the prefix `legate-` is reserved for the transport. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Survives a restart of the broker in a durable queue. @default true */
  readonly persistent?: boolean | undefined;
  /** @default a new UUID */
  readonly id?: string | undefined;
}

/**
 * A message as received.
 * @example
 * const isQuestion = ({ type, replyTo }: BusMessage) => type === 'task' && replyTo !== undefined;
 */
export interface BusMessage {
  readonly id: string;
  /** As set by the sender; other software may send any text. */
  readonly type: string;
  readonly body: string;
  readonly topic: string;
  readonly correlationId: string | undefined;
  readonly replyTo: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A message that its consumer has to settle.
 * @example
 * const take = async ({ id, isRedelivered, body }: Delivery) => {
 *   if (isRedelivered && (await ledger.has(id))) return done;
 *   await ledger.book(id, body);
 *   return done;
 * };
 */
export interface Delivery extends BusMessage {
  /** 1, and one more after each `retry`. */
  readonly attempt: number;
  /** Another `retry` makes the message a dead letter. */
  readonly isLastAttempt: boolean;
  /** An earlier consumer got it, and may have handled it completely or not at all. */
  readonly isRedelivered: boolean;
  /**
   * Acknowledges the message before its handler has ended, once the remaining work is durable elsewhere.
   * The handler keeps its slot, and its decision is ignored. Rejects if the broker redelivers the message.
   */
  acknowledge(): Promise<void>;
}

/**
 * How a delivery is settled. Throwing means `retry`, with the error's message as the reason.
 * @example
 * const later: AckDecision = { kind: 'retry', reason: 'the warehouse does not answer' };
 * const never: AckDecision = { kind: 'dead', reason: 'the body is not JSON' };
 */
export type AckDecision =
  | { readonly kind: 'done' }
  /** Requeued immediately for another consumer, without counting an attempt. */
  | { readonly kind: 'release' }
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'dead'; readonly reason: string };

/**
 * The message was handled.
 * @example await bus.consume(queue, async () => done);
 */
export const done: AckDecision = Object.freeze({ kind: 'done' });
/**
 * Requeues a message immediately for another consumer.
 * @example await bus.consume(queue, async () => (isBusy ? release : done));
 */
export const release: AckDecision = Object.freeze({ kind: 'release' });

/**
 * A queue and its limits. Declaring an existing queue changes nothing and never deletes it.
 * @example
 * const queue: Queue = { name: 'invoices', topics: ['shop.invoice'], retryDelaysMs: [5_000] };
 */
export interface Queue {
  readonly name: string;
  readonly topics: readonly string[];
  /** The maximum number of waiting messages; a full queue refuses further ones. @default 100_000 */
  readonly maxMessages?: number;
  /** How long a message waits before it becomes a dead letter, in milliseconds. @default forever */
  readonly messageTtlMs?: number;
  /** Milliseconds without a consumer until the queue is deleted with its messages. @default never */
  readonly expiresAfterMs?: number;
  /** The delay before each retry, in milliseconds: one entry per retry. @default [1_000, 5_000, 30_000] */
  readonly retryDelaysMs?: readonly number[];
  /** Limits of the dead letters; `false` drops them. */
  readonly deadLetters?: DeadLetterLimits | false;
  /**
   * Belongs to the connection of its consumer and is deleted with it: after a lost connection it starts
   * empty. Beyond `maxMessages` the oldest messages are dropped. @default false
   */
  readonly exclusive?: boolean;
  /**
   * How long a consumer may take for a message before the broker redelivers it, in milliseconds. RabbitMQ
   * before 3.12 does not support it per queue. @default the broker's, usually 30 minutes
   */
  readonly consumerTimeoutMs?: number;
}

/** How long and how many dead letters are kept. */
export interface DeadLetterLimits {
  /** Milliseconds. @default 72 hours */
  readonly ttlMs?: number;
  /** Beyond it the oldest are dropped. @default 10_000 */
  readonly maxMessages?: number;
  /** @default 256 MiB */
  readonly maxBytes?: number;
}

/**
 * Delivery guarantees of a message.
 * @example const options: PublishOptions = { mandatory: true, signal: AbortSignal.timeout(5_000) };
 */
export interface PublishOptions {
  /** Rejects with `PEER_UNREACHABLE` when no queue is bound to the topic. @default false */
  readonly mandatory?: boolean;
  /**
   * Resolves once the broker has confirmed the message. Without it, as soon as the message is sent;
   * it may be lost. Messages of one bus keep their order either way. @default true
   */
  readonly confirm?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * How a queue is consumed.
 * @example const inOrder: ConsumeOptions = { prefetch: 20, concurrency: 1 };
 */
export interface ConsumeOptions {
  /** The maximum number of unsettled deliveries. @default 10 */
  readonly prefetch?: number;
  /** The maximum number of concurrent handlers. @default prefetch */
  readonly concurrency?: number;
  /** Stops after this number of deliveries. @default no limit */
  readonly limit?: number;
  /** Slots for handlers that other work can reserve, in place of `concurrency`. */
  readonly slots?: Slots;
  /** Some deliveries are acknowledged before their handlers end (`Delivery.acknowledge`). @default false */
  readonly acknowledgesEarly?: boolean;
  /** Called if the queue exists with other arguments, and is used as it is. */
  readonly onDiffers?: () => void;
  /** Called after a lost connection: messages of an exclusive queue may have been lost. */
  readonly onReopened?: () => void;
  /**
   * Called for a message that is not delivered because it exceeds a limit or can't be decoded: it has
   * no body and no headers here, and becomes a dead letter. @default ignored
   */
  readonly onRefused?: (message: BusMessage, reason: string) => Promise<void>;
}

/**
 * Consumes messages until it is closed.
 * @example await using consumption: Consumption = await bus.consume(queue, take, { prefetch: 1 });
 */
export interface Consumption extends AsyncDisposable {
  /** Stops consuming, requeues deliveries that were not started, and waits for the others. */
  close(): Promise<void>;
}

/**
 * A message that failed for good, and the reason.
 * @example
 * const isOfToday = ({ diedAt }: DeadLetter) => diedAt > Date.now() - 24 * 60 * 60_000;
 * const ids = (await bus.deadLetters('invoices')).filter(isOfToday).map(({ id }) => id);
 * await bus.replay('invoices', { ids });
 */
export interface DeadLetter {
  readonly id: string;
  readonly message: BusMessage;
  readonly reason: string;
  /** Milliseconds since 1970; in whole seconds if the broker itself moved the message. */
  readonly diedAt: number;
  readonly attempts: number;
}

/**
 * The state of a queue.
 * @example
 * const isStuck = ({ messages, consumers }: QueueState) => messages > 0 && consumers === 0;
 */
export interface QueueState {
  /** Messages that wait. */
  readonly messages: number;
  readonly consumers: number;
  readonly deadLetters: number;
}

/**
 * Carries messages by topic, at least once each.
 * @example
 * const bus: Bus = await openBus({ type: 'memory' });
 * await bus.consume({ name: 'invoices', topics: ['shop.invoice'] }, async () => done);
 * await bus.publish('shop.invoice', { type: 'task', body: '{"order":17}' });
 */
export interface Bus extends AsyncDisposable {
  readonly type: 'memory' | 'rabbitmq';
  /** The version of the broker, such as `3.13.7`; undefined in memory. */
  readonly brokerVersion: string | undefined;
  /** The configured limits of queues. */
  readonly queues: BusQueueOptions;
  /** Whether the connection to the broker is open and takes messages; a lost one is reopened. */
  readonly isConnected: boolean;
  /** Whether the broker raised an alarm (memory, disk): messages wait until it is over. */
  readonly isBlocked: boolean;
  /** The wire format of the bus. */
  readonly dialect: BusDialect;
  /** Rejects with `UNAVAILABLE` if a queue is full or the broker is unreachable. */
  publish(topic: string, message: OutgoingMessage, options?: PublishOptions): Promise<void>;
  /** Declares the queue and its bindings, so that messages can wait there. */
  declare(queue: Queue, options?: DeclareOptions): Promise<readonly DeclaredObject[]>;
  /** Declares the queue and consumes it; resolves once the consumer has started. */
  consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options?: ConsumeOptions,
  ): Promise<Consumption>;
  /** Undefined when there is no such queue. */
  inspect(queueName: string): Promise<QueueState | undefined>;
  /** The name of a queue at the broker, which a dialect may change. */
  brokerQueueName(queueName: string): string;
  /** The name of the queue of its dead letters. */
  deadQueueName(queueName: string): string;
  /** Oldest first. */
  deadLetters(
    queueName: string,
    options?: { readonly limit?: number },
  ): Promise<readonly DeadLetter[]>;
  /** Adds a message that is no longer in the queue to its dead letters, as the decision `dead` does. */
  bury(
    queue: Queue,
    message: BusMessage,
    death: { readonly reason: string; readonly attempts: number },
  ): Promise<void>;
  /** Moves dead letters back into their queue with attempts reset; returns their number. */
  replay(queueName: string, options?: { readonly ids?: readonly string[] }): Promise<number>;
  /**
   * When the first message that waits was published, in milliseconds since 1970; undefined if it is
   * unknown or none waits. A quorum queue counts this as one of its deliveries.
   */
  oldest(queueName: string): Promise<number | undefined>;
  /** Deletes the messages that wait in a queue; returns their number. */
  purge(queueName: string): Promise<number>;
  /** Deletes a queue with its messages, retries and dead letters. */
  delete(queueName: string): Promise<void>;
  /** Closes the consumers, then the connections. */
  close(): Promise<void>;
}

/**
 * How a queue is declared.
 * @example const options: DeclareOptions = { migrates: true };
 */
export interface DeclareOptions {
  /**
   * Replaces a queue that exists with other arguments, and keeps its messages. Rejects while the
   * queue has consumers. @default false
   */
  readonly migrates?: boolean;
}

/**
 * A queue or exchange after its declaration. `differs`: it exists with other arguments, and is used as
 * it is.
 * @example
 * const isOld = ({ state }: DeclaredObject) => state === 'differs';
 * const old = (await declareAgentQueue(bus, 'researcher')).filter(isOld);
 */
export interface DeclaredObject {
  readonly name: string;
  readonly kind: 'exchange' | 'queue';
  readonly state: 'made' | 'present' | 'differs' | 'migrated';
}

/**
 * Limits of the task queue of an agent.
 * @example const queue: AgentQueueOptions = { maxMessages: 500, messageTtlMs: 60 * 60_000 };
 */
export interface AgentQueueOptions {
  /** Maximum number of waiting tasks; a full queue refuses further ones. @default 100_000 */
  readonly maxMessages?: number;
  /** How long a task waits before it becomes a dead letter, in milliseconds. @default forever */
  readonly messageTtlMs?: number;
  /** The delay before each retry, in milliseconds. @default [1_000, 5_000, 30_000] */
  readonly retryDelaysMs?: readonly number[];
  readonly deadLetters?: DeadLetterLimits;
  /**
   * How long a task may run before the broker redelivers it, in milliseconds, if its message is
   * acknowledged at the end. @default 24 hours
   */
  readonly consumerTimeoutMs?: number;
}

/**
 * Limits of the queues of a bus, where their owner doesn't set others.
 * @example const queues: BusQueueOptions = { maxMessages: 500, replyExpiresAfterMs: 60 * 60_000 };
 */
export interface BusQueueOptions extends AgentQueueOptions {
  /**
   * Deletes the queue of a caller's answers after this time without a consumer, in milliseconds.
   * @default 7 days
   */
  readonly replyExpiresAfterMs?: number;
}

/**
 * The wire format of a bus. `rockbot`: RockBot's as well as our own, with its exchange and queue names.
 * @example const dialect: BusDialect = 'rockbot';
 */
export type BusDialect = 'legate' | 'rockbot';

/** Options of every bus. */
export interface BusTuning {
  /** @default 'legate' */
  readonly dialect?: BusDialect;
  /** Limits of queues. */
  readonly queues?: BusQueueOptions;
  /** The largest body, in bytes. @default 16 MiB */
  readonly maxBodyBytes?: number;
}

export const defaultRetryDelaysMs = [1_000, 5_000, 30_000] as const;

/** The default size of the largest body, in bytes. */
export const defaultMaxBodyBytes = 16 * 1024 * 1024;

/** The declaration with all defaults applied. */
export interface QueueSettings extends Required<Omit<Queue, QueueOption>> {
  readonly messageTtlMs: number | undefined;
  readonly expiresAfterMs: number | undefined;
  readonly consumerTimeoutMs: number | undefined;
  readonly deadLetters: Required<DeadLetterLimits> | undefined;
}
type QueueOption = 'messageTtlMs' | 'expiresAfterMs' | 'consumerTimeoutMs' | 'deadLetters';

const hour = 60 * 60 * 1000;

/** The settings of a queue, with its defaults filled in. */
export function withDefaults(queue: Queue): QueueSettings {
  const { deadLetters = {} } = queue;
  return {
    name: queue.name,
    topics: queue.topics,
    maxMessages: queue.maxMessages ?? 100_000,
    messageTtlMs: queue.messageTtlMs,
    expiresAfterMs: queue.expiresAfterMs,
    consumerTimeoutMs: queue.consumerTimeoutMs,
    exclusive: queue.exclusive ?? false,
    retryDelaysMs: queue.retryDelaysMs ?? defaultRetryDelaysMs,
    deadLetters:
      deadLetters === false
        ? undefined
        : {
            ttlMs: deadLetters.ttlMs ?? 72 * hour,
            maxMessages: deadLetters.maxMessages ?? 10_000,
            maxBytes: deadLetters.maxBytes ?? 256 * 1024 * 1024,
          },
  };
}

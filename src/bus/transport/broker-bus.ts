import {
  context,
  type ObservableResult,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import {
  counter,
  histogram,
  isTraced,
  observeGauge,
  upDownCounter,
} from '../../telemetry/index.ts';
import { waitAtMost } from '../../time/index.ts';
import {
  type AckDecision,
  type Bus,
  type BusDialect,
  type BusMessage,
  type BusQueueOptions,
  type BusTuning,
  type ConsumeOptions,
  type Consumption,
  type DeadLetter,
  type DeclaredObject,
  type DeclareOptions,
  defaultMaxBodyBytes,
  type Delivery,
  messageTypes,
  type OutgoingMessage,
  type PublishOptions,
  type Queue,
  type QueueSettings,
  type QueueState,
  withDefaults,
} from './bus.ts';
import { busClosed, checkOutgoing, checkQueueName, checkTopic } from './checks.ts';

const library = 'legate.bus';
/** How long a metric waits for the broker, in milliseconds. */
const maxInspectMs = 1_000;

/** A message in any dialect. */
export type BrokerMessage = Omit<OutgoingMessage, 'type'> & { readonly type: string };

/** The operations that differ between brokers. The caller has validated names, topics and messages. */
export interface Broker {
  readonly type: Bus['type'];
  /** The version of the server. */
  readonly version: string | undefined;
  readonly isConnected: boolean;
  readonly isBlocked: boolean;
  publish(topic: string, message: BrokerMessage, options: PublishOptions): Promise<void>;
  declare(settings: QueueSettings, options: DeclareOptions): Promise<readonly DeclaredObject[]>;
  /** Returns the function that stops the consumer, as `Consumption.close`. */
  consume(
    settings: QueueSettings,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions,
  ): Promise<() => Promise<void>>;
  inspect(queueName: string): Promise<QueueState | undefined>;
  queueName(queueName: string): string;
  deadQueueName(queueName: string): string;
  deadLetters(queueName: string, limit: number): Promise<readonly DeadLetter[]>;
  bury(
    settings: QueueSettings,
    message: BusMessage,
    death: { readonly reason: string; readonly attempts: number },
  ): Promise<void>;
  replay(queueName: string, ids: readonly string[] | undefined): Promise<number>;
  oldest(queueName: string): Promise<number | undefined>;
  purge(queueName: string): Promise<number>;
  delete(queueName: string): Promise<void>;
  /** Called after all consumers have stopped. */
  close(): Promise<void>;
}

/**
 * A bus over a broker: checks messages and names, closes consumers, and reports to OpenTelemetry.
 * Messages carry the trace context from the publisher to the consumer.
 */
export class BrokerBus implements Bus {
  readonly #broker: Broker;
  readonly #maxBodyBytes: number;
  readonly #tracer = trace.getTracer(library);
  readonly #published = counter('legate.messaging.publish.messages');
  readonly #publishTime = histogram('legate.messaging.publish.duration');
  readonly #processed = counter('legate.messaging.process.messages');
  readonly #processTime = histogram('legate.messaging.process.duration');
  readonly #active = upDownCounter('legate.messaging.active_messages');
  /** Queues that are consumed here and keep dead letters. */
  readonly #watched = new Set<string>();
  readonly #stopWatching: () => void;
  readonly #consumptions = new Set<Consumption>();
  #closing: Promise<void> | undefined;
  /** While closing, handlers that run may still publish. */
  #isClosed = false;

  readonly queues: BusQueueOptions;
  readonly dialect: BusDialect;

  constructor(broker: Broker, options: BusTuning = {}) {
    const { maxBodyBytes = defaultMaxBodyBytes, queues = {}, dialect = 'legate' } = options;
    this.#broker = broker;
    this.queues = queues;
    this.dialect = dialect;
    this.#maxBodyBytes = maxBodyBytes;
    const stops = [
      observeGauge('legate.messaging.dlq.depth', (result) => this.#observeDead(result)),
      observeGauge('legate.messaging.connected', (result) =>
        result.observe(this.isConnected ? 1 : 0),
      ),
    ];
    this.#stopWatching = () => {
      for (const stop of stops) stop();
    };
  }

  get type(): Bus['type'] {
    return this.#broker.type;
  }

  get brokerVersion(): string | undefined {
    return this.#broker.version;
  }

  get isConnected(): boolean {
    return !this.#isClosed && this.#broker.isConnected;
  }

  get isBlocked(): boolean {
    return this.#broker.isBlocked;
  }

  async publish(
    topic: string,
    message: OutgoingMessage,
    options: PublishOptions = {},
  ): Promise<void> {
    if (this.#isClosed) throw busClosed();
    checkOutgoing(topic, message, this.#maxBodyBytes);
    const labels = {
      'messaging.destination.name': topicKind(topic),
      'legate.messaging.type': message.type,
    };
    // Updates are many small messages: they are counted, without a span for each.
    if (options.confirm === false) {
      this.#published.add(1, { ...labels, status: 'sent' });
      return this.#broker.publish(topic, withTrace(message, context.active()), options);
    }
    const startedAt = performance.now();
    const span = this.#tracer.startSpan('legate.messaging.publish', {
      kind: SpanKind.PRODUCER,
      attributes: { ...labels, 'legate.a2a.correlation_id': message.correlationId },
    });
    const traced = isTraced(span)
      ? withTrace(message, trace.setSpan(context.active(), span))
      : withTrace(message, context.active());
    let status = 'ok';
    try {
      await this.#broker.publish(topic, traced, options);
    } catch (error) {
      status = 'error';
      fail(span, error);
      throw error;
    } finally {
      span.end();
      const outcome = { ...labels, status };
      this.#published.add(1, outcome);
      this.#publishTime.record(performance.now() - startedAt, outcome);
    }
  }

  async declare(queue: Queue, options: DeclareOptions = {}): Promise<readonly DeclaredObject[]> {
    return this.#broker.declare(this.#settingsOf(queue), options);
  }

  async consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options: ConsumeOptions = {},
  ): Promise<Consumption> {
    const settings = this.#settingsOf(queue);
    const take = (delivery: Delivery) => this.#process(queue, delivery, handler);
    const stop = await this.#broker.consume(settings, take, options);
    if (settings.deadLetters !== undefined) this.#watched.add(queue.name);
    let stopped: Promise<void> | undefined;
    const close = (): Promise<void> =>
      (stopped ??= stop().finally(() => this.#consumptions.delete(consumption)));
    const consumption = { close, [Symbol.asyncDispose]: close };
    this.#consumptions.add(consumption);
    return consumption;
  }

  async inspect(queueName: string): Promise<QueueState | undefined> {
    return this.#broker.inspect(checkQueueName(queueName));
  }

  brokerQueueName(queueName: string): string {
    return this.#broker.queueName(checkQueueName(queueName));
  }

  deadQueueName(queueName: string): string {
    return this.#broker.deadQueueName(checkQueueName(queueName));
  }

  async deadLetters(
    queueName: string,
    { limit = 100 }: { readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    return this.#broker.deadLetters(checkQueueName(queueName), limit);
  }

  async bury(
    queue: Queue,
    message: BusMessage,
    death: { readonly reason: string; readonly attempts: number },
  ): Promise<void> {
    // Also while the bus is closing: handlers are still running.
    return this.#broker.bury(checkedSettings(queue), message, death);
  }

  async replay(
    queueName: string,
    { ids }: { readonly ids?: readonly string[] } = {},
  ): Promise<number> {
    return this.#broker.replay(checkQueueName(queueName), ids);
  }

  async oldest(queueName: string): Promise<number | undefined> {
    return this.#broker.oldest(checkQueueName(queueName));
  }

  async purge(queueName: string): Promise<number> {
    return this.#broker.purge(checkQueueName(queueName));
  }

  async delete(queueName: string): Promise<void> {
    await this.#broker.delete(checkQueueName(queueName));
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stopWatching();
    await Promise.all(Array.from(this.#consumptions, (consumption) => consumption.close()));
    this.#isClosed = true;
    await this.#broker.close();
  }

  #settingsOf(queue: Queue): QueueSettings {
    if (this.#closing !== undefined) throw busClosed();
    return checkedSettings(queue);
  }

  /** An unreachable broker must not delay other metrics. */
  async #observeDead(result: ObservableResult): Promise<void> {
    const looks = Array.from(this.#watched, async (name) => {
      const state = await this.#broker.inspect(name);
      if (state !== undefined)
        result.observe(state.deadLetters, { 'legate.messaging.queue': withoutInstance(name) });
    });
    await waitAtMost(maxInspectMs, Promise.allSettled(looks));
  }

  async #process(
    queue: Queue,
    delivery: Delivery,
    handler: (delivery: Delivery) => Promise<AckDecision>,
  ): Promise<AckDecision> {
    const labels = {
      'legate.messaging.queue': withoutInstance(queue.name),
      'legate.messaging.type': typeOf(delivery),
    };
    const parent = propagation.extract(ROOT_CONTEXT, delivery.headers);
    const span = this.#tracer.startSpan(
      'legate.messaging.process',
      {
        kind: SpanKind.CONSUMER,
        attributes: {
          ...labels,
          'legate.messaging.attempt': delivery.attempt,
          'legate.a2a.correlation_id': delivery.correlationId,
        },
      },
      parent,
    );
    const startedAt = performance.now();
    this.#active.add(1, labels);
    let status = 'error';
    try {
      const decision = await (isTraced(span)
        ? context.with(trace.setSpan(parent, span), () => handler(delivery))
        : handler(delivery));
      status = decision.kind;
      if ('reason' in decision) span.setAttribute('legate.messaging.reason', decision.reason);
      return decision;
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
      this.#active.add(-1, labels);
      const outcome = { ...labels, status };
      this.#processed.add(1, outcome);
      this.#processTime.record(performance.now() - startedAt, outcome);
    }
  }
}

function checkedSettings(queue: Queue): QueueSettings {
  checkQueueName(queue.name);
  for (const topic of queue.topics) checkTopic(topic);
  return withDefaults(queue);
}

/** Foreign senders may use any type: a metric series for each would be unbounded. */
function typeOf({ type }: Delivery): string {
  return messageTypes.find((known) => known === type) ?? 'other';
}

/** Queues of one process end in its id: a metric series for each would be unbounded. */
function withoutInstance(name: string): string {
  if (!/[-.]/.test(name.at(-37) ?? '')) return name;
  return name.replace(/[-.][0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '');
}

/** Callers choose the topics of their replies: a metric series for each would be unbounded. */
function topicKind(topic: string): string {
  return topic.startsWith(replyTopics) ? replyTopics : topic;
}

const replyTopics = 'agent.response';

/** Adds the active trace context. Without one, the headers that the sender set stay. */
function withTrace(
  message: OutgoingMessage,
  active: ReturnType<typeof context.active>,
): OutgoingMessage {
  // No propagator is configured.
  if (propagation.fields().length === 0) return message;
  const carrier: Record<string, string> = {};
  propagation.inject(active, carrier);
  if (Object.keys(carrier).length === 0) return message;
  return { ...message, headers: { ...message.headers, ...carrier } };
}

function fail(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

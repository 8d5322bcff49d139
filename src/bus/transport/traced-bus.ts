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
  type Bus,
  type ConsumeOptions,
  type Consumption,
  type DeadLetter,
  type Delivery,
  messageTypes,
  type OutgoingMessage,
  type PublishOptions,
  type Queue,
  type QueueState,
  type AckDecision,
} from './bus.ts';

const library = 'legate.bus';
const longestLookMs = 1_000;

/**
 * A bus that tells OpenTelemetry what goes over it, and carries the trace from the publisher to the
 * consumer. Without an SDK in the program it costs next to nothing and says nothing.
 */
export class TracedBus implements Bus {
  readonly #bus: Bus;
  readonly #tracer = trace.getTracer(library);
  readonly #published = counter('legate.messaging.publish.messages');
  readonly #publishTime = histogram('legate.messaging.publish.duration');
  readonly #processed = counter('legate.messaging.process.messages');
  readonly #processTime = histogram('legate.messaging.process.duration');
  readonly #active = upDownCounter('legate.messaging.active_messages');
  /** Queues that are consumed here and keep dead letters. */
  readonly #watched = new Set<string>();
  readonly #stopWatching: () => void;

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#stopWatching = observeGauge('legate.messaging.dlq.depth', (result) =>
      this.#observeDead(result),
    );
  }

  get type(): Bus['type'] {
    return this.#bus.type;
  }

  async publish(
    topic: string,
    message: OutgoingMessage,
    options: PublishOptions = {},
  ): Promise<void> {
    const labels = {
      'messaging.destination.name': withoutInstance(topic),
      'legate.messaging.type': message.type,
    };
    // What happens on the way is many small messages: counted, but no span for each.
    if (options.confirm === false) {
      this.#published.add(1, { ...labels, status: 'sent' });
      return this.#bus.publish(topic, withTrace(message, context.active()), options);
    }
    const began = performance.now();
    const span = this.#tracer.startSpan('legate.messaging.publish', {
      kind: SpanKind.PRODUCER,
      attributes: { ...labels, 'legate.a2a.correlation_id': message.correlationId },
    });
    const traced = isTraced(span)
      ? withTrace(message, trace.setSpan(context.active(), span))
      : withTrace(message, context.active());
    let status = 'ok';
    try {
      await this.#bus.publish(topic, traced, options);
    } catch (error) {
      status = 'error';
      fail(span, error);
      throw error;
    } finally {
      span.end();
      const outcome = { ...labels, status };
      this.#published.add(1, outcome);
      this.#publishTime.record(performance.now() - began, outcome);
    }
  }

  consume(
    queue: Queue,
    handler: (delivery: Delivery) => Promise<AckDecision>,
    options?: ConsumeOptions,
  ): Promise<Consumption> {
    if (queue.deadLetters !== false) this.#watched.add(queue.name);
    return this.#bus.consume(queue, (delivery) => this.#process(queue, delivery, handler), options);
  }

  declare(queue: Queue): Promise<void> {
    return this.#bus.declare(queue);
  }

  inspect(queueName: string): Promise<QueueState | undefined> {
    return this.#bus.inspect(queueName);
  }

  deadLetters(
    queueName: string,
    options?: { readonly limit?: number },
  ): Promise<readonly DeadLetter[]> {
    return this.#bus.deadLetters(queueName, options);
  }

  replay(queueName: string, options?: { readonly ids?: readonly string[] }): Promise<number> {
    return this.#bus.replay(queueName, options);
  }

  close(): Promise<void> {
    this.#stopWatching();
    return this.#bus.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A broker that is away must not keep the other metrics waiting. */
  async #observeDead(result: ObservableResult): Promise<void> {
    const looks = Array.from(this.#watched, async (name) => {
      const state = await this.#bus.inspect(name);
      if (state !== undefined)
        result.observe(state.deadLetters, { 'legate.messaging.queue': name });
    });
    await waitAtMost(longestLookMs, Promise.allSettled(looks));
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
    const began = performance.now();
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
      this.#processTime.record(performance.now() - began, outcome);
    }
  }
}

/** Senders of another make may say anything: a series for each would be without end. */
function typeOf({ type }: Delivery): string {
  return messageTypes.find((known) => known === type) ?? 'other';
}

/** Queues of one process end in its id; one metric for each would be without end. */
function withoutInstance(name: string): string {
  if (name.at(-37) !== '-') return name;
  return name.replace(/-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '');
}

/** A trace that the sender named itself stands where there is no other. */
function withTrace(
  message: OutgoingMessage,
  active: ReturnType<typeof context.active>,
): OutgoingMessage {
  // Nothing is carried where nobody has said how.
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

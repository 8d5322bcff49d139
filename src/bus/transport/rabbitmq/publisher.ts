import { setImmediate } from 'node:timers/promises';
import type { Connection, Envelope, Publisher, ReturnedMessage } from 'rabbitmq-client';
import { errorMessage, LegateError } from '../../../protocol/index.ts';
import type { Scheduler } from '../../../tasks/index.ts';
import { type Logger, LogSummary } from '../../../telemetry/index.ts';
import { Deadline, retry, until } from '../../../time/index.ts';
import { busClosed, queueFull, unroutable } from '../checks.ts';
import { codeOf } from './topology.ts';

export interface SendOptions {
  readonly confirm: boolean;
  readonly signal?: AbortSignal | undefined;
}

const pauseMs = 100;

/**
 * Publishes over one channel in confirm mode, so that messages keep their order. The library replaces
 * a broken channel; unconfirmed messages are sent again until the timeout: a message may then arrive
 * twice, with the same id.
 */
export class RabbitPublisher {
  readonly #connection: Connection;
  readonly #publisher: Publisher;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  readonly #fullLogger: LogSummary;
  readonly #timeoutMs: number;
  /** Unconfirmed mandatory messages by id: whether the broker returned them. */
  readonly #mandatory = new Map<string, boolean>();
  /** The deadlines of messages that wait for the broker. */
  readonly #deadlines = new Set<Deadline>();
  /** The broker raised an alarm and takes no messages until it is over. */
  #isBlocked = false;
  #isClosed = false;

  constructor(options: {
    connection: Connection;
    scheduler: Scheduler;
    logger: Logger;
    /** How long a message is retried, in milliseconds. */
    timeoutMs: number;
  }) {
    this.#connection = options.connection;
    this.#scheduler = options.scheduler;
    this.#logger = options.logger;
    this.#fullLogger = new LogSummary(options.logger, 'count');
    this.#timeoutMs = options.timeoutMs;
    this.#publisher = this.#connection.createPublisher({ confirm: true });
    this.#connection.on('connection.blocked', () => this.#block(true));
    this.#connection.on('connection.unblocked', () => this.#block(false));
    // A restarted broker does not report the end of its alarm.
    this.#connection.on('connection', () => this.#block(false));
    this.#connection.on('error', () => this.#block(false));
    this.#publisher.on('basic.return', ({ messageId = '' }: ReturnedMessage) => {
      if (this.#mandatory.has(messageId)) this.#mandatory.set(messageId, true);
    });
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  async send(envelope: Envelope, body: string, options: SendOptions): Promise<void> {
    if (this.#isClosed) throw busClosed();
    const bytes = Buffer.from(body);
    // Without a connection, unconfirmed messages wait as well, so that they don't pile up here.
    if (!options.confirm && this.#connection.ready) return this.#sendUnconfirmed(envelope, bytes);
    using deadline = new Deadline({
      signal: options.signal,
      milliseconds: this.#timeoutMs,
      reason: () => brokerUnavailable(this.#timeoutMs),
      timers: this.#scheduler,
    });
    const { signal } = deadline;
    if (this.#isBlocked) deadline.lift();
    this.#deadlines.add(deadline);
    try {
      const sending = retry(() => this.#sendConfirmed(envelope, bytes), {
        signal,
        delays: () => pauseMs,
        isRetryable: (error) => !(error instanceof LegateError),
        onRetry: ({ error }) => {
          const failed = { topic: envelope.routingKey, reason: errorMessage(error) };
          this.#logger.warn(failed, 'bus.publish.retry');
        },
      });
      await until(sending, signal);
    } finally {
      this.#deadlines.delete(deadline);
    }
  }

  /** During an alarm, messages wait: the alarm delays them, but does not fail them. */
  #block(isBlocked: boolean): void {
    if (isBlocked === this.#isBlocked) return;
    this.#isBlocked = isBlocked;
    for (const deadline of this.#deadlines) {
      if (isBlocked) deadline.lift();
      else deadline.restart();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // Without a connection a message in flight fails here as well; its sender has the error.
    await this.#publisher.close().catch((error: unknown) => {
      this.#logger.debug({ error }, 'bus.publish.lost');
    });
  }

  #sendUnconfirmed(envelope: Envelope, bytes: Buffer): void {
    this.#publisher.send(envelope, bytes).catch((error: unknown) => {
      this.#logger.debug({ topic: envelope.routingKey, error }, 'bus.publish.lost');
    });
  }

  async #sendConfirmed(envelope: Envelope, bytes: Buffer): Promise<void> {
    const { routingKey: topic = '', messageId = '', mandatory = false } = envelope;
    if (mandatory) this.#mandatory.set(messageId, false);
    try {
      await this.#publisher.send(envelope, bytes);
      // The library emits a confirmation at once, and a return that came before it in the next tick
      // of the event loop.
      if (mandatory) await setImmediate();
      if (this.#mandatory.get(messageId) === true) throw unroutable(topic);
    } catch (error) {
      if (this.#isClosed) throw busClosed();
      if (codeOf(error) === 'NACK') {
        this.#fullLogger.warn({ topic }, 'bus.queue.full');
        throw queueFull(topic);
      }
      if (codeOf(error) === 'CODEC') throw unencodable(error);
      if (codeOf(error) === 'ACCESS_REFUSED' && isAbout(error, topic))
        throw forbidden(topic, error);
      throw error;
    } finally {
      this.#mandatory.delete(messageId);
    }
  }
}

/** A retry would fail as well, and close the channel each time. */
function unencodable(cause: unknown): LegateError {
  return new LegateError('INVALID_PARAMS', 'the message cannot be encoded for the broker', {
    cause,
  });
}

/** The refusal of one message closes the channel for all: the others are sent again. */
function isAbout(error: unknown, topic: string): boolean {
  const [, refused] = /access to topic '([^']*)'/.exec(errorMessage(error)) ?? [];
  return refused === undefined || refused === topic;
}

function forbidden(topic: string, cause: unknown): LegateError {
  return new LegateError(
    'PERMISSION_DENIED',
    `the user of this connection may not publish to ${topic}: grant it the write permission for the exchange, and for the topic if the exchange has topic permissions (${errorMessage(cause)})`,
    { cause, metadata: { topic } },
  );
}

function brokerUnavailable(timeoutMs: number): LegateError {
  return new LegateError(
    'UNAVAILABLE',
    `the message broker did not confirm the message within ${timeoutMs} ms`,
    { retryAfter: 5 },
  );
}

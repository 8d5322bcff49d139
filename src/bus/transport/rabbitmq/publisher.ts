import { setImmediate } from 'node:timers/promises';
import type { Connection, Envelope, Publisher, ReturnedMessage } from 'rabbitmq-client';
import { LegateError } from '../../../protocol/index.ts';
import type { Scheduler } from '../../../tasks/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { retry, within } from '../../../time/index.ts';
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
  readonly #timeoutMs: number;
  /** Unconfirmed mandatory messages by id: whether the broker returned them. */
  readonly #mandatory = new Map<string, boolean>();
  #isClosed = false;

  constructor(options: {
    connection: Connection;
    exchange: string;
    scheduler: Scheduler;
    logger: Logger;
    /** How long a message is retried, in milliseconds. */
    timeoutMs: number;
  }) {
    this.#connection = options.connection;
    this.#scheduler = options.scheduler;
    this.#logger = options.logger;
    this.#timeoutMs = options.timeoutMs;
    const { exchange } = options;
    this.#publisher = this.#connection.createPublisher({
      confirm: true,
      // Publishing to a missing exchange would close the channel.
      exchanges: [{ exchange, type: 'topic', durable: true }],
    });
    this.#publisher.on('basic.return', ({ messageId = '' }: ReturnedMessage) => {
      if (this.#mandatory.has(messageId)) this.#mandatory.set(messageId, true);
    });
  }

  async send(envelope: Envelope, body: string, options: SendOptions): Promise<void> {
    if (this.#isClosed) throw busClosed();
    const bytes = Buffer.from(body);
    // Without a connection even these wait: they must not pile up here.
    if (!options.confirm && this.#connection.ready) return this.#sendUnconfirmed(envelope, bytes);
    const limit = {
      signal: options.signal,
      // A broker that blocks its publishers neither confirms nor refuses.
      milliseconds: this.#timeoutMs,
      reason: () => brokerUnavailable(this.#timeoutMs),
      timers: this.#scheduler,
    };
    await within(limit, (signal) =>
      retry(() => this.#sendConfirmed(envelope, bytes), {
        signal,
        delays: () => pauseMs,
        isRetryable: (error) => !(error instanceof LegateError),
        onRetry: ({ error }) => {
          this.#logger.warn({ topic: envelope.routingKey, error }, 'bus.publish.retry');
        },
      }),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#publisher.close();
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
      if (codeOf(error) === 'NACK') throw queueFull(topic);
      if (codeOf(error) === 'CODEC') throw unencodable(error);
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

function brokerUnavailable(timeoutMs: number): LegateError {
  return new LegateError(
    'UNAVAILABLE',
    `the message broker did not take the message within ${timeoutMs} ms`,
    { retryAfter: 5 },
  );
}

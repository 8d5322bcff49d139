import type { Channel, Connection, Envelope, ReturnedMessage } from 'rabbitmq-client';
import { LegateError } from '../../../protocol/index.ts';
import type { Scheduler, Timer } from '../../../tasks/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { busClosed, queueFull, unroutable } from '../refusals.ts';
import { codeOf } from './topology.ts';

export interface SendOptions {
  readonly confirm: boolean;
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  /** Milliseconds since 1970. */
  readonly deadline: number;
  readonly reject: (error: Error) => void;
}

const lookEveryMs = 500;

/**
 * Publishes over one channel in confirm mode, so that messages keep their order. A channel that
 * breaks is replaced, and what was not confirmed is sent again until the time is up: a message may
 * then arrive twice, with the same id.
 */
export class RabbitPublisher {
  readonly #connection: Connection;
  readonly #exchange: string;
  readonly #scheduler: Scheduler;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  #channel: Channel | undefined;
  #opening: Promise<Channel> | undefined;
  /** Ids of messages that came back because no queue was bound to their topic. */
  readonly #returned = new Set<string>();
  /** What waits for the broker. */
  readonly #waiting = new Set<Waiting>();
  #watcher: Timer | undefined;
  #isClosed = false;

  constructor(options: {
    connection: Connection;
    exchange: string;
    scheduler: Scheduler;
    logger: Logger;
    /** How long a message is tried, in milliseconds. */
    timeoutMs: number;
  }) {
    this.#connection = options.connection;
    this.#exchange = options.exchange;
    this.#scheduler = options.scheduler;
    this.#logger = options.logger;
    this.#timeoutMs = options.timeoutMs;
  }

  async send(envelope: Envelope, body: string, options: SendOptions): Promise<void> {
    const deadline = this.#scheduler.now() + this.#timeoutMs;
    const bytes = Buffer.from(body);
    for (;;) {
      options.signal?.throwIfAborted();
      if (this.#isClosed) throw busClosed();
      try {
        const channel = this.#active ?? (await this.#within(this.#open(), deadline, options));
        const confirmed = channel.basicPublish(envelope, bytes);
        if (!options.confirm) {
          confirmed.catch((error: unknown) => {
            this.#logger.debug({ topic: envelope.routingKey, error }, 'bus.publish.lost');
          });
          return;
        }
        await this.#within(confirmed, deadline, options, envelope);
        return;
      } catch (error) {
        if (error instanceof LegateError || options.signal?.aborted === true) throw error;
        if (codeOf(error) === 'NACK') throw queueFull(envelope.routingKey ?? '');
        if (codeOf(error) === 'CODEC') throw unencodable(error);
        if (this.#isClosed) throw busClosed();
        if (this.#scheduler.now() >= deadline) throw brokerAway(this.#timeoutMs, error);
        this.#logger.warn({ topic: envelope.routingKey, error }, 'bus.publish.again');
        await new Promise<void>((resolve) => void this.#scheduler.after(100, resolve));
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watcher?.cancel();
    const channel = this.#channel ?? (await this.#opening?.catch(() => undefined));
    await channel?.close();
  }

  get #active(): Channel | undefined {
    return this.#channel?.active === true ? this.#channel : undefined;
  }

  #open(): Promise<Channel> {
    this.#opening ??= this.#openChannel().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openChannel(): Promise<Channel> {
    const channel = await this.#connection.acquire({ emitErrorsFromChannel: true });
    channel.on('error', (error: unknown) => {
      this.#logger.warn({ error }, 'bus.channel.failed');
    });
    channel.on('basic.return', ({ messageId }: ReturnedMessage) => {
      if (messageId !== undefined) this.#returned.add(messageId);
    });
    // Publishing to an exchange that is not there would cost the channel.
    await channel.exchangeDeclare({ exchange: this.#exchange, type: 'topic', durable: true });
    await channel.confirmSelect();
    this.#channel = channel;
    return channel;
  }

  /**
   * A broker that blocks its publishers neither confirms nor refuses. One timer looks after all that
   * waits, since a timer for each message would cost more than the message.
   *
   * `sent`: what the work confirms. The broker tells of a return before it confirms; the library
   * passes the confirmation on at once and the return in the next round of the event loop.
   */
  #within<T>(
    work: Promise<T>,
    deadline: number,
    { signal }: SendOptions,
    sent?: Envelope,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting: Waiting = { deadline, reject };
      this.#waiting.add(waiting);
      this.#watch();
      const abort = (): void => reject(signal?.reason as Error);
      signal?.addEventListener('abort', abort, { once: true });
      const settle = (): void => {
        this.#waiting.delete(waiting);
        signal?.removeEventListener('abort', abort);
      };
      work.then(
        (value) => {
          settle();
          if (sent?.mandatory === true)
            setImmediate(() =>
              this.#cameBack(sent) ? reject(unroutable(sent.routingKey ?? '')) : resolve(value),
            );
          else resolve(value);
        },
        (error: unknown) => {
          settle();
          reject(error);
        },
      );
    });
  }

  /** Asked once for each message: the return is forgotten with the answer. */
  #cameBack({ messageId = '' }: Envelope): boolean {
    return this.#returned.delete(messageId);
  }

  #watch(): void {
    this.#watcher ??= this.#scheduler.after(lookEveryMs, () => {
      this.#watcher = undefined;
      const now = this.#scheduler.now();
      for (const waiting of this.#waiting) {
        if (waiting.deadline > now) continue;
        this.#waiting.delete(waiting);
        waiting.reject(brokerAway(this.#timeoutMs));
      }
      if (this.#waiting.size > 0) this.#watch();
    });
  }
}

/** Another attempt would fail as well, and costs the channel each time. */
function unencodable(cause: unknown): LegateError {
  return new LegateError('INVALID_PARAMS', 'the message cannot be encoded for the broker', {
    cause,
  });
}

function brokerAway(timeoutMs: number, cause?: unknown): LegateError {
  return new LegateError(
    'UNAVAILABLE',
    `the message broker did not take the message within ${timeoutMs} ms`,
    { retryAfter: 5, cause },
  );
}

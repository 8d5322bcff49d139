/**
 * A hand-written RockBot agent: envelopes, headers, queues and bodies as RockBot writes them. It uses the
 * client library only.
 */
import { randomUUID } from 'node:crypto';
import { type AsyncMessage, type Channel, Connection, type Publisher } from 'rabbitmq-client';

/** A received message, with the properties that RockBot reads. */
export interface Envelope {
  readonly topic: string;
  readonly type: string;
  readonly correlationId: string;
  readonly replyTo: string;
  readonly messageId: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export class RockbotPeer implements AsyncDisposable {
  readonly received: Envelope[] = [];
  readonly #connection: Connection;
  readonly #publisher: Publisher;
  readonly #exchange: string;
  readonly #name: string;
  /** Handlers in flight. They publish, so the publisher closes after them. */
  readonly #handling = new Set<Promise<void>>();
  #channel: Channel | undefined;

  private constructor(connection: Connection, exchange: string, name: string) {
    this.#connection = connection;
    this.#exchange = exchange;
    this.#name = name;
    this.#publisher = connection.createPublisher({ confirm: true });
  }

  /** Declares the queues of the topics, each with the arguments and the name that RockBot gives it. */
  static async start(options: {
    readonly url: string;
    readonly exchange: string;
    readonly name: string;
    readonly topics: readonly string[];
    readonly onMessage?: (envelope: Envelope, peer: RockbotPeer) => Promise<void>;
  }): Promise<RockbotPeer> {
    const { url, exchange, name, onMessage } = options;
    const connection = new Connection(url);
    const peer = new RockbotPeer(connection, exchange, name);
    for (const topicExchange of [exchange, `${exchange}.dlx`]) {
      await connection.exchangeDeclare({ exchange: topicExchange, type: 'topic', durable: true });
    }
    const channel = await connection.acquire();
    peer.#channel = channel;
    for (const topic of options.topics) {
      const queue = `rockbot.${name}.${topic.replaceAll('.', '-')}`;
      await channel.queueDeclare({
        queue: `${queue}.dlq`,
        durable: true,
        arguments: {
          'x-message-ttl': 72 * 60 * 60 * 1000,
          'x-max-length': 10_000,
          'x-max-length-bytes': 256 * 1024 * 1024,
          'x-overflow': 'drop-head',
        },
      });
      await channel.queueDeclare({
        queue,
        durable: true,
        arguments: {
          'x-dead-letter-exchange': `${exchange}.dlx`,
          'x-dead-letter-routing-key': topic,
        },
      });
      await channel.queueBind({ queue, exchange, routingKey: topic });
      await channel.basicConsume({ queue }, (message: AsyncMessage) => {
        channel.basicAck({ deliveryTag: message.deliveryTag });
        const envelope = toEnvelope(message);
        peer.received.push(envelope);
        if (onMessage !== undefined) peer.#handle(onMessage(envelope, peer));
      });
    }
    return peer;
  }

  #handle(work: Promise<void>): void {
    this.#handling.add(work);
    void work.finally(() => this.#handling.delete(work));
  }

  /** Publishes an envelope; strings that are missing are empty, as RockBot writes them. */
  async publish(
    topic: string,
    type: string,
    body: unknown,
    more: {
      readonly correlationId?: string;
      readonly replyTo?: string;
      readonly messageId?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<string> {
    const messageId = more.messageId ?? randomUUID().replaceAll('-', '');
    await this.#publisher.send(
      {
        exchange: this.#exchange,
        routingKey: topic,
        messageId,
        type: `RockBot.A2A.${type}`,
        correlationId: more.correlationId ?? '',
        replyTo: more.replyTo ?? '',
        timestamp: Math.floor(Date.now() / 1000),
        contentType: 'application/json',
        durable: true,
        headers: { 'rb-source': this.#name, ...more.headers },
      },
      Buffer.from(JSON.stringify(body)),
    );
    return messageId;
  }

  of(type: string): readonly Envelope[] {
    return this.received.filter((each) => each.type === `RockBot.A2A.${type}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel?.close();
    await Promise.all(this.#handling);
    await this.#publisher.close();
    this.#connection.unsafeDestroy();
  }
}

function toEnvelope(message: AsyncMessage): Envelope {
  const body: unknown = message.body;
  const parsed: unknown = Buffer.isBuffer(body) ? JSON.parse(body.toString('utf8')) : body;
  return {
    topic: message.routingKey,
    type: message.type ?? '',
    correlationId: message.correlationId ?? '',
    replyTo: message.replyTo ?? '',
    messageId: message.messageId ?? '',
    headers: message.headers ?? {},
    body: parsed as Readonly<Record<string, unknown>>,
  };
}

import type { Connection } from 'rabbitmq-client';
import { invalidConfiguration, LegateError } from '../../../protocol/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { DeclaredObject, QueueSettings } from '../bus.ts';
import type { RabbitPublisher } from './publisher.ts';
import { type PlannedQueue, planQueues } from './queue-plan.ts';
import { type Topology, withChannel } from './topology.ts';
import { fromWire, toEnvelopeAgain } from './wire.ts';

const unnamed = { newId: () => 'unknown' };

/**
 * Replaces queues that exist with other arguments, and keeps their messages.
 *
 * The migration moves the messages of each queue to a second queue, which also gets new messages meanwhile.
 * It then deletes the first queue, declares it again, and moves the messages back. A message can exist twice
 * in between, but never gets lost; consumers deduplicate. The next migration continues an interrupted one.
 */
export class Migration {
  readonly #connection: Connection;
  readonly #publisher: RabbitPublisher;
  readonly #topology: Topology;
  readonly #logger: Logger;

  constructor(options: {
    connection: Connection;
    publisher: RabbitPublisher;
    topology: Topology;
    logger: Logger;
  }) {
    this.#connection = options.connection;
    this.#publisher = options.publisher;
    this.#topology = options.topology;
    this.#logger = options.logger;
  }

  async migrate(
    settings: QueueSettings,
    states: readonly DeclaredObject[],
  ): Promise<readonly DeclaredObject[]> {
    const { main, dead, retries } = planQueues(settings, this.#topology.layout);
    const planned = new Map(
      [main, ...(dead === undefined ? [] : [dead]), ...retries].map((each) => [each.queue, each]),
    );
    const after: DeclaredObject[] = [];
    for (const { name, state } of states) if (state === 'differs') await this.#checkUnused(name);
    for (const found of states) {
      const queue = planned.get(found.name);
      if (queue === undefined || found.state !== 'differs') {
        after.push(found);
        continue;
      }
      await this.#replace(queue);
      after.push({ ...found, state: 'migrated' });
    }
    return after;
  }

  async #replace(planned: PlannedQueue): Promise<void> {
    const { queue } = planned;
    const second: PlannedQueue = {
      ...planned,
      queue: `${queue}.migrating`,
      // It neither expires nor drops messages while they wait there.
      arguments: {},
      // Also bound by the name of the first queue, to which retries return.
      bindings: [
        ...planned.bindings,
        { exchange: this.#topology.layout.exchange, routingKey: `${queue}.migrating` },
      ],
    };
    await this.#topology.make(second);
    await this.#unbind(planned);
    await this.#move(queue, second.queue);
    await this.#delete(queue);
    await this.#topology.make(planned);
    await this.#unbind(second);
    await this.#move(second.queue, queue);
    await this.#delete(second.queue);
    this.#logger.info({ queue }, 'bus.queue.migrated');
  }

  /** Checks first, because quorum queues have no conditional deletion. The queue has no bindings any more. */
  async #delete(queue: string): Promise<void> {
    await withChannel(this.#connection, async (channel) => {
      const { messageCount, consumerCount } = await channel.queueDeclare({ queue, passive: true });
      if (messageCount > 0 || consumerCount > 0) {
        throw new LegateError('UNAVAILABLE', `queue ${queue} is in use again: migrate again`);
      }
      await channel.queueDelete({ queue });
    });
  }

  async #checkUnused(queue: string): Promise<void> {
    const { consumerCount } = await withChannel(this.#connection, (channel) =>
      channel.queueDeclare({ queue, passive: true }),
    );
    if (consumerCount === 0) return;
    throw invalidConfiguration(
      `queue ${queue} has ${consumerCount} consumers: stop the workers of this agent, then migrate again`,
    );
  }

  async #unbind({ queue, bindings }: PlannedQueue): Promise<void> {
    await withChannel(this.#connection, async (channel) => {
      for (const binding of bindings) await channel.queueUnbind({ queue, ...binding });
    });
  }

  /** Acknowledges each message only after the broker has confirmed its copy. */
  async #move(from: string, to: string): Promise<void> {
    const { exchange } = this.#topology.layout;
    await withChannel(this.#connection, async (channel) => {
      for (;;) {
        const received = await channel.basicGet({ queue: from });
        if (received === undefined) return;
        const { message, attempt, death, refusal } = fromWire(received, unnamed);
        if (refusal !== undefined) {
          throw invalidConfiguration(
            `message ${message.id} in ${from} can't be moved (${refusal}): remove it with "legate bus purge ${from}" or the broker's own tools, then migrate again`,
          );
        }
        const envelope = toEnvelopeAgain(message, { attempt, ...death });
        await this.#publisher.send(
          { ...envelope, exchange, routingKey: to, mandatory: true },
          message.body,
          { confirm: true },
        );
        channel.basicAck({ deliveryTag: received.deliveryTag });
      }
    });
  }
}

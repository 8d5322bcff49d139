import { z } from 'zod';
import { present } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { BrokerBus } from './broker-bus.ts';
import type { Bus } from './bus.ts';
import type { MemoryBusOptions } from './memory-broker.ts';
import type { RabbitBusOptions } from './rabbitmq/rabbit-broker.ts';

/**
 * Which bus to open.
 * @example const options: BusOptions = { type: 'rabbitmq', url: 'amqps://broker.example/agents' };
 */
export type BusOptions =
  | ({ readonly type: 'memory' } & MemoryBusOptions)
  | ({ readonly type: 'rabbitmq' } & RabbitBusOptions);

/**
 * Opens a bus. The client library of a broker is loaded on demand.
 * @example await using bus = await openBus({ type: 'rabbitmq', url: 'amqp://localhost' })
 */
export async function openBus(options: BusOptions): Promise<Bus> {
  switch (options.type) {
    case 'memory': {
      const { MemoryBroker } = await import('./memory-broker.ts');
      return new BrokerBus(new MemoryBroker(options), options);
    }
    case 'rabbitmq': {
      const { RabbitBroker } = await import('./rabbitmq/rabbit-broker.ts');
      return new BrokerBus(await RabbitBroker.open(options), options);
    }
  }
}

const positive = z.number().int().positive();

/** Signing keys and trusted senders, which `readBusIdentity` reads. */
const identity = {
  signing_key: z.unknown().optional(),
  trusted: z.unknown().optional(),
  require_signed: z.unknown().optional(),
};

const schema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('memory'),
    max_body_bytes: positive.optional(),
    ...identity,
  }),
  z.strictObject({
    type: z.literal('rabbitmq'),
    ...identity,
    url: z.string().min(1),
    exchange: z.string().optional(),
    queue_type: z.enum(['quorum', 'classic']).optional(),
    connection_name: z.string().optional(),
    /** Milliseconds. */
    connect_timeout: positive.optional(),
    publish_timeout: positive.optional(),
    max_body_bytes: positive.optional(),
  }),
]);

/**
 * Reads the section `bus` of a configuration: `{ type: rabbitmq, url: ${AMQP_URL} }` or
 * `{ type: memory }`. Throws `CONFIGURATION_INVALID` with the key at fault, and never with a value.
 * @example
 * const options = readBusOptions({ type: 'rabbitmq', url: 'amqp://localhost' });
 * await using bus = await openBus(options);
 */
export function readBusOptions(section: unknown): BusOptions {
  const parsed = schema.safeParse(section);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${['bus', ...path].join('.')}: ${message}`,
    );
    throw new LegateError('CONFIGURATION_INVALID', problems.join('; '));
  }
  const { data } = parsed;
  const common = present({ maxBodyBytes: data.max_body_bytes });
  if (data.type === 'memory') return { type: 'memory', ...common };
  return {
    type: 'rabbitmq',
    url: data.url,
    ...common,
    ...present({
      exchange: data.exchange,
      queueType: data.queue_type,
      connectionName: data.connection_name,
      connectTimeoutMs: data.connect_timeout,
      publishTimeoutMs: data.publish_timeout,
    }),
  };
}

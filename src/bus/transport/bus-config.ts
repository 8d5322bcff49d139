import { z } from 'zod';
import { present } from '../../config/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { BusOptions } from './open-bus.ts';

const positive = z.number().int().positive();

/** Who sends and who is believed: read where the keys are, see `readBusIdentity`. */
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
    const problems = parsed.error.issues.map(({ path, message }) => {
      const place = ['bus', ...path].join('.');
      return `${place}: ${message}`;
    });
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

import { z } from 'zod';
import { type ClientTlsFiles, present } from '../../config/index.ts';
import { clientTls } from '../../net/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { systemScheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { type Broker, BrokerBus } from './broker-bus.ts';
import type { Bus, BusQueueOptions } from './bus.ts';
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
      return new BrokerBus(await inDialect(new MemoryBroker(options), options), options);
    }
    case 'rabbitmq': {
      const { RabbitBroker } = await import('./rabbitmq/rabbit-broker.ts');
      return new BrokerBus(await inDialect(await RabbitBroker.open(options), options), options);
    }
  }
}

async function inDialect(broker: Broker, { dialect, scheduler }: BusOptions): Promise<Broker> {
  if (dialect !== 'rockbot') return broker;
  const { RockbotBroker } = await import('../rockbot/rockbot-broker.ts');
  const ids = scheduler ?? systemScheduler;
  return new RockbotBroker({ broker, newId: () => ids.uuid() });
}

const positive = z.number().int().positive();

/** Signing keys and trusted senders, which `readBusIdentity` reads. */
const identity = {
  signing_key: z.unknown().optional(),
  trusted: z.unknown().optional(),
  require_signed: z.unknown().optional(),
};

/** Limits of queues. All times are milliseconds. */
const queueLimits = z
  .strictObject({
    max_messages: positive.optional(),
    message_ttl: positive.optional(),
    retry_delays: z.array(positive).max(20).optional(),
    consumer_timeout: positive.optional(),
    reply_expiry: positive.optional(),
    dead_letter_ttl: positive.optional(),
    dead_letter_max_messages: positive.optional(),
    dead_letter_max_bytes: positive.optional(),
  })
  .optional();

const schema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('memory'),
    max_body_bytes: positive.optional(),
    dialect: z.enum(['legate', 'rockbot']).optional(),
    queues: queueLimits,
    ...identity,
  }),
  z.strictObject({
    type: z.literal('rabbitmq'),
    ...identity,
    url: z.string().min(1),
    hosts: z.array(z.string().min(1)).min(1).max(100).optional(),
    vhost: z.string().min(1).optional(),
    /** Files with certificates and a key as PEM. */
    ca: z.string().min(1).optional(),
    cert: z.string().min(1).optional(),
    key: z.string().min(1).optional(),
    passphrase: z.string().min(1).optional(),
    auth: z.enum(['plain', 'external']).optional(),
    /** Seconds. */
    heartbeat: z.number().int().min(0).max(3_600).optional(),
    /** Bytes. */
    frame_max: z.number().int().min(8_192).max(1_048_576).optional(),
    exchange: z.string().optional(),
    dialect: z.enum(['legate', 'rockbot']).optional(),
    queue_type: z.enum(['quorum', 'classic']).optional(),
    declare: z.boolean().optional(),
    queues: queueLimits,
    management_url: z.string().min(1).optional(),
    connection_name: z.string().optional(),
    /** Milliseconds. */
    connect_timeout: positive.optional(),
    publish_timeout: positive.optional(),
    max_body_bytes: positive.optional(),
  }),
]);

/**
 * Reads the section `bus` of a configuration: `{ type: rabbitmq, url: ${AMQP_URL} }` or
 * `{ type: memory }`. Files are relative to `directory`, and read again when they change. Throws
 * `CONFIGURATION_INVALID` with the invalid key, never with its value.
 * @example
 * const options = readBusOptions({ type: 'rabbitmq', url: 'amqp://localhost' });
 * await using bus = await openBus(options);
 */
export function readBusOptions(
  section: unknown,
  { directory = '.', logger }: { readonly directory?: string; readonly logger?: Logger } = {},
): BusOptions {
  const parsed = schema.safeParse(section);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${['bus', ...path].join('.')}: ${message}`,
    );
    throw invalidConfiguration(problems.join('; '));
  }
  const { data } = parsed;
  const common = present({
    maxBodyBytes: data.max_body_bytes,
    dialect: data.dialect,
    queues: queueOptions(data.queues),
  });
  if (data.type === 'memory') return { type: 'memory', ...common };
  const files = busTlsFiles(data);
  return {
    type: 'rabbitmq',
    url: data.url,
    ...common,
    ...(files !== undefined && {
      tls: clientTls(files, { what: 'the message broker', keyNames, directory, logger }),
    }),
    ...present({
      hosts: data.hosts,
      vhost: data.vhost,
      auth: data.auth,
      heartbeat: data.heartbeat,
      frameMax: data.frame_max,
      exchange: data.exchange,
      queueType: data.queue_type,
      declares: data.declare,
      managementUrl: data.management_url,
      connectionName: data.connection_name,
      connectTimeoutMs: data.connect_timeout,
      publishTimeoutMs: data.publish_timeout,
    }),
  };
}

const keyNames = {
  ca: 'bus.ca',
  cert: 'bus.cert',
  key: 'bus.key',
  passphrase: 'bus.passphrase',
};

/**
 * The files of certificates that the section `bus` names; undefined where it names none.
 * @example const files = busTlsFiles({ ca: 'ca.pem' });
 */
export function busTlsFiles({
  ca,
  cert,
  key,
  passphrase,
}: Readonly<Record<string, unknown>>): ClientTlsFiles | undefined {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  if ([ca, cert, key].every((value) => text(value) === undefined)) return undefined;
  return { ca: text(ca), cert: text(cert), key: text(key), passphrase: text(passphrase) };
}

function queueOptions(section: z.infer<typeof queueLimits>): BusQueueOptions | undefined {
  if (section === undefined) return undefined;
  const deadLetters = present({
    ttlMs: section.dead_letter_ttl,
    maxMessages: section.dead_letter_max_messages,
    maxBytes: section.dead_letter_max_bytes,
  });
  return present({
    maxMessages: section.max_messages,
    messageTtlMs: section.message_ttl,
    retryDelaysMs: section.retry_delays,
    consumerTimeoutMs: section.consumer_timeout,
    replyExpiresAfterMs: section.reply_expiry,
    deadLetters: Object.keys(deadLetters).length > 0 ? deadLetters : undefined,
  });
}

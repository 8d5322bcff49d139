import type { QueueSettings } from '../bus.ts';

export type QueueType = 'quorum' | 'classic';

/** How queues are named and declared on a broker. */
export interface QueueLayout {
  readonly exchange: string;
  readonly queueType: QueueType;
  /** `rockbot`: as RockBot declares them, so that both can use one queue. @default 'legate' */
  readonly dialect?: 'legate' | 'rockbot' | undefined;
}

type Arguments = Record<string, string | number>;

interface Binding {
  readonly exchange: string;
  readonly routingKey: string;
}

/** A queue to declare, with its arguments and bindings. */
export interface PlannedQueue {
  readonly queue: string;
  /** Belongs to one connection and is deleted with it. */
  readonly isExclusive: boolean;
  /** Belongs to one process or caller, under a name that administrators can't know in advance. */
  readonly isOwn: boolean;
  readonly arguments: Arguments;
  readonly bindings: readonly Binding[];
}

/** All queues behind one queue of the bus. */
export interface QueuePlan {
  readonly main: PlannedQueue;
  readonly dead: PlannedQueue | undefined;
  readonly retries: readonly (PlannedQueue & { readonly delayMs: number })[];
}

const day = 24 * 60 * 60 * 1000;

export function deadQueueName(
  queueName: string,
  { dialect }: Pick<QueueLayout, 'dialect'>,
): string {
  return dialect === 'rockbot' ? `${queueName}.dlq` : `${queueName}.dead`;
}

export function retryQueueName(queueName: string, delayMs: number): string {
  return `${queueName}.retry.${delayMs}`;
}

/**
 * The queues of a declaration. Each durable queue is bound to the exchange by its own name as well: dead
 * letters, retries and replays reach it that way. So no client needs permission for the default exchange,
 * with which it could write to every queue.
 */
export function planQueues(settings: QueueSettings, layout: QueueLayout): QueuePlan {
  const { name, deadLetters, exclusive } = settings;
  const { exchange } = layout;
  const isQuorum = isReplicated(settings, layout);
  const byName = (queue: string): readonly Binding[] => [{ exchange, routingKey: queue }];
  const byTopic = settings.topics.map((routingKey) => ({ exchange, routingKey }));
  const deadQueue = deadQueueName(name, layout);
  const isOwn = exclusive || settings.expiresAfterMs !== undefined;
  return {
    main: {
      queue: name,
      isExclusive: exclusive,
      isOwn,
      arguments: mainArguments(settings, layout, isQuorum),
      bindings: exclusive ? byTopic : [...byTopic, ...byName(name)],
    },
    dead:
      deadLetters === undefined
        ? undefined
        : {
            queue: deadQueue,
            isExclusive: false,
            isOwn,
            arguments: {
              'x-message-ttl': deadLetters.ttlMs,
              'x-max-length': deadLetters.maxMessages,
              'x-max-length-bytes': deadLetters.maxBytes,
              'x-overflow': 'drop-head',
              // Reading a dead letter counts as a delivery.
              ...(isQuorum && { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000 }),
              ...(settings.expiresAfterMs !== undefined && { 'x-expires': deadLetters.ttlMs }),
            },
            bindings: [...byName(deadQueue), ...deadTopics(settings, layout)],
          },
    retries: settings.retryDelaysMs.map((delayMs) => ({
      delayMs,
      queue: retryQueueName(name, delayMs),
      isExclusive: false,
      isOwn,
      arguments: retryArguments(settings, layout, { delayMs, isQuorum }),
      bindings: byName(retryQueueName(name, delayMs)),
    })),
  };
}

/** Queues that expire soon after their process are not replicated. */
function isReplicated(settings: QueueSettings, { queueType, dialect }: QueueLayout): boolean {
  const { exclusive, expiresAfterMs = day } = settings;
  return queueType === 'quorum' && dialect !== 'rockbot' && !exclusive && expiresAfterMs >= day;
}

function mainArguments(settings: QueueSettings, layout: QueueLayout, isQuorum: boolean): Arguments {
  const { name, messageTtlMs, expiresAfterMs, maxMessages, deadLetters } = settings;
  const expiry = {
    ...(messageTtlMs !== undefined && { 'x-message-ttl': messageTtlMs }),
    ...(expiresAfterMs !== undefined && { 'x-expires': expiresAfterMs }),
  };
  if (layout.dialect === 'rockbot') {
    const [topic = name] = settings.topics;
    return {
      ...expiry,
      ...(deadLetters !== undefined && {
        'x-dead-letter-exchange': rockbotDeadExchange(layout),
        'x-dead-letter-routing-key': topic,
      }),
    };
  }
  return {
    'x-max-length': maxMessages,
    // Exclusive queues, such as a gateway's replies, may lose messages that are not consumed in time.
    'x-overflow': settings.exclusive ? 'drop-head' : 'reject-publish',
    // A message that crashes its consumers becomes a dead letter after this number of deliveries.
    ...(isQuorum && { 'x-queue-type': 'quorum', 'x-delivery-limit': 20 }),
    ...expiry,
    ...(settings.consumerTimeoutMs !== undefined && {
      'x-consumer-timeout': settings.consumerTimeoutMs,
    }),
    ...(deadLetters !== undefined && {
      'x-dead-letter-exchange': layout.exchange,
      'x-dead-letter-routing-key': deadQueueName(name, layout),
      // Keeps a dead letter until its queue has accepted it.
      ...(isQuorum && { 'x-dead-letter-strategy': 'at-least-once' }),
    }),
  };
}

function retryArguments(
  settings: QueueSettings,
  { exchange }: QueueLayout,
  { delayMs, isQuorum }: { readonly delayMs: number; readonly isQuorum: boolean },
): Arguments {
  return {
    'x-message-ttl': delayMs,
    'x-dead-letter-exchange': exchange,
    'x-dead-letter-routing-key': settings.name,
    // The queue must outlive its messages until they move back.
    ...(settings.expiresAfterMs !== undefined && {
      'x-expires': settings.expiresAfterMs + 2 * delayMs,
    }),
    ...(isQuorum && {
      'x-queue-type': 'quorum',
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    }),
  };
}

function rockbotDeadExchange({ exchange }: QueueLayout): string {
  return `${exchange}.dlx`;
}

/** RockBot's dead letters keep their topic. */
function deadTopics(settings: QueueSettings, layout: QueueLayout): readonly Binding[] {
  if (layout.dialect !== 'rockbot') return [];
  return settings.topics.map((routingKey) => ({
    exchange: rockbotDeadExchange(layout),
    routingKey,
  }));
}

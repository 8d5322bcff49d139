import type { Channel, Connection } from 'rabbitmq-client';
import { errorMessage, invalidConfiguration, LegateError } from '../../../protocol/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { QueueSettings } from '../bus.ts';
import { type PlannedQueue, planQueues, type QueueLayout } from './queue-plan.ts';

export interface TopologyOptions extends QueueLayout {
  readonly connection: Connection;
  /** Declares missing objects. Otherwise a missing exchange or queue of an agent is an error. */
  readonly declares: boolean;
  readonly logger: Logger;
}

/** One queue or exchange after its declaration. */
export interface Declared {
  readonly name: string;
  readonly kind: 'exchange' | 'queue';
  /** `differs`: it exists with other arguments, which only a migration changes. */
  readonly state: 'made' | 'present' | 'differs';
}

/**
 * Declares exchanges, queues and bindings. Existing ones are used as they are: a passive declaration needs
 * no permission to configure, and changing arguments would mean deleting a queue with its messages.
 */
export class Topology {
  readonly #options: TopologyOptions;
  /** Queues whose arguments were compared since the start. */
  readonly #compared = new Set<string>();

  constructor(options: TopologyOptions) {
    this.#options = options;
  }

  get layout(): QueueLayout {
    return this.#options;
  }

  async ensureExchange(): Promise<void> {
    const { exchange } = this.#options;
    await this.#ensureExchange(exchange);
  }

  /**
   * Declares a queue, its bindings and its dead-letter queue, if they are missing. Returns the name to
   * consume: an exclusive queue has a new one each time, because the broker may keep the former one until
   * it detects the lost connection. `differs`: the queue exists with other arguments; reported once.
   */
  async ensure(
    settings: QueueSettings,
    suffix: string,
  ): Promise<{ readonly queue: string; readonly differs: boolean }> {
    const { main, dead } = planQueues(settings, this.#options);
    for (const exchange of exchangesOf([main, dead])) await this.#ensureExchange(exchange);
    if (settings.exclusive) {
      const queue = `${main.queue}.${suffix}`;
      await this.make({ ...main, queue });
      return { queue, differs: false };
    }
    if (dead !== undefined) await this.#ensureQueue(dead);
    const differs = await this.#ensureQueue(main);
    return { queue: main.queue, differs };
  }

  /** Declares the queue where messages wait for a retry; the broker then moves them back. */
  async ensureRetry(settings: QueueSettings, delayMs: number): Promise<void> {
    const { retries } = planQueues(settings, this.#options);
    const planned = retries.find((each) => each.delayMs === delayMs);
    if (planned !== undefined) await this.#ensureQueue(planned);
  }

  /** Declares all objects of a queue, and compares existing ones: for `legate bus declare`. */
  async declare(settings: QueueSettings): Promise<readonly Declared[]> {
    const { main, dead, retries } = planQueues(settings, this.#options);
    const states: Declared[] = [];
    for (const exchange of exchangesOf([main, dead])) {
      const state = (await this.#ensureExchange(exchange)) ? 'made' : 'present';
      states.push({ name: exchange, kind: 'exchange', state });
    }
    for (const planned of [...(dead === undefined ? [] : [dead]), main, ...retries]) {
      const exists = await this.exists(planned.queue);
      if (!exists) await this.make(planned);
      else await this.#bind(planned);
      const isSame = !exists || (await this.#compare(planned));
      const state = !exists ? 'made' : isSame ? 'present' : 'differs';
      states.push({ name: planned.queue, kind: 'queue', state });
    }
    return states;
  }

  async exists(queue: string): Promise<boolean> {
    const { connection } = this.#options;
    return exists(() => withChannel(connection, (it) => it.queueDeclare({ queue, passive: true })));
  }

  /** Binds a queue by its own name, by which dead letters, retries and replays reach it. */
  bindByName(queue: string): Promise<void> {
    const { exchange } = this.#options;
    return this.#bind({ queue, bindings: [{ exchange, routingKey: queue }] });
  }

  /** Returns whether the queue exists with other arguments. */
  async #ensureQueue(planned: PlannedQueue): Promise<boolean> {
    const { logger } = this.#options;
    const { queue } = planned;
    const declares = this.#options.declares || planned.isOwn;
    if (!(await this.exists(queue))) {
      if (!declares) throw missing(queue);
      await this.make(planned);
      return false;
    }
    if (!declares) return false;
    await this.#bind(planned);
    if (this.#compared.has(queue)) return false;
    this.#compared.add(queue);
    if (await this.#compare(planned)) return false;
    const fix = 'stop its workers and run "legate bus declare <agent> --migrate"';
    logger.warn({ queue, fix }, 'bus.queue.arguments_differ');
    return true;
  }

  /** Returns whether the exchange was missing, and is now declared. */
  async #ensureExchange(exchange: string): Promise<boolean> {
    const { connection, declares } = this.#options;
    const passive = { exchange, passive: true };
    if (await exists(() => withChannel(connection, (it) => it.exchangeDeclare(passive)))) {
      return false;
    }
    if (!declares) throw missing(`exchange ${exchange}`);
    const fix = 'run "legate bus declare <agent>" as a user with configure permission';
    await permitted({ what: `there is no exchange ${exchange}`, fix }, () =>
      withChannel(connection, (channel) =>
        channel.exchangeDeclare({ exchange, type: 'topic', durable: true }),
      ),
    );
    return true;
  }

  /** Declares a queue and its bindings. */
  async make(planned: PlannedQueue): Promise<void> {
    const { connection } = this.#options;
    const { queue, isExclusive, isOwn, bindings } = planned;
    const fix = isOwn
      ? `grant it the permissions configure, write and read for ${ownPattern(queue)}, and write and read for the exchange ${this.#options.exchange}`
      : 'run "legate bus declare <agent>" as a user with configure permission';
    const durability = isExclusive ? { exclusive: true, autoDelete: true } : { durable: true };
    await permitted({ what: `there is no queue ${queue}`, fix }, () =>
      withChannel(connection, async (channel) => {
        await channel.queueDeclare({ queue, ...durability, arguments: planned.arguments });
        for (const binding of bindings) await channel.queueBind({ queue, ...binding });
      }),
    );
  }

  /** Binding is idempotent. Without the permission, an administrator has to make the bindings. */
  async #bind({ queue, bindings }: Pick<PlannedQueue, 'queue' | 'bindings'>): Promise<void> {
    const { connection, logger } = this.#options;
    try {
      await withChannel(connection, async (channel) => {
        for (const binding of bindings) await channel.queueBind({ queue, ...binding });
      });
    } catch (error) {
      if (codeOf(error) !== 'ACCESS_REFUSED') throw error;
      logger.debug({ queue, error }, 'bus.queue.bind_refused');
    }
  }

  /** Whether a queue has the planned arguments; also true if this client may not compare them. */
  async #compare(planned: PlannedQueue): Promise<boolean> {
    const { connection, logger } = this.#options;
    const { queue } = planned;
    try {
      await withChannel(connection, (channel) =>
        channel.queueDeclare({ queue, durable: true, arguments: planned.arguments }),
      );
      return true;
    } catch (error) {
      if (codeOf(error) === 'PRECONDITION_FAILED') return false;
      if (codeOf(error) !== 'ACCESS_REFUSED') throw error;
      logger.debug({ queue, error }, 'bus.queue.compare_refused');
      return true;
    }
  }
}

function exchangesOf(planned: readonly (PlannedQueue | undefined)[]): readonly string[] {
  const bindings = planned.flatMap((each) => each?.bindings ?? []);
  return [...new Set(bindings.map(({ exchange }) => exchange))];
}

/** Whether a passive declaration finds its object. */
async function exists(look: () => Promise<unknown>): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (codeOf(error) === 'NOT_FOUND') return false;
    throw error;
  }
}

/** The pattern of the names of queues that belong to the same agent, gateway or caller. */
function ownPattern(queue: string): string {
  const [prefix, , owner = ''] = queue.split('.');
  const name = owner.replace(/-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '');
  return `^${prefix}\\.[a-z]+\\.${name}([.-].*)?$`;
}

async function permitted<T>(
  { what, fix }: { readonly what: string; readonly fix: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (codeOf(cause) !== 'ACCESS_REFUSED') throw cause;
    throw new LegateError(
      'PERMISSION_DENIED',
      `${what}, and this user lacks the permission to declare it: ${fix} (${errorMessage(cause)})`,
      { cause },
    );
  }
}

function missing(what: string): LegateError {
  return invalidConfiguration(
    `there is no ${what.startsWith('exchange') ? what : `queue ${what}`}, and bus.declare is false: run "legate bus declare <agent>" first`,
  );
}

/** Runs work on a separate channel, because a refused declaration closes its channel. */
export async function withChannel<T>(
  connection: Connection,
  work: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await connection.acquire({ emitErrorsFromChannel: true });
  channel.on('error', () => undefined);
  try {
    return await work(channel);
  } finally {
    await channel.close();
  }
}

/** The error code of the broker or the library. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

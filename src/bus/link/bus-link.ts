import {
  busNameOf,
  type Directory,
  type Invocation,
  type PeerEvent,
  type PeerLink,
  type PeerListener,
  type PeerTransport,
  progressOf,
} from '../../peers/index.ts';
import {
  errorMessage,
  Json,
  type JsonValue,
  LegateError,
  parseJson,
  taskIdsOf,
  taskStatusOf,
} from '../../protocol/index.ts';
import type { RecordStore, Store } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import { type Logger, LogSummary, silentLogger } from '../../telemetry/index.ts';
import { KeyedQueue } from '../../time/index.ts';
import {
  headerNames,
  type Identification,
  identify,
  readError,
  readPresence,
  readResult,
  readUpdate,
  sendCancel,
  Sender,
  sendQuery,
  sendTask,
} from '../exchange.ts';
import type { MessageSigner } from '../identity/signer.ts';
import {
  type AckDecision,
  type Bus,
  type Consumption,
  type Delivery,
  done,
  type Queue,
} from '../transport/bus.ts';
import { ownName, shortened } from '../transport/checks.ts';
import { discoveryQueue, ownResponseQueue, responseQueue } from '../transport/topics.ts';

/**
 * The bus, and our identity on it.
 * @example const options: BusLinkOptions = { bus, ...(await readBusIdentity(section, { directory, issuer })) };
 */
export interface BusLinkOptions extends Identification {
  readonly bus: Bus;
  /** Signs all messages. */
  readonly signer?: MessageSigner;
}

/**
 * Peers on the bus, for `joinPeers`.
 * @example
 * await using bus = await openBus({ type: 'rabbitmq', url });
 * await using network = await joinPeers({ name: 'me', store, links: [busLink({ bus })] });
 */
export function busLink(options: BusLinkOptions): PeerLink {
  return {
    async join({ name, store, directory, isShortLived, scheduler, logger }) {
      const replies = isShortLived
        ? ownResponseQueue(ownName(name, scheduler))
        : await lastingReplies(name, store, scheduler, options.bus);
      return {
        transport: new BusTransport({ ...options, name, directory, logger, replies }),
        async discover() {
          const listener = ownName(name, scheduler);
          const listening = await listenForAgents(options, directory, listener, logger);
          // All agents announce themselves now, instead of within two minutes.
          const sender = new Sender({ bus: options.bus, name, signer: options.signer });
          try {
            await sendQuery(sender);
          } catch (error) {
            await listening.close();
            throw error;
          }
          return listening;
        },
      };
    },
  };
}

/**
 * Adds agents that announce themselves on the bus to the directory. `listener` is unique for each
 * process, since every process gets every announcement.
 */
function listenForAgents(
  options: BusLinkOptions,
  directory: Directory,
  listener: string,
  logger: Logger,
): Promise<Consumption> {
  const refusalLogger = new LogSummary(logger, 'count');
  return options.bus.consume(
    discoveryQueue(listener),
    async (delivery) => {
      try {
        const { method, subject } = await identify(delivery, options);
        const isProved = method === 'message-token';
        const { isGone, at } = readPresence(delivery.correlationId, delivery.headers);
        await directory.announced({
          card: parseJson(delivery.body),
          // An agent that signs its messages has to sign its departure.
          isGone: isGone && !(isProved && at === undefined),
          sender: isProved ? subject : undefined,
          ...(isProved && at !== undefined && { at }),
        });
      } catch (error) {
        // A refused announcement changes nothing.
        if (!(error instanceof LegateError) || error.code === 'STORE_FAILED') throw error;
        const from = delivery.headers[headerNames.from];
        refusalLogger.warn({ from, reason: error.message }, 'bus.announcement.refused');
      }
      return done;
    },
    // In order, so that no agent reappears after its departure.
    { prefetch: 20, concurrency: 1 },
  );
}

const hour = 60 * 60 * 1000;

/** A queue whose replies wait for the next process on the same store; a store in memory has no next one. */
async function lastingReplies(
  name: string,
  store: Store,
  scheduler: Scheduler,
  { queues }: Bus,
): Promise<Queue> {
  const own = await replyName(name, store.records, scheduler);
  const expiresAfterMs = store.driver === 'memory' ? hour : queues.replyExpiresAfterMs;
  return responseQueue(own, { expiresAfterMs });
}

/**
 * The name of an agent's reply queue: its own name and the id of its store. The next process on the
 * same store consumes the answers to its predecessor; two stores never share a queue.
 */
export async function replyName(
  name: string,
  records: RecordStore,
  scheduler: Scheduler,
): Promise<string> {
  return `${shortened(name)}-${await storeId(records, scheduler)}`;
}

const storeIdRecord = { space: 'bus', key: 'store-id' } as const;

/** Created on first use, and kept as long as the store. */
async function storeId(records: RecordStore, scheduler: Scheduler): Promise<string> {
  const now = scheduler.now();
  const value = Json.of<JsonValue>(scheduler.uuid());
  await records.write([{ ...storeIdRecord, value, ifVersion: 0 }], now);
  const stored = await records.get(storeIdRecord.space, storeIdRecord.key, now);
  if (typeof stored?.value.value === 'string') return stored.value.value;
  throw new LegateError('STORE_FAILED', "the id of the store can't be read");
}

/** How peers are called over the bus. */
export interface BusTransportOptions extends Identification {
  readonly bus: Bus;
  /** Our name on the bus. */
  readonly name: string;
  readonly directory: Directory;
  readonly signer?: MessageSigner;
  /**
   * The reply queue, with one topic. It must belong to one store only: another store couldn't match
   * the replies to its calls. @default responseQueue(name)
   */
  readonly replies?: Queue;
  readonly logger?: Logger;
}

/**
 * A transport to peers on the bus. Replies wait in a durable queue, so that none is lost while this
 * process is down. The queue exists only while replies can arrive: from the first call until a process
 * that owns its store shuts down without open calls.
 */
export class BusTransport implements PeerTransport {
  readonly transportKind = 'bus';
  readonly deduplicates = true;
  readonly #options: BusTransportOptions;
  readonly #sender: Sender;
  readonly #strayLogger: LogSummary;
  readonly #replies: Queue;
  /** Handles the replies of each task in order. */
  readonly #queue = new KeyedQueue();
  #listener: PeerListener | undefined;
  #consumption: Promise<Consumption> | undefined;

  constructor(options: BusTransportOptions) {
    this.#options = options;
    this.#strayLogger = new LogSummary(options.logger ?? silentLogger, 'count');
    this.#replies = options.replies ?? responseQueue(options.name);
    const { bus, name, signer } = options;
    this.#sender = new Sender({ bus, name, signer });
  }

  proves({ agent }: Invocation): boolean {
    return this.#options.verifier?.knows(agent) === true;
  }

  async start(listener: PeerListener): Promise<void> {
    const { bus } = this.#options;
    this.#listener = listener;
    // A queue that can't be inspected may have replies.
    const isThere = await bus.inspect(this.#replies.name).then(
      (state) => state !== undefined,
      () => true,
    );
    if (isThere) await this.#consume();
  }

  async send(invocation: Invocation): Promise<void> {
    await this.#consume();
    const { message } = invocation;
    const { metadata } = message;
    const request = { message, ...(metadata !== undefined && { metadata }) };
    const headers = { [headerNames.updates]: 'status' };
    const exchange = { ...this.#exchange(invocation), headers };
    await sendTask(this.#sender, await this.#nameOf(invocation), request, exchange);
  }

  /** The replies wait in the queue. */
  async resume(): Promise<void> {
    await this.#consume();
  }

  async cancel(invocation: Invocation): Promise<void> {
    const id = invocation.remote?.taskId ?? invocation.id;
    const agent = await this.#nameOf(invocation);
    await sendCancel(this.#sender, agent, id, this.#exchange(invocation));
  }

  async stop({ expectsAnswers }: { readonly expectsAnswers: boolean }): Promise<void> {
    const consumption = await this.#consumption?.catch(() => undefined);
    if (consumption === undefined) return;
    await consumption.close();
    if (!expectsAnswers) await this.#deleteReplies();
  }

  /** A later start declares the queue again. If the broker is unavailable, the queue expires there. */
  async #deleteReplies(): Promise<void> {
    const { bus, logger } = this.#options;
    const { name } = this.#replies;
    try {
      const { messages = 1, consumers = 1, deadLetters = 1 } = (await bus.inspect(name)) ?? {};
      if (messages + consumers + deadLetters === 0) await bus.delete(name);
    } catch (error) {
      logger?.debug({ queue: name, error }, 'bus.queue.delete_failed');
    }
  }

  /** Declares and consumes the reply queue, once. The next call retries a failure. */
  async #consume(): Promise<void> {
    const take = (delivery: Delivery): Promise<AckDecision> => this.#enqueue(delivery);
    const consuming = (this.#consumption ??= this.#options.bus.consume(this.#replies, take, {
      prefetch: 50,
    }));
    try {
      await consuming;
    } catch (error) {
      if (this.#consumption === consuming) this.#consumption = undefined;
      throw error;
    }
  }

  #exchange({ id }: Invocation): {
    readonly correlationId: string;
    readonly replyTo: string | undefined;
  } {
    return { correlationId: id, replyTo: this.#replies.topics[0] };
  }

  async #nameOf({ agent }: Invocation): Promise<string> {
    const { card } = await this.#options.directory.require(agent);
    const name = card.supportedInterfaces.map(busNameOf).find((each) => each !== undefined);
    if (name !== undefined) return name;
    throw new LegateError('PEER_UNREACHABLE', `${agent} is not on the bus any more`);
  }

  async #enqueue(delivery: Delivery): Promise<AckDecision> {
    const { correlationId } = delivery;
    if (correlationId === undefined) return { kind: 'dead', reason: 'missing correlationId' };
    return this.#queue.run(correlationId, () => this.#handle(delivery, correlationId));
  }

  async #handle(delivery: Delivery, correlationId: string): Promise<AckDecision> {
    // The reply to a cancellation is not needed.
    if (delivery.headers[headerNames.answers] !== undefined) return done;
    let events: readonly PeerEvent[];
    try {
      const requester = this.#options.signer?.issuer;
      const { method, subject } = await identify(delivery, this.#options, { requester });
      const proof = method === 'message-token' ? { sender: subject } : {};
      events = eventsOf(delivery).map((event) => ({ ...event, ...proof }));
    } catch (error) {
      return { kind: 'dead', reason: errorMessage(error) };
    }
    for (const event of events) {
      if (await this.#listener?.(correlationId, event)) continue;
      // The call belongs to another store or has expired, or the reply has the wrong sender.
      const from = delivery.headers[headerNames.from];
      this.#strayLogger.warn({ correlationId, type: delivery.type, from }, 'bus.reply.unmatched');
    }
    return done;
  }
}

/** The events of a message; throws for other types. */
function eventsOf({ type, body }: Delivery): readonly PeerEvent[] {
  if (type === 'result') return [{ kind: 'answer', response: readResult(body) }];
  if (type === 'error') return [{ kind: 'error', error: readError(body) }];
  if (type !== 'update')
    throw new LegateError('INVALID_REQUEST', `unexpected message type "${type}"`);
  const update = readUpdate(body);
  // A worker that took the task over, or that got its message again, sends the task itself.
  const ids = taskStatusOf(update) && taskIdsOf(update);
  if (ids === undefined) return [];
  const progress = progressOf(update).map((each) => ({ kind: 'progress', ...each }) as const);
  return [{ kind: 'known', ...ids }, ...progress];
}

import {
  busNameOf,
  type Directory,
  type Invocation,
  type PeerEvent,
  type PeerListener,
  type PeerTransport,
  progressOf,
} from '../../peers/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { type Logger, LogSummary, silentLogger } from '../../telemetry/index.ts';
import { KeyedQueue } from '../../time/index.ts';
import { headerNames, readError, readResult, readUpdate } from '../exchange/payloads.ts';
import { type Identification, identify, sendCancel, Sender, sendTask } from '../exchange/sender.ts';
import type { MessageSigner } from '../identity/signer.ts';
import {
  type Bus,
  type Consumption,
  type Delivery,
  done,
  type Queue,
  type AckDecision,
} from '../transport/bus.ts';
import { responseQueue } from '../transport/topics.ts';

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
 * process is down.
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
  #consumption: Consumption | undefined;

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
    const take = (delivery: Delivery): Promise<AckDecision> => this.#enqueue(delivery);
    this.#consumption = await bus.consume(this.#replies, take, { prefetch: 50 });
  }

  async send(invocation: Invocation): Promise<void> {
    const { message } = invocation;
    const { metadata } = message;
    const request = { message, ...(metadata !== undefined && { metadata }) };
    const headers = { [headerNames.updates]: 'status' };
    const exchange = { ...this.#exchange(invocation), headers };
    await sendTask(this.#sender, await this.#nameOf(invocation), request, exchange);
  }

  /** Nothing to do: the replies wait in the queue. */
  async resume(): Promise<void> {}

  async cancel(invocation: Invocation): Promise<void> {
    const id = invocation.remote?.taskId ?? invocation.id;
    const agent = await this.#nameOf(invocation);
    await sendCancel(this.#sender, agent, id, this.#exchange(invocation));
  }

  async stop(): Promise<void> {
    await this.#consumption?.close();
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
      const { method, subject } = await identify(delivery, this.#options);
      const proof = method === 'message-token' ? { sender: subject } : {};
      events = eventsOf(delivery).map((event) => ({ ...event, ...proof }));
    } catch (error) {
      return { kind: 'dead', reason: error instanceof Error ? error.message : String(error) };
    }
    for (const event of events) {
      if (await this.#listener?.(correlationId, event)) continue;
      // Not a call of this store, expired, or from another sender.
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
  if (!('statusUpdate' in update)) return [];
  const { taskId, contextId } = update.statusUpdate;
  const text = progressOf(update);
  const known = { kind: 'known', taskId, contextId } as const;
  return text === '' ? [known] : [known, { kind: 'progress', text }];
}

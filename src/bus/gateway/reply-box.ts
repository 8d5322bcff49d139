import { type Logger, LogSummary } from '../../telemetry/index.ts';
import { headerNames } from '../exchange/payloads.ts';
import { type Identification, identify } from '../exchange/sender.ts';
import {
  type Bus,
  type BusMessage,
  type Consumption,
  type Delivery,
  done,
  type AckDecision,
} from '../transport/bus.ts';
import { ownResponseQueue, topics } from '../transport/topics.ts';

/** Updates that wait for a slow reader; beyond, they are dropped, and the result makes up for them. */
const mostWaiting = 1_000;

export interface ReplyBoxOptions extends Identification {
  readonly bus: Bus;
  /** Of this process alone. */
  readonly name: string;
  readonly logger: Logger;
}

/** The answers to one task, in the order in which they came. */
export class Inbox {
  /** Who must have signed, where signatures are looked at. */
  readonly agent: string;
  #waiting: BusMessage[] = [];
  #wake: (() => void) | undefined;

  constructor(agent: string) {
    this.agent = agent;
  }

  put(message: BusMessage): void {
    if (message.type === 'update' && this.#waiting.length >= mostWaiting) return;
    this.#waiting.push(message);
    this.#wake?.();
  }

  /** The next answer; undefined once the signal is aborted and nothing waits. */
  async next(signal: AbortSignal): Promise<BusMessage | undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined || signal.aborted) return message;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    }
  }
}

/** The one queue by which a process hears the answers to all that it asks. */
export class ReplyBox {
  readonly topic: string;
  readonly #options: ReplyBoxOptions;
  readonly #strayLogger: LogSummary;
  readonly #inboxes = new Map<string, Inbox>();
  #consumption: Consumption | undefined;

  constructor(options: ReplyBoxOptions) {
    this.#options = options;
    this.#strayLogger = new LogSummary(options.logger, 'count');
    this.topic = topics.response(options.name);
  }

  async start(): Promise<void> {
    const { bus, name } = this.#options;
    const queue = ownResponseQueue(name);
    // In order, so that a task is told as it happened.
    const take = (delivery: Delivery): Promise<AckDecision> => this.#take(delivery);
    this.#consumption = await bus.consume(queue, take, { prefetch: 200, concurrency: 1 });
  }

  /** Answers with this correlation id go here from now on. */
  open(correlationId: string, agent: string): Inbox {
    const inbox = new Inbox(agent);
    this.#inboxes.set(correlationId, inbox);
    return inbox;
  }

  close(correlationId: string, inbox: Inbox): void {
    if (this.#inboxes.get(correlationId) === inbox) this.#inboxes.delete(correlationId);
  }

  async stop(): Promise<void> {
    await this.#consumption?.close();
  }

  async #take(delivery: Delivery): Promise<AckDecision> {
    const { correlationId = '', headers, type } = delivery;
    const inbox = this.#inboxes.get(correlationId);
    if (headers[headerNames.answers] !== undefined) return done;
    if (inbox === undefined) {
      // Updates may come after the end; what ends a task should find who asked.
      if (type !== 'update') this.#strayLogger.warn({ correlationId, type }, 'bus.reply.unmatched');
      return done;
    }
    try {
      const { method, subject } = await identify(delivery, this.#options);
      const isProved = method === 'message-token';
      if (isProved && subject !== inbox.agent) throw new Error(`signed by ${subject}`);
      if (!isProved && this.#options.verifier?.knows(inbox.agent) === true) {
        throw new Error(`${inbox.agent} signs what it sends, and this is not signed`);
      }
      inbox.put(delivery);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#strayLogger.warn({ correlationId, reason }, 'bus.reply.unauthenticated');
    }
    return done;
  }
}
